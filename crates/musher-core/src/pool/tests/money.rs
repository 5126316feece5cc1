//! The day's cap: what begins, with how much, and what waits.

use super::scene::Scene;
use crate::pool::{CommandReply, DAY_MS, Fact, PoolCommand, PoolDecision, PoolInput, RunReport};
use crate::{LedgerEntry, Outcome, RunId, RunPhase, Spend, Tokens, Usd, Wait};

fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars)
}

fn money(dollars: f64) -> Spend {
    Spend::costing(Tokens::default(), Some(usd(dollars)))
}

/// A pool with a cap for the day, and with what a run of anyone may spend.
fn capped(cap: f64, own: Option<f64>) -> Scene {
    let mut scene = Scene::with_story();
    scene.add_story().unwrap();
    scene.team.limits.day_usd = Some(usd(cap));
    for seat in &mut scene.team.agents {
        seat.budget = own.map(usd);
    }
    scene
}

fn spends(scene: &mut Scene, run: RunId, seq: u64, dollars: f64) -> PoolDecision {
    let entry = money(dollars).into();
    scene.hear(run, seq, RunReport::Usage { model: None, entry })
}

fn waits(scene: &Scene, run: RunId) -> Option<Wait> {
    let found = &scene.state.runs[&run];
    (found.phase == RunPhase::Queued).then(|| found.wait.clone())
}

#[test]
fn a_run_begins_with_what_is_left_of_the_day_or_with_its_own_budget_if_that_is_less() {
    let cases = [
        // The cap, what was spent, what the agent may spend, and with what its run begins.
        (None, 9.0, None, Some(None)),
        (None, 9.0, Some(2.0), Some(Some(2.0))),
        (Some(10.0), 0.0, None, Some(Some(10.0))),
        (Some(10.0), 4.0, None, Some(Some(6.0))),
        (Some(10.0), 4.0, Some(2.0), Some(Some(2.0))),
        (Some(10.0), 9.0, Some(2.0), Some(Some(1.0))),
        (Some(10.0), 10.0, Some(2.0), None),
        (Some(10.0), 12.0, None, None),
        (Some(0.0), 0.0, None, None),
    ];
    for (cap, spent, own, expected) in cases {
        let mut scene = capped(0.0, own);
        scene.team.limits.day_usd = None;
        let first = scene.live("s1", "ada");
        spends(&mut scene, first, 1, spent);
        scene.end(first, Outcome::Completed);
        scene.team.limits.day_usd = cap.map(usd);
        let run = scene.start("s2", "bob");
        let begun = match waits(&scene, run) {
            Some(wait) => {
                assert_eq!(Some(wait), cap.map(|cap| Wait::DayCap { cap: usd(cap) }));
                None
            }
            None => Some(scene.state.runs[&run].budget),
        };
        let expected = expected.map(|budget| budget.map(usd));
        assert_eq!(begun, expected, "cap {cap:?}, spent {spent}, own {own:?}");
    }
}

#[test]
fn what_a_run_may_still_spend_is_kept_for_it_and_comes_back_when_it_ends() {
    let mut scene = capped(10.0, Some(6.0));
    let first = scene.live("s1", "ada");
    let second = scene.live("s2", "bob");
    assert_eq!(scene.state.runs[&first].budget, Some(usd(6.0)));
    assert_eq!(scene.state.runs[&second].budget, Some(usd(4.0)), "it gets what is left");
    let third = scene.start("s2", "ada");
    let cap = usd(10.0);
    assert_eq!(waits(&scene, third), Some(Wait::DayCap { cap }));
    spends(&mut scene, first, 1, 5.0);
    assert_eq!(scene.state.reserved(), usd(5.0), "what is spent is no longer reserved");
    scene.put(PoolInput::Begun);
    assert_eq!(waits(&scene, third), Some(Wait::DayCap { cap }));
    scene.end(first, Outcome::Completed);
    assert_eq!(waits(&scene, third), None, "the dollar that was not spent is there again");
    assert_eq!(scene.state.runs[&third].budget, Some(usd(1.0)));
}

#[test]
fn a_run_that_waits_for_money_begins_when_the_cap_is_raised_and_on_the_next_day() {
    for raised in [true, false] {
        let mut scene = capped(5.0, None);
        let first = scene.live("s1", "ada");
        spends(&mut scene, first, 1, 5.0);
        scene.end(first, Outcome::OutOfBudget);
        let run = scene.start("s1", "ada");
        assert!(matches!(waits(&scene, run), Some(Wait::DayCap { .. })));
        assert!(scene.put(PoolInput::Begun).facts.is_empty(), "it is said once");
        match raised {
            true => scene.team.limits.day_usd = Some(usd(8.0)),
            false => scene.now += DAY_MS,
        }
        let decision = scene.put(PoolInput::Begun);
        assert!(matches!(decision.facts[..], [Fact::RunPreparing { .. }]), "{decision:?}");
        let budget = scene.state.runs[&run].budget;
        assert_eq!(budget, Some(if raised { usd(3.0) } else { usd(5.0) }));
    }
}

#[test]
fn a_run_whose_wait_changes_says_so() {
    let mut scene = capped(5.0, None);
    let first = scene.live("s1", "ada");
    let run = scene.start("s1", "bob");
    assert_eq!(waits(&scene, run), Some(Wait::DayCap { cap: usd(5.0) }));
    scene.team.limits.day_usd = Some(usd(4.0));
    scene.put(PoolInput::Begun);
    assert_eq!(waits(&scene, run), Some(Wait::DayCap { cap: usd(4.0) }));
    (scene.team.limits.day_usd, scene.team.limits.runs) = (None, 1);
    scene.put(PoolInput::Begun);
    assert_eq!(waits(&scene, run), Some(Wait::Place));
    assert!(matches!(scene.reply(PoolCommand::Stop { run }), Ok(CommandReply::Done)));
    scene.end(first, Outcome::Completed);
}

#[test]
fn a_clock_that_is_set_back_gives_no_money_back() {
    let mut scene = capped(5.0, None);
    scene.now = 10 * DAY_MS;
    let first = scene.live("s1", "ada");
    spends(&mut scene, first, 1, 2.0);
    scene.now -= DAY_MS;
    spends(&mut scene, first, 2, 1.0);
    let entry = Spend::unpriced(Tokens::default()).into();
    scene.hear(first, 3, RunReport::Usage { model: None, entry });
    assert_eq!(scene.state.spent_today(scene.now), usd(3.0));
    assert_eq!(scene.state.spent_today(10 * DAY_MS), usd(3.0));
    assert_eq!(scene.state.spent_today(11 * DAY_MS), usd(0.0));
}

/// A run says that it has spent something of which nobody knows what it cost.
fn spends_something(scene: &mut Scene, run: RunId, seq: u64, cut: bool) {
    let entry = LedgerEntry { cut, ..Spend::unpriced(Tokens::default()).into() };
    scene.hear(run, seq, RunReport::Usage { model: None, entry });
}

#[test]
fn what_a_run_of_unknown_cost_may_have_spent_is_gone_for_the_day_and_for_no_other() {
    let mut scene = capped(10.0, Some(6.0));
    let first = scene.live("s1", "ada");
    spends(&mut scene, first, 1, 2.0);
    spends_something(&mut scene, first, 2, true);
    scene.end(first, Outcome::Stopped);
    assert_eq!(scene.state.spent_today(scene.now), usd(2.0));
    assert_eq!(scene.state.held_today(scene.now), usd(4.0), "the rest of its budget");
    let second = scene.start("s2", "bob");
    assert_eq!(scene.state.runs[&second].budget, Some(usd(4.0)), "10 less 2 spent and 4 held");
    assert_eq!(scene.state.held_today(scene.now + DAY_MS), usd(0.0));
}

#[test]
fn three_runs_that_were_killed_cannot_spend_more_than_the_cap_together() {
    let mut scene = capped(0.3, Some(0.15));
    let mut begun = 0.0;
    for _ in 0..3 {
        let run = scene.start("s1", "ada");
        if waits(&scene, run).is_some() {
            continue;
        }
        begun += scene.state.runs[&run].budget.unwrap().dollars();
        scene.go_live(run);
        spends_something(&mut scene, run, 1, true);
        scene.end(run, Outcome::Stopped);
    }
    assert!((0.29..=0.3).contains(&begun), "{begun}");
}

#[test]
fn a_run_that_nobody_bounds_holds_nothing_and_a_known_cost_holds_nothing() {
    for (own, known) in [(None, false), (Some(6.0), true)] {
        let mut scene = capped(10.0, own);
        scene.team.limits.day_usd = None;
        let run = scene.live("s1", "ada");
        match known {
            true => drop(spends(&mut scene, run, 1, 2.0)),
            false => spends_something(&mut scene, run, 1, true),
        }
        scene.end(run, Outcome::Completed);
        assert_eq!(scene.state.held_today(scene.now), usd(0.0), "own {own:?}");
    }
}

#[test]
fn a_run_whose_log_is_gone_may_have_spent_all_that_it_could() {
    let mut scene = capped(10.0, Some(6.0));
    let run = scene.live("s1", "ada");
    spends(&mut scene, run, 1, 2.0);
    scene.put(PoolInput::RunnerGone { run });
    let error = crate::ErrorInfo::new(crate::ErrorClass::Internal, "unreadable");
    scene.put(PoolInput::LogLost { run, error });
    assert_eq!(scene.state.held_today(scene.now), usd(4.0));
}

#[test]
fn a_total_that_tells_what_was_unknown_gives_the_rest_back_unless_a_call_was_cut() {
    for cut in [false, true] {
        let mut scene = capped(10.0, Some(4.0));
        let first = scene.live("s1", "ada");
        scene.name_session(first, 1, "x");
        spends_something(&mut scene, first, 2, cut);
        scene.end(first, Outcome::Stopped);
        assert_eq!(scene.state.held_today(scene.now), usd(4.0));
        let past = scene.past(first);
        let reply = scene.reply(PoolCommand::Resume { past, text: None });
        let Ok(CommandReply::Run(second)) = reply else { panic!("{reply:?}") };
        scene.go_live(second);
        let (spend, earlier) = (money(1.5), Some(money(1.0)));
        let entry = LedgerEntry { spend, earlier, cut: false, settles: true };
        scene.hear(second, 1, RunReport::Usage { model: None, entry });
        let held = if cut { usd(4.0) } else { usd(0.0) };
        assert_eq!(scene.state.held_today(scene.now), held, "cut {cut}");
        assert_eq!(scene.state.spent_today(scene.now), usd(1.5));
        let spent = scene.state.runs[&second].spent;
        assert_eq!(spent, usd(0.5), "what an earlier run has spent is not of its budget");
    }
}
