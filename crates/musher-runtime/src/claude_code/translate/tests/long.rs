//! Frames that are too long or too deep to be read whole: what they are about is known all the same.

use musher_core::{Answer, Ask, ErrorClass, RawRef, ToolPhase, TurnOutcome, is_cut};
use serde_json::json;

use super::frames::{answer, ready, said};
use super::*;

/// Longer than a line that is kept whole, wherever the rest of the frame stands.
fn long() -> String {
    "It says \"hello\", and then \\ and 😀 in a line that goes on for a while.\n".repeat(70_000)
}

fn place(signal: &Signal) -> RawRef {
    match signal {
        Signal::Event { raw, .. } | Signal::AskOpened { raw, .. } => raw.unwrap(),
        _ => panic!("{signal:?}"),
    }
}

#[test]
fn promise_10_work_in_a_long_frame_is_told_with_its_result() {
    let mut translator = ready();
    let block = json!({ "type": "tool_use", "id": "t1", "name": "Write",
        "input": { "content": long(), "file_path": "/w/a" } });
    let message = json!({ "content": [block], "id": "m", "model": "m" });
    let step = one(&mut translator, json!({ "message": message, "type": "assistant" }));
    let found = events(std::slice::from_ref(&step));
    let [EventKind::Tool(proposed)] = found[..] else { panic!("{found:?}") };
    assert_eq!((proposed.call.as_str(), proposed.subject.as_deref()), ("t1", Some("/w/a")));
    assert!(is_cut(&proposed.edits[0].new) && place(&step.signals[1]).shortened);

    let lines: Vec<String> = (0..200_000).map(|n| format!("line {n}")).collect();
    let result = json!({ "aFirst": long(), "structuredPatch": [{ "lines": lines }] });
    let block =
        json!({ "content": long(), "is_error": false, "tool_use_id": "t1", "type": "tool_result" });
    let told =
        json!({ "message": { "content": [block] }, "tool_use_result": result, "type": "user" });
    let step = one(&mut translator, told);
    let found = events(std::slice::from_ref(&step));
    let [EventKind::Tool(done)] = found[..] else { panic!("{found:?}") };
    assert_eq!((done.call.as_str(), done.phase), ("t1", ToolPhase::Completed));
    assert!(is_cut(&done.output.as_ref().unwrap().text));
}

#[test]
fn promise_10_a_long_end_keeps_its_outcome_and_its_bill() {
    let usage = json!({ "m": { "inputTokens": 7, "outputTokens": 3, "costUSD": 0.25 } });
    for (fields, outcome) in [
        (json!({ "subtype": "success", "is_error": false }), TurnOutcome::Completed),
        (
            json!({ "subtype": "success", "is_error": true, "api_error_status": 529 }),
            TurnOutcome::Failed,
        ),
        (
            json!({ "subtype": "error_max_turns", "is_error": true, "terminal_reason": "max_turns" }),
            TurnOutcome::OutOfTurns,
        ),
    ] {
        let mut end = fields.clone();
        end["a_result"] = long().into();
        end["result"] = long().into();
        end["type"] = "result".into();
        end["model_usage_since_last_result"] = usage.clone();
        let mut translator = ready();
        one(&mut translator, json!({ "type": "system", "subtype": "init", "session_id": "s" }));
        let step = one(&mut translator, end);
        let found = events(std::slice::from_ref(&step));
        let [EventKind::Usage(report), EventKind::TurnEnded(ended)] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((report.spend.tokens.input, report.spend.tokens.output), (7, 3));
        assert!(report.spend.cost_usd.is_some());
        assert_eq!(ended.outcome, outcome, "{fields}");
        assert!(!ended.synthesised);
    }
}

#[test]
fn promise_10_a_long_request_is_put_to_a_person_and_its_answer_says_nothing_that_was_cut() {
    let suggestions = json!([
        { "type": "addRules", "rules": [{ "toolName": "Write", "ruleContent": long() }] },
        { "type": "setMode", "mode": "acceptEdits" },
    ]);
    let wanted = json!({ "type": "control_request", "request": {
        "input": { "content": long(), "file_path": "/w/a" }, "permission_suggestions": suggestions,
        "subtype": "can_use_tool", "tool_name": "Write", "tool_use_id": "t1" }, "request_id": "q1" });
    for (given, expected) in [
        (Answer::Allow { input: None }, json!({ "behavior": "allow" })),
        (
            Answer::always(None),
            json!({ "behavior": "allow", "updatedPermissions":
                [{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }] }),
        ),
        (Answer::Deny { reason: "no".into() }, json!({ "behavior": "deny", "message": "no" })),
    ] {
        let mut translator = ready();
        let step = one(&mut translator, wanted.clone());
        let [Signal::AskOpened { body: Ask::Approval(approval), raw, .. }] = &step.signals[..]
        else {
            panic!("{:?}", step.signals)
        };
        assert_eq!((approval.tool.as_str(), approval.subject.as_deref()), ("Write", Some("/w/a")));
        assert_eq!(approval.shortened, *raw);
        assert_eq!(approval.shortened.unwrap().len, wanted.to_string().len() as u64);
        assert_eq!(approval.always.len(), 1, "what was cut is not offered");
        assert_eq!(answer(&mut translator, given), expected);
    }
}

#[test]
fn a_long_question_is_sent_back_and_a_long_gate_says_that_it_was_cut() {
    let questions = json!([{ "question": long(), "options": [], "multiSelect": false }]);
    let request = json!({ "subtype": "can_use_tool", "tool_name": "AskUserQuestion",
        "input": { "questions": questions }, "requires_user_interaction": true });
    let mut translator = ready();
    let step = one(
        &mut translator,
        json!({ "type": "control_request", "request_id": "q", "request": request }),
    );
    assert_eq!(said(&step.replies[0])["response"]["response"]["behavior"], "deny");
    assert!(matches!(events(&[step])[..], [EventKind::Notice { .. }]));

    let input = json!({ "tool_name": "Bash", "tool_input": { "command": long() } });
    let request =
        json!({ "subtype": "hook_callback", "callback_id": "musher-permission", "input": input });
    let step = one(
        &mut translator,
        json!({ "type": "control_request", "request_id": "h", "request": request }),
    );
    let [Signal::Permission(request)] = &step.signals[..] else { panic!("{:?}", step.signals) };
    assert!(request.shortened && is_cut(request.subject.as_deref().unwrap()));
}

#[test]
fn what_is_nested_too_deep_is_shortened_and_read() {
    let mut translator = ready();
    one(&mut translator, json!({ "type": "system", "subtype": "init" }));
    let deep = "[".repeat(200) + &"]".repeat(200);
    let end = format!(
        r#"{{"structured_output":{deep},"type":"result","is_error":false,"model_usage_since_last_result":{{"m":{{"inputTokens":7}}}}}}"#
    );
    let steps = feed(&mut translator, end.as_bytes());
    let found = events(&steps);
    assert!(
        matches!(found[0], EventKind::Usage(report) if report.spend.tokens.input == 7),
        "{found:?}"
    );
    assert!(matches!(found[1], EventKind::TurnEnded(e) if e.outcome == TurnOutcome::Completed));
    assert!(place(&steps[0].signals[0]).shortened);
}

#[test]
fn promise_21_an_end_that_cannot_be_read_is_not_told_as_done() {
    let mut translator = ready();
    one(&mut translator, json!({ "type": "system", "subtype": "init" }));
    let broken = format!(r#"{{"type":"result","is_error":false,"result":"{}"#, "x".repeat(5 << 20));
    let steps = feed(&mut translator, broken.as_bytes());
    let found = events(&steps);
    assert!(matches!(found[0], EventKind::Unparsed { truncated: true, .. }), "{found:?}");
    let EventKind::TurnEnded(ended) = found[1] else { panic!("{found:?}") };
    assert_eq!(ended.outcome, TurnOutcome::Failed);
    assert_eq!(ended.error.as_ref().map(|error| error.class), Some(ErrorClass::Protocol));
}
