//! What a run is billed, whatever is told of it, in whatever order, and however it ends.

use super::*;
use crate::{CostBasis, Tokens};

fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars)
}

fn spend(input: u64, output: u64, cost: f64) -> Spend {
    Spend::costing(Tokens { input, output, ..Tokens::default() }, Some(usd(cost)))
}

fn unpriced(input: u64, output: u64) -> Spend {
    Spend::unpriced(Tokens { input, output, ..Tokens::default() })
}

fn report(model: &str, input: u64, output: u64, cost: f64, cumulative: bool) -> UsageReport {
    UsageReport {
        of: if cumulative { UsageOf::Session } else { UsageOf::Turn },
        cumulative,
        cost_basis: CostBasis::Reported,
        id: None,
        ..UsageReport::call("", Some(model.into()), spend(input, output, cost))
    }
}

/// What the end of a turn tells: an increment, and the total after it.
fn result(added: Spend, total: Spend) -> UsageReport {
    let total = Some(Box::new(total));
    UsageReport { spend: added, total, ..report("m", 0, 0, 0.0, false) }
}

fn model() -> Option<String> {
    Some("m".into())
}

/// Ends the session: what is left is said and entered.
fn end(ledger: &mut Ledger) -> Vec<UsageReport> {
    let left = ledger.left();
    for report in &left {
        ledger.enter(report);
    }
    left
}

#[test]
fn running_totals_become_increments_turn_by_turn() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.enter(&report("m", 100, 20, 0.1, true)).spend.tokens.input, 100);
    let second = ledger.enter(&report("m", 250, 50, 0.3, true)).spend;
    assert_eq!((second.tokens.input, second.tokens.output), (150, 30));
    assert_eq!(second.cost_usd, Some(usd(0.2)));
    assert_eq!(ledger.spent().tokens.total(), 300);
}

#[test]
fn a_resumed_or_forked_run_is_not_billed_for_its_parent() {
    let mut parent = Ledger::default();
    parent.enter(&report("m", 100, 20, 0.1, true));
    let mut child = Ledger::resuming(parent.lineage().clone());
    child.enter(&report("m", 150, 30, 0.15, true));
    assert_eq!(child.spent().tokens.input, 50);
    assert_eq!(child.spent().cost_usd, Some(usd(0.05)));
    assert_eq!(parent.spent().tokens.input, 100);
}

#[test]
fn a_total_that_fell_was_reset_and_is_never_negative_spend() {
    let mut ledger = Ledger::default();
    ledger.enter(&report("m", 100, 20, 0.1, true));
    let after = ledger.enter(&report("m", 30, 5, 0.02, true)).spend;
    assert_eq!((after.tokens.input, after.tokens.output), (30, 5));
    assert_eq!(ledger.spent().tokens.input, 130);
}

#[test]
fn increments_and_totals_of_one_session_agree() {
    let mut ledger = Ledger::default();
    ledger.enter(&report("m", 100, 20, 0.1, false));
    let from_total = ledger.enter(&report("m", 160, 30, 0.17, true)).spend;
    assert_eq!(from_total.tokens.input, 60);
    assert_eq!(from_total.cost_usd, Some(usd(0.07)));
}

#[test]
fn an_unknown_cost_is_unknown_in_the_sum_and_never_zero() {
    let mut ledger = Ledger::default();
    ledger.enter(&report("known", 1, 1, 0.1, false));
    let mut unknown = report("unknown", 1, 1, 0.0, false);
    unknown.spend.cost_usd = None;
    ledger.enter(&unknown);
    assert_eq!(ledger.spent().cost_usd, None);
    assert_eq!(ledger.known_cost(), usd(0.1), "a budget still counts what is known");
    assert_eq!(ledger.spent().tokens.total(), 4);
}

#[test]
fn the_known_part_of_an_unknown_cost_survives_sums_and_json() {
    let sum = spend(1, 1, 0.1).plus(unpriced(2, 2)).plus(spend(3, 3, 0.2));
    assert_eq!((sum.cost_usd, sum.known_cost()), (None, usd(0.3)));
    let text = serde_json::to_string(&sum).unwrap();
    assert!(text.contains(r#""cost_usd":null,"known_cost_usd":0.3"#), "{text}");
    assert_eq!(serde_json::from_str::<Spend>(&text).unwrap(), sum);
    let old = r#"{"input":5,"cost_usd":null}"#;
    assert_eq!(serde_json::from_str::<Spend>(old).unwrap(), unpriced(5, 0));
    let estimate = spend(1, 1, 0.1).as_estimate().plus(spend(1, 1, 0.1));
    assert!(estimate.estimated && estimate.cost_usd == Some(usd(0.2)), "{estimate:?}");
}

#[test]
fn a_call_that_was_begun_and_never_heard_of_again_is_unknown_and_not_free() {
    let mut ledger = Ledger::default();
    assert!(ledger.enter(&UsageReport::begun("c1", model())).is_nothing());
    assert_eq!(ledger.spent(), Spend::default(), "it is not counted while the session runs");
    let left = end(&mut ledger);
    assert_eq!(left.len(), 1);
    assert!(left[0].cut && !left[0].partial && !left[0].spend.estimated, "{left:?}");
    assert_eq!(ledger.spent().cost_usd, None);
    assert!(end(&mut ledger).is_empty(), "it is said once");
}

#[test]
fn what_was_told_of_a_call_that_was_cut_is_counted_once_and_marked() {
    let mut ledger = Ledger::default();
    ledger.enter(&UsageReport::begun("c1", model()));
    ledger.enter(&UsageReport::so_far("c1", model(), unpriced(100, 1)));
    ledger.enter(&UsageReport::so_far("c1", model(), unpriced(100, 7)));
    let left = end(&mut ledger);
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].cut, left[0].spend), (true, unpriced(100, 7).as_estimate()));
    let spent = ledger.spent();
    assert_eq!((spent.tokens.input, spent.tokens.output), (100, 7));
    assert!(spent.estimated && spent.cost_usd.is_none());
}

#[test]
fn the_last_word_on_a_call_replaces_what_was_told_before_and_a_second_one_says_nothing() {
    for last in [
        UsageReport::call("c1", model(), spend(100, 20, 0.1)),
        UsageReport::cut("c1", model(), spend(100, 20, 0.1)),
    ] {
        let mut ledger = Ledger::default();
        ledger.enter(&UsageReport::so_far("c1", model(), unpriced(100, 1)));
        assert_eq!(ledger.enter(&last).spend, spend(100, 20, 0.1));
        assert!(ledger.enter(&last).is_nothing(), "the same word again");
        ledger.enter(&UsageReport::so_far("c1", model(), unpriced(100, 30)));
        assert!(end(&mut ledger).is_empty(), "a late word on a call that is counted");
        assert_eq!(ledger.spent(), spend(100, 20, 0.1));
    }
}

#[test]
fn a_refused_request_is_free_and_that_is_known() {
    let mut ledger = Ledger::default();
    ledger.enter(&UsageReport::begun("c1", model()));
    assert!(ledger.enter(&UsageReport::free("c1", model())).is_nothing());
    assert!(end(&mut ledger).is_empty());
    assert_eq!(ledger.spent().cost_usd, Some(Usd::default()));
}

#[test]
fn a_total_replaces_the_calls_that_are_over_and_leaves_those_that_run() {
    let mut ledger = Ledger::default();
    ledger.enter(&UsageReport::so_far("c1", model(), unpriced(100, 20)).over());
    ledger.enter(&UsageReport::so_far("helper", model(), unpriced(50, 1)));
    ledger.enter(&result(spend(100, 20, 0.1), spend(100, 20, 0.1)));
    assert_eq!(ledger.spent(), spend(100, 20, 0.1), "the call is in the total");
    let left = end(&mut ledger);
    assert_eq!(left.iter().map(|left| left.id.as_deref()).collect::<Vec<_>>(), [Some("helper")]);
    let spent = ledger.spent();
    assert_eq!((spent.tokens.input, spent.cost_usd, spent.known_cost()), (150, None, usd(0.1)));
}

#[test]
fn a_result_that_comes_twice_counts_once() {
    let mut ledger = Ledger::default();
    let first = result(spend(100, 20, 0.1), spend(100, 20, 0.1));
    let second = result(spend(50, 10, 0.05), spend(150, 30, 0.15));
    for told in [&first, &first, &second, &second] {
        ledger.enter(told);
    }
    assert_eq!(ledger.spent(), spend(150, 30, 0.15));
    // Where no total is told, the frame has an id.
    let mut named = report("m", 10, 1, 0.01, false);
    named.id = Some("frame".into());
    assert!(!ledger.enter(&named).is_nothing());
    assert!(ledger.enter(&named).is_nothing());
    let other = UsageReport { model: Some("other".into()), ..named };
    assert!(!ledger.enter(&other).is_nothing(), "a frame tells of several models");
}

#[test]
fn a_total_in_the_next_run_tells_what_the_run_before_could_not_and_settles_it() {
    let mut first = Ledger::default();
    first.enter(&result(spend(100, 20, 0.1), spend(100, 20, 0.1)));
    first.enter(&UsageReport::so_far("c2", model(), unpriced(100, 1)).over());
    end(&mut first);
    assert_eq!(first.spent().cost_usd, None);
    let mut second = Ledger::resuming(first.lineage().clone());
    let entry = second.enter(&result(spend(50, 5, 0.05), spend(250, 45, 0.25)));
    assert_eq!(entry.earlier, Some(spend(0, 19, 0.1)), "the rest of the call, and its cost");
    assert_eq!(entry.spend, spend(50, 24, 0.15));
    assert!(entry.settles);
    assert_eq!(second.known_cost(), usd(0.05), "a budget is for this run alone");
    let both = first.spent().plus(second.spent());
    assert_eq!((both.tokens.input, both.tokens.output), (250, 45), "as the vendor says");
    assert_eq!(first.spent().known_cost().plus(second.spent().known_cost()), usd(0.25));
}

#[test]
fn a_total_settles_a_helper_of_which_nobody_knew_the_model() {
    let mut first = Ledger::default();
    first.enter(&result(spend(100, 20, 0.1), spend(100, 20, 0.1)));
    first.enter(&UsageReport::so_far("helper", None, unpriced(0, 0)).over());
    end(&mut first);
    assert_eq!(first.spent().cost_usd, None);
    let mut second = Ledger::resuming(first.lineage().clone());
    let entry = second.enter(&result(spend(50, 5, 0.05), spend(250, 45, 0.25)));
    assert!(entry.settles && entry.earlier == Some(spend(100, 20, 0.1)), "{entry:?}");
}

#[test]
fn a_call_that_was_cut_is_in_no_total_and_stays_counted_beside_it() {
    let mut first = Ledger::default();
    first.enter(&UsageReport::so_far("c1", model(), unpriced(100, 20)).over());
    first.enter(&UsageReport::so_far("c2", model(), unpriced(100, 1)));
    end(&mut first);
    assert_eq!(first.spent().tokens.input, 200);
    let mut second = Ledger::resuming(first.lineage().clone());
    let entry = second.enter(&result(spend(50, 5, 0.05), spend(150, 25, 0.15)));
    assert_eq!(entry.earlier, Some(spend(0, 0, 0.1)), "the cost of the first call");
    assert_eq!(first.spent().tokens.plus(second.spent().tokens).input, 250);
}

#[test]
fn a_total_that_holds_a_call_whose_end_was_never_written_down_counts_it_once() {
    // The agent heard the end of the second call and began a third; its runner was dead by then.
    let mut first = Ledger::default();
    first.enter(&UsageReport::so_far("c1", model(), unpriced(100, 20)).over());
    first.enter(&UsageReport::so_far("c2", model(), unpriced(100, 1)));
    end(&mut first);
    let mut second = Ledger::resuming(first.lineage().clone());
    second.enter(&result(spend(50, 5, 0.05), spend(250, 45, 0.25)));
    let both = first.spent().tokens.plus(second.spent().tokens);
    assert_eq!((both.input, both.output), (250, 45), "as the vendor says");
    // The third run was cut twice more, and the vendor has seen the end of one of them.
    let mut third = Ledger::resuming(second.lineage().clone());
    third.enter(&UsageReport::so_far("c4", model(), unpriced(60, 1)));
    third.enter(&UsageReport::so_far("c5", model(), unpriced(70, 1)));
    end(&mut third);
    let mut fourth = Ledger::resuming(third.lineage().clone());
    fourth.enter(&result(spend(50, 5, 0.05), spend(370, 59, 0.37)));
    let last = third.spent().tokens.plus(fourth.spent().tokens);
    assert_eq!(last.input, 60 + 70 + 50, "one is in the total, the other beside it");
}

#[test]
fn a_program_that_forgot_what_it_had_counted_takes_nothing_back_and_settles_nothing() {
    let mut first = Ledger::default();
    first.enter(&UsageReport::so_far("c1", model(), unpriced(100, 20)).over());
    end(&mut first);
    let mut second = Ledger::resuming(first.lineage().clone());
    let entry = second.enter(&result(spend(50, 5, 0.05), spend(50, 5, 0.05)));
    assert_eq!(entry, spend(50, 5, 0.05).into());
    let entry = second.enter(&result(spend(50, 5, 0.05), spend(100, 10, 0.1)));
    assert_eq!(entry, spend(50, 5, 0.05).into());
}

#[test]
fn a_session_that_began_elsewhere_is_not_billed_for_what_it_had_spent_there() {
    let mut ledger = Ledger::default();
    let mut other = result(spend(10, 1, 0.01), spend(500, 50, 0.5));
    assert_eq!(ledger.enter(&other), spend(10, 1, 0.01).into());
    other.model = Some("other".into());
    assert_eq!(ledger.enter(&other), spend(10, 1, 0.01).into());
}

#[test]
fn what_an_older_runner_told_of_its_calls_is_unknown_unless_a_total_came_after_it() {
    for told in [true, false] {
        let mut ledger = Ledger::default();
        let partial =
            UsageReport { id: None, ..UsageReport::so_far("", model(), unpriced(100, 1)) };
        ledger.enter(&partial);
        ledger.enter(&partial);
        if told {
            ledger.enter(&report("m", 200, 40, 0.2, true));
        }
        end(&mut ledger);
        let cost = told.then(|| usd(0.2));
        assert_eq!((ledger.spent().tokens.input, ledger.spent().cost_usd), (200, cost));
    }
}

#[test]
fn ten_thousand_calls_of_one_turn_are_one_last_word_for_each_model_and_cost_no_more_memory() {
    let mut ledger = Ledger::default();
    for n in 0..10_000 {
        let id = format!("c{n}");
        let name = Some(if n % 2 == 0 { "even" } else { "odd" }.to_owned());
        ledger.enter(&UsageReport::begun(&id, name.clone()));
        let report = UsageReport::so_far(&id, name, spend(10, 1, 0.01)).over();
        ledger.enter(&report);
        ledger.enter(&report);
    }
    let left = end(&mut ledger);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().all(|left| !left.cut && !left.partial), "{left:?}");
    assert_eq!(ledger.spent(), spend(100_000, 10_000, 100.0));
    assert!(end(&mut ledger).is_empty(), "they are said once");
    for report in &left {
        assert!(ledger.enter(report).is_nothing(), "and counted once");
    }
}

#[test]
fn calls_that_never_end_are_all_counted_and_only_the_newest_are_known_apart() {
    let mut ledger = Ledger::default();
    for n in 0..10_000 {
        ledger.enter(&UsageReport::so_far(format!("c{n}"), model(), spend(10, 1, 0.01)));
    }
    ledger.enter(&result(spend(100, 20, 0.1), spend(100, 20, 0.1)));
    let left = end(&mut ledger);
    assert!(left.len() < 300, "{}", left.len());
    assert!(left.iter().all(|left| left.cut && left.spend.estimated));
    assert_eq!(ledger.spent().tokens.input, 100_100);
    assert!(end(&mut ledger).is_empty());
}

#[test]
fn a_sum_of_calls_of_which_one_has_an_unknown_cost_has_an_unknown_cost() {
    let mut ledger = Ledger::default();
    ledger.enter(&UsageReport::so_far("c1", model(), spend(10, 1, 0.01)).over());
    ledger.enter(&UsageReport::so_far("c2", model(), unpriced(10, 1)).over());
    let left = end(&mut ledger);
    assert_eq!((left.len(), left[0].cost_basis), (1, CostBasis::Unknown));
    assert_eq!((ledger.spent().cost_usd, ledger.known_cost()), (None, usd(0.01)));
}
