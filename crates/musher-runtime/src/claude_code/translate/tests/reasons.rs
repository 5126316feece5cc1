//! Every reason that the agent documents for the end of a turn, and reasons that nobody has heard of.

use musher_core::{TurnEnded, TurnOutcome};
use serde_json::json;

use super::frames::ready;
use super::*;

/// The reasons of the tested version, as its own source lists them.
const REASONS: &[(&str, TurnOutcome)] = &[
    ("completed", TurnOutcome::Completed),
    ("background_requested", TurnOutcome::Completed),
    ("aborted_streaming", TurnOutcome::Interrupted),
    ("aborted_tools", TurnOutcome::Interrupted),
    ("max_turns", TurnOutcome::OutOfTurns),
    ("budget_exhausted", TurnOutcome::OutOfBudget),
    ("blocking_limit", TurnOutcome::Failed),
    ("rapid_refill_breaker", TurnOutcome::Failed),
    ("prompt_too_long", TurnOutcome::Failed),
    ("image_error", TurnOutcome::Failed),
    ("model_error", TurnOutcome::Failed),
    ("api_error", TurnOutcome::Failed),
    ("malformed_tool_use_exhausted", TurnOutcome::Failed),
    ("stop_hook_prevented", TurnOutcome::Failed),
    ("hook_stopped", TurnOutcome::Failed),
    ("tool_deferred", TurnOutcome::Failed),
    ("tool_deferred_unavailable", TurnOutcome::Failed),
    ("structured_output_retry_exhausted", TurnOutcome::Failed),
    ("turn_setup_failed", TurnOutcome::Failed),
    ("a_reason_of_next_year", TurnOutcome::Failed),
];

const SUBTYPES: &[(&str, TurnOutcome)] = &[
    ("success", TurnOutcome::Completed),
    ("error_during_execution", TurnOutcome::Failed),
    ("error_max_turns", TurnOutcome::OutOfTurns),
    ("error_max_budget_usd", TurnOutcome::OutOfBudget),
    ("error_max_structured_output_retries", TurnOutcome::Failed),
    ("error_of_next_year", TurnOutcome::Failed),
    ("partial_success", TurnOutcome::Failed),
];

#[expect(clippy::needless_pass_by_value, reason = "frames are written where they are fed")]
fn end(fields: Json) -> TurnEnded {
    let mut frame = json!({ "type": "result" });
    for (name, value) in fields.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()) {
        frame[name] = value.clone();
    }
    let step = one(&mut ready(), frame);
    match events(std::slice::from_ref(&step)).pop() {
        Some(EventKind::TurnEnded(ended)) => (**ended).clone(),
        other => panic!("{fields}: {other:?}"),
    }
}

#[test]
fn promise_21_every_documented_and_every_unknown_reason_is_told_as_what_it_is() {
    for is_error in [Json::Null, json!(false), json!(true)] {
        for (name, expected) in REASONS.iter().chain(SUBTYPES) {
            let field = if SUBTYPES.iter().any(|(subtype, _)| subtype == name) {
                "subtype"
            } else {
                "terminal_reason"
            };
            let told = end(json!({ "is_error": is_error, field: name, "result": "All good." }));
            let expected = match expected {
                TurnOutcome::Completed if is_error == json!(true) => &TurnOutcome::Failed,
                other => other,
            };
            assert_eq!(told.outcome, *expected, "{name}, is_error {is_error}");
            let fine = matches!(expected, TurnOutcome::Completed | TurnOutcome::Interrupted);
            assert_eq!(told.error.is_none(), fine, "{name}: {:?}", told.error);
            assert_eq!(told.final_text.is_some(), fine, "{name}");
            if let Some(error) =
                told.error.filter(|_| *name != "success" && is_error != json!(true))
            {
                let plain = matches!(
                    *name,
                    "completed" | "background_requested" | "api_error" | "error_during_execution"
                );
                let named = format!("{} {:?} {:?}", error.message, error.code, told.native_reason);
                assert!(plain || error.message.contains(name), "{name} is not named: {error:?}");
                assert!(named.contains(name), "{name}: {named}");
            }
        }
    }
}

#[test]
fn promise_21_one_word_of_failure_outweighs_every_word_of_success() {
    for (subtype, reason) in
        [("success", "api_error"), ("error_max_turns", "completed"), ("success", "hook_stopped")]
    {
        let told = end(json!({ "is_error": false, "subtype": subtype, "terminal_reason": reason }));
        assert_ne!(told.outcome, TurnOutcome::Completed, "{subtype} {reason}");
    }
    for stopped in ["refusal", "max_tokens", "model_context_window_exceeded"] {
        let told = end(json!({ "is_error": false, "subtype": "success", "stop_reason": stopped }));
        assert_ne!(told.outcome, TurnOutcome::Completed, "{stopped}");
        assert!(told.error.unwrap().message.contains(stopped));
    }
    assert_eq!(end(json!({})).outcome, TurnOutcome::Failed, "nobody said that it was done");
}
