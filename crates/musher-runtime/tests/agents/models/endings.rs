//! How an answer ends, in every word that a format has for it: what is no good end is a failure that names the word, and no
//! call of it is made.

use musher_runtime::core::{ErrorClass, Outcome, TurnOutcome};

use super::retries;
use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

/// The words of a marker, the word that a failure must name, and what is to come of the answer.
type Row = (&'static str, &'static str, Fate);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The answer is whole, and its calls are made.
    Whole,
    /// The answer is whole if it has a call; without one the model is told that its call could not be read.
    Calls,
    Fails(ErrorClass),
}

use ErrorClass::{ContextOverflow, InvalidRequest, MaxOutput, Network, Protocol, Refused, Server};
use Fate::{Calls, Fails, Whole};

const RESPONSES: &[Row] = &[
    ("status=completed", "", Whole),
    ("status=incomplete reason=max_output_tokens", "max_output_tokens", Fails(MaxOutput)),
    ("status=incomplete reason=content_filter", "content_filter", Fails(Refused)),
    ("status=incomplete reason=moon_phase", "moon_phase", Fails(Protocol)),
    ("status=incomplete", "incomplete", Fails(Protocol)),
    ("status=completed reason=max_output_tokens", "max_output_tokens", Fails(MaxOutput)),
    ("status=completed reason=moon_phase", "moon_phase", Fails(Protocol)),
    ("status=failed", "The server had an error", Fails(Server)),
    ("status=cancelled", "cancelled", Fails(Server)),
    ("status=queued", "queued", Fails(Server)),
    ("status=in_progress", "in_progress", Fails(Server)),
    ("status=moon_phase", "moon_phase", Fails(Protocol)),
];

const CHAT: &[Row] = &[
    ("reason=stop", "", Whole),
    ("reason=tool_calls", "tool_calls", Calls),
    ("reason=function_call", "function_call", Calls),
    ("reason=length", "length", Fails(MaxOutput)),
    ("reason=content_filter", "content_filter", Fails(Refused)),
    ("reason=eos", "", Whole),
    ("reason=eos_token", "", Whole),
    ("reason=stop_sequence", "", Whole),
    ("reason=end_turn", "", Whole),
    ("reason=error", "error", Fails(Server)),
    ("reason=cancelled", "cancelled", Fails(Server)),
    ("reason=timeout", "timeout", Fails(Server)),
    ("reason=abort", "abort", Fails(Server)),
    ("reason=aborted", "aborted", Fails(Server)),
    ("reason=network_error", "network_error", Fails(Server)),
    ("reason=insufficient_system_resource", "insufficient_system_resource", Fails(Server)),
    ("reason=sensitive", "sensitive", Fails(Refused)),
    ("reason=refusal", "refusal", Fails(Refused)),
    ("reason=model_length", "model_length", Fails(ContextOverflow)),
    ("reason=model_context_window_exceeded", "model_context_window", Fails(ContextOverflow)),
    ("reason=moon_phase", "moon_phase", Fails(Protocol)),
];

const MESSAGES: &[Row] = &[
    ("reason=end_turn", "", Whole),
    ("reason=stop_sequence", "", Whole),
    ("reason=tool_use", "tool_use", Calls),
    ("reason=max_tokens", "max_tokens", Fails(MaxOutput)),
    ("reason=refusal", "refusal", Fails(Refused)),
    ("reason=model_context_window_exceeded", "model_context_window", Fails(ContextOverflow)),
    ("reason=moon_phase", "moon_phase", Fails(Protocol)),
    ("reason=none", "without saying why", Fails(Protocol)),
];

const GENERATE: &[Row] = &[
    ("reason=STOP", "", Whole),
    ("reason=MAX_TOKENS", "MAX_TOKENS", Fails(MaxOutput)),
    ("reason=CONTINUATION", "CONTINUATION", Fails(MaxOutput)),
    ("reason=SAFETY", "SAFETY", Fails(Refused)),
    ("reason=RECITATION", "RECITATION", Fails(Refused)),
    ("reason=LANGUAGE", "LANGUAGE", Fails(Refused)),
    ("reason=BLOCKLIST", "BLOCKLIST", Fails(Refused)),
    ("reason=PROHIBITED_CONTENT", "PROHIBITED_CONTENT", Fails(Refused)),
    ("reason=SPII", "SPII", Fails(Refused)),
    ("reason=MODEL_ARMOR", "MODEL_ARMOR", Fails(Refused)),
    ("reason=IMAGE_SAFETY", "IMAGE_SAFETY", Fails(Refused)),
    ("reason=IMAGE_PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", Fails(Refused)),
    ("reason=IMAGE_RECITATION", "IMAGE_RECITATION", Fails(Refused)),
    ("reason=IMAGE_OTHER", "IMAGE_OTHER", Fails(Server)),
    ("reason=NO_IMAGE", "NO_IMAGE", Fails(Server)),
    ("reason=OTHER", "OTHER", Fails(Server)),
    ("reason=MALFORMED_RESPONSE", "MALFORMED_RESPONSE", Fails(Server)),
    ("reason=MISSING_THOUGHT_SIGNATURE", "MISSING_THOUGHT_SIGNATURE", Fails(InvalidRequest)),
    ("reason=MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL", Fails(Protocol)),
    ("reason=UNEXPECTED_TOOL_CALL", "UNEXPECTED_TOOL_CALL", Fails(Protocol)),
    ("reason=TOO_MANY_TOOL_CALLS", "TOO_MANY_TOOL_CALLS", Fails(Protocol)),
    ("reason=FINISH_REASON_UNSPECIFIED", "FINISH_REASON_UNSPECIFIED", Fails(Protocol)),
    ("reason=MOON_PHASE", "MOON_PHASE", Fails(Protocol)),
];

/// A call whose making can be seen.
const CALL: &str = r#"tool=write_file args={"path":"touched.txt","content":"x"}"#;

async fn check(wire: Wire, rows: &[Row]) {
    let rig = ModelRig::new(wire).await;
    for (words, named, fate) in rows {
        for streamed in [true, false] {
            for with_call in [false, true] {
                one(&rig, words, named, *fate, streamed, with_call).await;
            }
        }
    }
}

async fn one(
    rig: &ModelRig,
    words: &str,
    named: &str,
    fate: Fate,
    streamed: bool,
    with_call: bool,
) {
    let quirk = if streamed { "" } else { "quirk=no-stream" };
    let call = if with_call { CALL } else { "" };
    let prompt = format!("[[scn:finish {words} {quirk} {call}]] go");
    let mut spec = rig.free(&prompt);
    // A call that is made in spite of all is followed by another answer, not by an endless row of them.
    spec.limits.max_turns = Some(12);
    let ended = rig.begin(spec).end().await;
    let case = format!("{:?} {prompt}:\n{}", rig.wire, ended.text());
    let made = rig.place.file("touched.txt").is_some();
    let _gone = std::fs::remove_file(rig.place.work.path().join("touched.txt"));
    let fate = match fate {
        Calls if with_call => Whole,
        Calls => Fails(Protocol),
        other => other,
    };
    match fate {
        Fails(class) => {
            assert_failed(&ended, class, named, &case);
            assert!(!made, "the call was made: {case}");
        }
        Whole | Calls => {
            assert_eq!(ended.end.outcome, Outcome::Completed, "{case}");
            assert_eq!(made, with_call, "{case}");
        }
    }
}

fn assert_failed(ended: &Ended, class: ErrorClass, named: &str, case: &str) {
    assert_eq!(ended.end.outcome, Outcome::Failed, "{case}");
    let error = ended.end.error.as_ref().expect("an error is told");
    assert_eq!(error.class, class, "{case}");
    assert!(error.message.contains(named), "{error:?} does not name {named}: {case}");
    let turn = ended.turns()[0].outcome;
    let expected = if class == Refused { TurnOutcome::Refused } else { TurnOutcome::Failed };
    assert_eq!(turn, expected, "{case}");
}

#[tokio::test]
async fn every_status_of_responses_is_told_as_what_it_is() {
    check(Wire::Responses, RESPONSES).await;
}

#[tokio::test]
async fn every_finish_reason_of_chat_is_told_as_what_it_is() {
    check(Wire::Chat, CHAT).await;
}

#[tokio::test]
async fn every_stop_reason_of_messages_is_told_as_what_it_is() {
    check(Wire::Messages, MESSAGES).await;
}

#[tokio::test]
async fn every_finish_reason_of_generate_is_told_as_what_it_is() {
    check(Wire::Generate, GENERATE).await;
}

#[tokio::test]
async fn an_event_and_the_status_in_it_must_agree_that_all_is_well() {
    let rig = ModelRig::new(Wire::Responses).await;
    for (words, named, class) in [
        ("status=failed event=response.failed", "The server had an error", Server),
        ("status=none event=response.failed", "failed", Server),
        ("status=completed event=response.failed", "failed", Server),
        ("status=incomplete event=response.incomplete", "incomplete", Protocol),
        ("status=completed event=response.incomplete", "incomplete", Protocol),
        ("status=cancelled event=response.cancelled", "cancelled", Server),
        ("status=none event=response.cancelled", "cancelled", Server),
    ] {
        for with_call in [false, true] {
            one(&rig, words, named, Fails(class), true, with_call).await;
        }
    }
    one(&rig, "status=none event=response.completed", "", Whole, true, true).await;
    one(&rig, "status=none", "without saying why", Fails(Protocol), false, true).await;
}

#[tokio::test]
async fn an_end_without_a_reason_counts_only_where_the_format_has_a_mark_for_it() {
    let rig = ModelRig::new(Wire::Chat).await;
    one(&rig, "reason=none", "", Whole, true, true).await;
    one(&rig, "reason=none", "without saying why", Fails(Protocol), false, true).await;
    let rig = ModelRig::new(Wire::Generate).await;
    one(&rig, "reason=none", "broke off", Fails(Network), true, true).await;
    one(&rig, "reason=none", "without saying why", Fails(Protocol), false, true).await;
}

#[tokio::test]
async fn every_reason_to_block_a_prompt_is_named() {
    let rig = ModelRig::new(Wire::Generate).await;
    for reason in [
        "SAFETY",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
        "JAILBREAK",
        "BLOCK_REASON_UNSPECIFIED",
        "BLOCKED_REASON_UNSPECIFIED",
        "MOON_PHASE",
    ] {
        for quirk in ["", "quirk=no-stream"] {
            let prompt = format!("[[scn:blocked reason={reason} {quirk}]] go");
            let ended = rig.run(&prompt).await;
            assert_failed(&ended, Refused, reason, &ended.text());
        }
    }
}

#[tokio::test]
async fn a_call_beside_a_refusal_is_not_made() {
    for wire in Wire::ALL {
        for quirk in ["", "quirk=no-stream"] {
            let rig = ModelRig::new(wire).await;
            let ended = rig.run(&format!("[[scn:refusal {quirk} {CALL}]] go")).await;
            assert_failed(&ended, Refused, "declined", &format!("{wire:?}:\n{}", ended.text()));
            assert_eq!(rig.place.file("touched.txt"), None, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_pause_without_end_is_a_failure() {
    for reason in ["pause_turn", "compaction"] {
        let rig = ModelRig::new(Wire::Messages).await;
        let ended = rig.run(&format!("[[scn:finish reason={reason} in=1 out=1]] go")).await;
        assert_failed(&ended, Server, reason, &ended.text());
        assert!(rig.server.ledger().requests() < 40);
    }
}

#[tokio::test]
async fn a_service_that_failed_before_it_said_anything_is_asked_again() {
    for (wire, words) in [
        (Wire::Responses, "status=failed"),
        (Wire::Responses, "status=cancelled"),
        (Wire::Chat, "reason=error"),
        (Wire::Generate, "reason=OTHER"),
        (Wire::Generate, "reason=MALFORMED_RESPONSE"),
    ] {
        for quirk in ["", "quirk=no-stream"] {
            let rig = ModelRig::new(wire).await;
            let prompt = format!("[[scn:finish {words} {quirk} say=\"\" n=1]] go");
            let ended = rig.run(&prompt).await;
            let case = format!("{wire:?} {prompt}:\n{}", ended.text());
            assert_eq!(ended.end.outcome, Outcome::Completed, "{case}");
            assert_eq!((retries(&ended), ended.response()), (1, "All is well again."), "{case}");
        }
    }
    // Nobody knows whether another try could help where nobody knows the reason.
    let rig = ModelRig::new(Wire::Chat).await;
    let ended = rig.run("[[scn:finish reason=moon_phase say=\"\" n=1]] go").await;
    assert_failed(&ended, Protocol, "moon_phase", &ended.text());
    assert_eq!(retries(&ended), 0);
}

#[tokio::test]
async fn a_conversation_goes_on_after_an_answer_that_was_not_acted_on() {
    for (wire, words) in [
        (Wire::Responses, "status=incomplete reason=content_filter"),
        (Wire::Chat, "reason=content_filter"),
        (Wire::Messages, "reason=max_tokens"),
        (Wire::Generate, "reason=OTHER"),
    ] {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run(&format!("[[scn:finish {words} {CALL}]] go")).await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{wire:?}:\n{}", ended.text());
        let mut spec = rig.free("[[scn:echo]] go on");
        spec.resume = Some(musher_runtime::ResumeFrom::of(ended.end.session.clone().unwrap()));
        let next = rig.begin(spec).end().await;
        assert_eq!(next.end.outcome, Outcome::Completed, "{wire:?}:\n{}", next.text());
        let request = rig.server.requests().last().unwrap().json().to_string();
        assert!(request.contains("This answer ended strangely"), "{wire:?}: {request}");
        assert!(!request.contains("touched.txt") || request.matches("touched.txt").count() == 1);
    }
}
