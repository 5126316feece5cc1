//! Failures of the service: each has its class and its outcome, and what can pass is asked again.

use std::time::Duration;

use musher_runtime::ResumeFrom;
use musher_runtime::core::{ErrorClass, EventKind, Outcome, TurnOutcome};
use musher_testkit::model::CallEnd;

use super::{assert_bill, assert_books, everywhere, retries};
use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

fn failed(wire: Wire, ended: &Ended, class: ErrorClass) {
    assert_eq!(ended.end.outcome, Outcome::Failed, "{wire:?}:\n{}", ended.text());
    let error = ended.end.error.as_ref().expect("an error is told");
    assert_eq!(error.class, class, "{wire:?}:\n{}", ended.text());
    assert!(!error.message.is_empty());
    assert!(!ended.said().contains("dummy-key-for-tests"), "{wire:?}: the key was told");
}

async fn fails(prompt: &str, class: ErrorClass) {
    everywhere(prompt, |wire, ended, rig| {
        failed(wire, ended, class);
        assert_eq!(retries(ended), 0, "{wire:?}:\n{}", ended.text());
        assert_eq!(rig.server.ledger().requests(), 1, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn what_waiting_cannot_mend_is_not_asked_again() {
    fails("[[scn:auth]] go", ErrorClass::Auth).await;
    fails("[[scn:forbidden]] go", ErrorClass::Auth).await;
    fails("[[scn:nomodel]] go", ErrorClass::ModelNotFound).await;
    fails("[[scn:html]] go", ErrorClass::Protocol).await;
}

#[tokio::test]
async fn an_empty_account_is_told_apart_from_a_limit_that_passes() {
    for wire in [Wire::Responses, Wire::Chat, Wire::Messages] {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run("[[scn:credit]] go").await;
        failed(wire, &ended, ErrorClass::Billing);
        assert_eq!(retries(&ended), 0, "{wire:?}");
    }
}

#[tokio::test]
async fn a_service_that_recovers_is_no_failure() {
    for scenario in [
        "err status=500 retry_after_ms=10",
        "err status=503 retry_after_ms=10",
        "err status=429 retry_after_ms=10",
        "rate retry_after_ms=10 retry_after=0.01",
        "cut blocks=0",
        "eof blocks=0",
        "half blocks=0",
        "inline_err blocks=0",
        "garbage",
    ] {
        everywhere(&format!("[[scn:{scenario} n=1]] go"), |wire, ended, rig| {
            let text = ended.text();
            assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?} {scenario}:\n{text}");
            assert_eq!(ended.response(), "All is well again.", "{wire:?} {scenario}");
            assert_eq!(retries(ended), 1, "{wire:?} {scenario}:\n{text}");
            let refused = rig.server.ledger().calls[0].end == CallEnd::Refused;
            if refused || scenario.starts_with("inline_err") && ended.end.cost_usd.is_some() {
                assert_bill(wire, ended, rig.server.ledger().told());
            } else {
                assert_books(ended, rig, scenario);
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_date_until_which_to_wait_is_kept_to_and_one_that_is_far_away_is_told_instead() {
    let past = "[[scn:rate n=1 retry_after=\"Tue, 20 Oct 2015 07:28:00 GMT\"]] go";
    everywhere(past, |wire, ended, _| {
        assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
        assert_eq!(retries(ended), 1, "{wire:?}");
    })
    .await;
    let far = "[[scn:rate n=1 retry_after=\"Fri, 31 Dec 2100 23:59:59 GMT\"]] go";
    everywhere(far, |wire, ended, rig| {
        // One vendor names the time in its answer and never in a header.
        if wire == Wire::Generate {
            return;
        }
        failed(wire, ended, ErrorClass::RateLimit);
        assert_eq!(retries(ended), 0, "{wire:?}");
        assert_eq!(rig.server.ledger().requests(), 1, "{wire:?}");
        let resets = ended.events.iter().find_map(|event| match &event.kind {
            EventKind::RateLimit(limit) => limit.resets_at,
            _ => None,
        });
        // The last second of the year 2100, as near as two clocks agree.
        let away = resets.unwrap_or_default().abs_diff(4_133_980_799_000);
        assert!(away < 60_000, "{wire:?}: {resets:?}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_after_its_first_word_is_not_asked_for_again() {
    for (scenario, class) in [
        ("cut", ErrorClass::Network),
        ("cut blocks=2", ErrorClass::Network),
        ("eof", ErrorClass::Network),
        ("half", ErrorClass::Network),
        ("inline_err", ErrorClass::Overloaded),
        ("inline_err kind=rate", ErrorClass::RateLimit),
    ] {
        everywhere(&format!("[[scn:{scenario} n=1]] go"), |wire, ended, rig| {
            let text = ended.text();
            failed(wire, ended, class);
            assert_eq!(retries(ended), 0, "{wire:?} {scenario}:\n{text}");
            assert_eq!(rig.server.ledger().requests(), 1, "{wire:?} {scenario}");
            assert_eq!(ended.turns()[0].outcome, TurnOutcome::Failed, "{wire:?}:\n{text}");
            let error = ended.end.error.as_ref().unwrap();
            let hint = error.hint.as_deref().unwrap_or_default();
            assert!(hint.contains("to continue"), "{wire:?}: {error:?}");
            let aborted: Vec<bool> = ended
                .events
                .iter()
                .filter_map(|event| match &event.kind {
                    EventKind::ItemDone { aborted, .. } => Some(*aborted),
                    _ => None,
                })
                .collect();
            assert_eq!(aborted.last(), Some(&true), "{wire:?} {scenario}:\n{text}");
            assert!(aborted.iter().rev().skip(1).all(|aborted| !aborted), "{wire:?}:\n{text}");
        })
        .await;
    }
}

#[tokio::test]
async fn what_was_said_before_an_answer_broke_off_stays_in_the_conversation() {
    for wire in Wire::ALL {
        for scenario in ["cut", "cut blocks=2", "inline_err"] {
            let rig = ModelRig::new(wire).await;
            let ended = rig.run(&format!("[[scn:{scenario} n=1]] go")).await;
            failed(wire, &ended, ended.end.error.as_ref().unwrap().class);
            let mut spec = rig.free("[[scn:echo]] go on");
            spec.resume = Some(ResumeFrom::of(ended.end.session.clone().unwrap()));
            let next = rig.begin(spec).end().await;
            assert_eq!(next.end.outcome, Outcome::Completed, "{wire:?}:\n{}", next.text());
            let request = rig.server.requests().last().unwrap().json().to_string();
            let said = request.matches("This answer will not be finished").count();
            let told = if scenario == "cut blocks=2" { 2 } else { 1 };
            assert_eq!(said, told, "{wire:?} {scenario}: {request}");
        }
    }
}

#[tokio::test]
async fn a_service_that_does_not_recover_is_given_up_after_the_last_try() {
    everywhere("[[scn:err status=503 n=0 retry_after_ms=5]] go", |wire, ended, rig| {
        failed(wire, ended, ErrorClass::Overloaded);
        assert_eq!(retries(ended), 2, "{wire:?}");
        assert_eq!(rig.server.ledger().requests(), 3, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_cut_refused_or_filtered_is_no_success() {
    everywhere("[[scn:maxtok]] go", |wire, ended, rig| {
        failed(wire, ended, ErrorClass::MaxOutput);
        assert_eq!(
            ended.turns()[0].final_text.as_deref(),
            Some("This answer was cut by the token limit")
        );
        assert_bill(wire, ended, rig.server.ledger().total());
    })
    .await;
    for scenario in ["refusal", "filter", "blocked"] {
        everywhere(&format!("[[scn:{scenario}]] go"), |wire, ended, _| {
            // One format has no word of its own for a filter.
            if wire == Wire::Messages && scenario != "refusal" {
                return;
            }
            failed(wire, ended, ErrorClass::Refused);
        })
        .await;
    }
    let rig = ModelRig::new(Wire::Generate).await;
    let ended = rig.run("[[scn:finish reason=RECITATION]] go").await;
    failed(Wire::Generate, &ended, ErrorClass::Refused);
    assert_eq!(ended.turns()[0].outcome, TurnOutcome::Refused);
}

#[tokio::test]
async fn a_model_that_cannot_call_a_tool_is_told_so_a_few_times() {
    let rig = ModelRig::new(Wire::Generate).await;
    let ended = rig.run("[[scn:finish reason=MALFORMED_FUNCTION_CALL]] go").await;
    failed(Wire::Generate, &ended, ErrorClass::Protocol);
    assert_eq!(rig.server.ledger().requests(), 4);
}

#[tokio::test]
async fn a_service_that_falls_silent_is_asked_again_unless_it_has_begun_to_speak() {
    for (scenario, asked_again) in [("hang", 1), ("hang_mid blocks=0", 1), ("hang_mid", 0)] {
        for wire in Wire::ALL {
            let rig = ModelRig::new(wire).await;
            let mut spec = rig.free(&format!("[[scn:{scenario}]] go"));
            spec.model_options.idle = Some(Duration::from_millis(200));
            spec.model_options.retries = Some(1);
            let ended = rig.begin(spec).end().await;
            failed(wire, &ended, ErrorClass::Network);
            assert_eq!(ended.end.error.as_ref().unwrap().code.as_deref(), Some("idle"));
            assert_eq!(retries(&ended), asked_again, "{wire:?} {scenario}");
        }
    }
}
