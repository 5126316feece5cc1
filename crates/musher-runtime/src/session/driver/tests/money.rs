//! The bill of a session that does not end well.

use musher_core::{Spend, UsageReport};

use super::*;

fn spend(input: u64, output: u64) -> Spend {
    Spend::unpriced(Tokens { input, output, ..Tokens::default() })
}

fn model() -> Option<String> {
    Some("m".into())
}

/// A session of which the agent tells this in a turn, and is gone.
async fn dies_after(told: Vec<UsageReport>) -> (Vec<UsageReport>, SessionEnded) {
    let session = play(spec(), move |attempt| {
        let told = told.clone();
        async move {
            say(&attempt, started()).await;
            for report in told {
                say(&attempt, EventKind::Usage(report)).await;
            }
            BackendEnd { signal: Some(9), ..BackendEnd::default() }
        }
    });
    let mut reports = Vec::new();
    let mut last = None;
    for kind in all(session).await {
        match kind {
            EventKind::Usage(report) if !report.partial => {
                assert!(last.is_none(), "the bill is told before the turn ends");
                reports.push(report);
            }
            EventKind::TurnEnded(_) => last = Some(None),
            EventKind::SessionEnded(end) => last = Some(Some(*end)),
            _ => {}
        }
    }
    (reports, last.flatten().unwrap())
}

#[tokio::test]
async fn promise_20_what_was_told_of_a_call_that_was_cut_is_billed_and_marked() {
    let (reports, end) = dies_after(vec![
        UsageReport::begun("c1", model()),
        UsageReport::so_far("c1", model(), spend(100, 1)),
        UsageReport::so_far("c1", model(), spend(100, 20)).over(),
        UsageReport::begun("c2", model()),
        UsageReport::so_far("c2", model(), spend(100, 3)),
    ])
    .await;
    let told: Vec<_> = reports.iter().map(|report| (report.id.as_deref(), report.cut)).collect();
    assert_eq!(told, [(Some("calls-over/m"), false), (Some("c2"), true)]);
    assert_eq!((end.usage.input, end.usage.output), (200, 23));
    assert!(end.estimated && end.cost_usd.is_none(), "{end:?}");
}

#[tokio::test]
async fn promise_20_a_call_of_which_nothing_was_told_is_unknown_and_what_is_known_is_kept() {
    let known = Spend::costing(Tokens::default(), Some(Usd::from_dollars(0.25)));
    let (reports, end) = dies_after(vec![
        UsageReport::call("c1", model(), known),
        UsageReport::begun("c2", model()),
    ])
    .await;
    assert_eq!(reports.len(), 2);
    assert_eq!((end.cost_usd, end.known_cost_usd), (None, Usd::from_dollars(0.25)));
}

#[tokio::test]
async fn promise_20_nothing_is_left_of_calls_that_have_had_their_last_word() {
    let known = Spend::costing(Tokens::default(), Some(Usd::from_dollars(0.25)));
    let (reports, end) = dies_after(vec![
        UsageReport::begun("c1", model()),
        UsageReport::call("c1", model(), known),
        UsageReport::call("c1", model(), known),
        UsageReport::begun("c2", model()),
        UsageReport::free("c2", model()),
    ])
    .await;
    assert_eq!(reports.len(), 3, "they are told as they came");
    assert_eq!(end.cost_usd, Some(Usd::from_dollars(0.25)));
}

#[tokio::test]
async fn promise_20_a_model_that_was_called_and_of_which_nobody_says_a_word_is_unknown() {
    let session = play(spec(), |attempt| async move {
        say(&attempt, started()).await;
        attempt.port.signals.send(vec![Signal::ModelCall].into()).await.unwrap();
        BackendEnd::default()
    });
    let kinds = all(session).await;
    let Some(EventKind::SessionEnded(end)) = kinds.last() else { panic!("{kinds:?}") };
    assert_eq!((end.cost_usd, end.model_calls), (None, 1));
    let told = kinds.iter().filter(|kind| matches!(kind, EventKind::Usage(report) if report.cut));
    assert_eq!(told.count(), 1, "whoever follows the log hears of it too");
}
