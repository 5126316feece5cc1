//! Single frames: what the recordings do not hold, and what is said back.

use musher_core::{Answer, Ask, ErrorClass, Level, QuestionReply, TurnOutcome};
use serde_json::json;

use super::*;
use crate::session::PermissionVerdict;

pub(super) fn ready() -> Translator {
    let mut translator = Translator::default();
    translator.hello(json!({}), PermissionHook::Wished);
    let response = json!({ "subtype": "success", "request_id": "musher-0", "response": {} });
    one(&mut translator, json!({ "type": "control_response", "response": response }));
    translator
}

pub(super) fn said(bytes: &Bytes) -> Json {
    serde_json::from_slice(bytes).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "inputs are written where they are used")]
fn wants(translator: &mut Translator, tool: &str, input: Json, suggestions: Json) -> Translation {
    one(
        translator,
        json!({ "type": "control_request", "request_id": "q1", "request": {
            "subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "t1",
            "permission_suggestions": suggestions, "requires_user_interaction": tool == "AskUserQuestion",
        }}),
    )
}

pub(super) fn answer(translator: &mut Translator, answer: Answer) -> Json {
    let step = translator.order(BackendOrder::Answer { ask: "q1".into(), answer });
    said(&step.replies[0])["response"]["response"].clone()
}

#[test]
fn prompts_wait_until_the_agent_is_ready() {
    let mut translator = Translator::default();
    translator.hello(json!({}), PermissionHook::Wished);
    let step = translator.order(BackendOrder::Prompt {
        id: "p1".into(),
        text: "hi".into(),
        images: Vec::new(),
    });
    assert!(step.replies.is_empty());
    let response = json!({ "subtype": "success", "request_id": "musher-0", "response": {} });
    let step = one(&mut translator, json!({ "type": "control_response", "response": response }));
    assert_eq!(said(&step.replies[0])["uuid"], "p1");
}

#[test]
fn an_approval_is_allowed_edited_denied_or_ends_the_turn() {
    let input = json!({ "command": "rm x" });
    let cases = [
        (Answer::Allow { input: None }, json!({ "behavior": "allow", "updatedInput": input })),
        (
            Answer::Allow { input: Some(json!({ "command": "ls" })) },
            json!({ "behavior": "allow", "updatedInput": { "command": "ls" } }),
        ),
        (Answer::Deny { reason: "no".into() }, json!({ "behavior": "deny", "message": "no" })),
        (
            Answer::DenyAndInterrupt { reason: "no".into() },
            json!({ "behavior": "deny", "message": "no", "interrupt": true }),
        ),
    ];
    for (given, expected) in cases {
        let mut translator = ready();
        wants(&mut translator, "Bash", input.clone(), json!([]));
        assert_eq!(answer(&mut translator, given), expected);
    }
}

#[test]
fn suggestions_go_back_only_for_always_and_only_for_this_session() {
    let suggestion = json!([{ "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "ls *" }],
        "behavior": "allow", "destination": "localSettings" }]);
    let mut translator = ready();
    let step = wants(&mut translator, "Bash", json!({ "command": "ls" }), suggestion.clone());
    let Some(Signal::AskOpened { body: Ask::Approval(approval), .. }) = step.signals.first() else {
        panic!("no approval");
    };
    assert_eq!(approval.always[0].label, "Bash(ls *)");
    let once = answer(&mut translator, Answer::Allow { input: None });
    assert!(once.get("updatedPermissions").is_none());
    wants(&mut translator, "Bash", json!({ "command": "ls" }), suggestion);
    let always = answer(&mut translator, Answer::always(None));
    assert_eq!(always["updatedPermissions"][0]["destination"], "session");
}

#[test]
fn questions_are_answered_under_their_full_text() {
    let input = json!({ "questions": [
        { "question": "Which colour?", "header": "Colour", "multiSelect": true,
          "options": [{ "label": "Red", "description": "warm" }, { "label": "Blue" }] },
        { "question": "Why?", "multiSelect": false, "options": [] },
    ]});
    let mut translator = ready();
    wants(&mut translator, "AskUserQuestion", input, json!([]));
    let replies = vec![
        QuestionReply { chosen: vec!["Red".into(), "Blue".into()], text: None },
        QuestionReply { chosen: vec![], text: Some("because".into()) },
    ];
    let given = answer(&mut translator, Answer::Replies { replies });
    assert_eq!(
        given["updatedInput"]["answers"],
        json!({ "Which colour?": "Red, Blue", "Why?": "because" })
    );
    assert_eq!(given["updatedInput"]["questions"].as_array().unwrap().len(), 2);
}

#[test]
fn an_ask_that_was_taken_back_is_not_answered() {
    let mut translator = ready();
    wants(&mut translator, "Bash", json!({ "command": "ls" }), json!([]));
    let step =
        one(&mut translator, json!({ "type": "control_cancel_request", "request_id": "q1" }));
    assert!(matches!(step.signals[..], [Signal::AskWithdrawn { .. }]));
    let late = BackendOrder::Answer { ask: "q1".into(), answer: Answer::Allow { input: None } };
    assert!(translator.order(late).replies.is_empty());
}

#[test]
fn a_request_that_nobody_knows_is_refused_and_never_left_open() {
    let request = json!({ "subtype": "weird_new_thing" });
    let step = one(
        &mut ready(),
        json!({ "type": "control_request", "request_id": 0, "request": request }),
    );
    let reply = said(&step.replies[0]);
    assert_eq!(reply["response"]["subtype"], "error");
    assert_eq!(reply["response"]["request_id"], 0);
    assert!(matches!(events(&[step])[..], [EventKind::Native { .. }]));
}

#[test]
fn a_tool_at_the_gate_gets_the_verdict_of_the_rules() {
    let verdicts = [
        (PermissionVerdict::Allow, json!("allow")),
        (PermissionVerdict::Deny { reason: "r".into() }, json!("deny")),
        (PermissionVerdict::Ask, json!("ask")),
        (PermissionVerdict::NoOpinion, Json::Null),
    ];
    for (verdict, expected) in verdicts {
        let mut translator = ready();
        let input = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } });
        let request = json!({ "subtype": "hook_callback", "callback_id": "musher-permission", "input": input });
        let step = one(
            &mut translator,
            json!({ "type": "control_request", "request_id": "h", "request": request }),
        );
        let Some(Signal::Permission(request)) = step.signals.first() else { panic!("no request") };
        assert_eq!(request.subject.as_deref(), Some("ls"));
        let step = translator.order(BackendOrder::Permission { request: "h".into(), verdict });
        let output = said(&step.replies[0])["response"]["response"]["hookSpecificOutput"].clone();
        assert_eq!(output["permissionDecision"], expected);
    }
}

#[test]
fn a_form_of_a_tool_server_is_an_ask() {
    let request = json!({ "subtype": "elicitation", "mcp_server_name": "db", "message": "Name?",
        "requested_schema": { "type": "object" } });
    let mut translator = ready();
    one(
        &mut translator,
        json!({ "type": "control_request", "request_id": "q1", "request": request }),
    );
    let content = std::collections::BTreeMap::from([("name".to_owned(), json!("x"))]);
    let given = answer(&mut translator, Answer::Form { content });
    assert_eq!(given, json!({ "action": "accept", "content": { "name": "x" } }));
}

fn assistant(uuid: &str, text: &str) -> Json {
    json!({ "type": "assistant", "uuid": uuid, "message": {
        "id": format!("m-{uuid}"), "model": "m", "content": [{ "type": "text", "text": text }] } })
}

#[test]
fn what_is_superseded_or_refused_is_retracted_by_item() {
    let mut translator = ready();
    one(&mut translator, assistant("u1", "first"));
    let mut second = assistant("u2", "better");
    second["supersedes"] = json!(["u1"]);
    let step = one(&mut translator, second);
    let found = events(std::slice::from_ref(&step));
    assert!(
        matches!(found[0], EventKind::ItemsRetracted { items, .. } if items == &["m-u1:0".into()])
    );
    let step = one(
        &mut translator,
        json!({ "type": "system", "subtype": "model_refusal_fallback", "original_model": "a",
            "fallback_model": "b", "retracted_message_uuids": ["u2"] }),
    );
    let found = events(std::slice::from_ref(&step));
    assert!(matches!(found[0], EventKind::ModelChanged { to, .. } if to == "b"));
    assert!(
        matches!(found[1], EventKind::ItemsRetracted { items, .. } if items == &["m-u2:0".into()])
    );
}

#[test]
fn what_hooks_and_the_program_itself_say_is_told() {
    let hook = |outcome: &str, code: i64, stderr: &str| {
        json!({ "type": "system", "subtype": "hook_response", "hook_id": "h", "hook_name": "PreToolUse:Bash",
            "hook_event": "PreToolUse", "output": "checked", "stdout": "checked", "stderr": stderr,
            "exit_code": code, "outcome": outcome })
    };
    let note = |priority: &str| {
        json!({ "type": "system", "subtype": "notification", "key": "k", "text": "Credit is low",
            "priority": priority })
    };
    for (frame, level, text) in [
        (
            hook("success", 0, ""),
            Level::Info,
            "hook PreToolUse:Bash: success, exit code 0: checked",
        ),
        (
            hook("error", 2, "not on a Friday\n"),
            Level::Warning,
            "hook PreToolUse:Bash: error, exit code 2: not on a Friday",
        ),
        (note("low"), Level::Info, "Credit is low"),
        (note("immediate"), Level::Warning, "Credit is low"),
        (
            json!({ "type": "system", "subtype": "informational", "content": "Stopped", "level": "warning" }),
            Level::Warning,
            "Stopped",
        ),
    ] {
        let step = one(&mut ready(), frame.clone());
        let found = events(std::slice::from_ref(&step));
        let [EventKind::Notice { level: told, text: said, .. }] = found[..] else {
            panic!("{frame}: {found:?}")
        };
        assert_eq!((*told, said.as_str()), (level, text));
    }
}

#[test]
fn a_list_of_things_to_do_is_a_plan() {
    let todos =
        json!([{ "content": "Write it", "status": "in_progress", "activeForm": "Writing it" }]);
    let block =
        json!({ "type": "tool_use", "id": "t", "name": "TodoWrite", "input": { "todos": todos } });
    let message = json!({ "id": "m", "model": "m", "content": [block] });
    let step = one(&mut ready(), json!({ "type": "assistant", "message": message }));
    let found = events(std::slice::from_ref(&step));
    assert!(matches!(found[0], EventKind::Plan { entries } if entries[0].text == "Write it"));
}

#[test]
fn compaction_is_told_from_start_to_end() {
    let mut translator = ready();
    let start = one(
        &mut translator,
        json!({ "type": "system", "subtype": "status", "status": "compacting" }),
    );
    assert!(matches!(events(&[start])[..], [EventKind::Compaction { done: false, .. }]));
    let end = json!({ "type": "system", "subtype": "compact_boundary",
        "compact_metadata": { "trigger": "auto", "pre_tokens": 900, "post_tokens": 100 } });
    let step = one(&mut translator, end);
    assert!(matches!(
        events(&[step])[..],
        [EventKind::Compaction {
            done: true,
            auto: Some(true),
            before: Some(900),
            after: Some(100)
        }]
    ));
}

#[test]
fn the_model_and_the_mode_change_only_when_the_agent_agrees() {
    let mut translator = ready();
    translator.order(BackendOrder::SetModel { model: "x".into() });
    translator.order(BackendOrder::SetMode { mode: "weird".into() });
    let ok =
        json!({ "subtype": "success", "request_id": "musher-1", "response": { "model": "x" } });
    let step = one(&mut translator, json!({ "type": "control_response", "response": ok }));
    assert!(matches!(events(&[step])[..], [EventKind::ModelChanged { to, .. }] if to == "x"));
    let no = json!({ "subtype": "error", "request_id": "musher-2", "error": "must be one of" });
    let step = one(&mut translator, json!({ "type": "control_response", "response": no }));
    assert!(
        matches!(events(&[step])[..], [EventKind::Notice { text, .. }] if text.contains("must be one of"))
    );
}

#[test]
fn an_outcome_is_read_from_the_fields_that_tell_the_truth() {
    let cases = [
        (
            json!({ "is_error": false, "subtype": "error_weird" }),
            TurnOutcome::Failed,
            Some(ErrorClass::Unknown),
        ),
        (
            json!({ "is_error": true, "subtype": "success", "api_error_status": 401 }),
            TurnOutcome::Failed,
            Some(ErrorClass::Auth),
        ),
        (
            json!({ "is_error": true, "subtype": "success", "api_error_status": 529 }),
            TurnOutcome::Failed,
            Some(ErrorClass::Overloaded),
        ),
        (
            json!({ "is_error": true, "terminal_reason": "aborted_tools" }),
            TurnOutcome::Interrupted,
            None,
        ),
        (
            json!({ "is_error": true, "terminal_reason": "max_turns" }),
            TurnOutcome::OutOfTurns,
            Some(ErrorClass::MaxTurns),
        ),
        (
            json!({ "is_error": true, "terminal_reason": "budget_exhausted" }),
            TurnOutcome::OutOfBudget,
            Some(ErrorClass::Budget),
        ),
        (
            json!({ "is_error": true, "terminal_reason": "prompt_too_long", "api_error_status": 400 }),
            TurnOutcome::Failed,
            Some(ErrorClass::ContextOverflow),
        ),
        (json!({ "is_error": true }), TurnOutcome::Failed, Some(ErrorClass::Unknown)),
        (
            json!({ "is_error": "true", "terminal_reason": "api_error", "api_error_status": 500 }),
            TurnOutcome::Failed,
            Some(ErrorClass::Server),
        ),
        (json!({ "subtype": 7 }), TurnOutcome::Failed, Some(ErrorClass::Unknown)),
        (json!({ "subtype": "success" }), TurnOutcome::Completed, None),
        (
            json!({ "subtype": "success", "is_error": false, "stop_reason": "refusal" }),
            TurnOutcome::Refused,
            Some(ErrorClass::Refused),
        ),
        (
            json!({ "subtype": "success", "is_error": false, "api_error_status": 529 }),
            TurnOutcome::Failed,
            Some(ErrorClass::Overloaded),
        ),
    ];
    for (mut fields, outcome, class) in cases {
        fields["type"] = "result".into();
        let step = one(&mut ready(), fields.clone());
        let found = events(std::slice::from_ref(&step));
        let Some(EventKind::TurnEnded(ended)) = found.last() else { panic!("{fields}: no end") };
        assert_eq!(
            (ended.outcome, ended.error.as_ref().map(|e| e.class)),
            (outcome, class),
            "{fields}"
        );
    }
}

#[test]
fn a_turn_ends_whatever_else_its_end_holds() {
    let odd = json!({ "type": "result", "is_error": false, "duration_ms": 12.5, "errors": [{ "code": 1 }],
        "permission_denials": null, "api_error_status": "no", "modelUsage": { "m": { "inputTokens": null } },
        "model_usage_since_last_result": { "m": { "inputTokens": 7.0, "costUSD": "free" } } });
    let step = one(&mut ready(), odd);
    let found = events(std::slice::from_ref(&step));
    assert!(
        matches!(found.last(), Some(EventKind::TurnEnded(e)) if e.outcome == TurnOutcome::Completed)
    );
    assert!(matches!(found[0], EventKind::Usage(report) if report.spend.tokens.input == 7));
    let meta = json!({ "type": "user", "tool_result_meta": null, "message": { "content": [
        { "type": "tool_result", "tool_use_id": "t", "content": "out" }] } });
    let step = one(&mut ready(), meta);
    assert!(matches!(events(&[step])[..], [EventKind::Tool(_)]));
}

#[test]
fn a_frame_with_millions_of_blocks_is_kept_as_one() {
    let blocks: Vec<u8> = vec![0; 100_000];
    let frame = json!({ "type": "assistant", "message": { "id": "m", "content": blocks } });
    let step = one(&mut ready(), frame);
    let natives = events(std::slice::from_ref(&step));
    assert!(matches!(natives.last(), Some(EventKind::Native { .. })) && natives.len() == 1);
}

#[test]
fn a_request_with_any_id_can_be_taken_back() {
    let mut translator = ready();
    for id in [json!(0), json!("0")] {
        let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
        one(
            &mut translator,
            json!({ "type": "control_request", "request_id": id, "request": request }),
        );
    }
    let step = one(&mut translator, json!({ "type": "control_cancel_request", "request_id": 0 }));
    assert!(matches!(step.signals[..], [Signal::AskWithdrawn { .. }]));
    assert!(translator.asks.take(&"0".into()).is_some(), "the other one stays");
}

#[test]
fn rules_that_cannot_be_kept_end_the_work() {
    for response in [
        json!({ "subtype": "error", "request_id": "musher-0", "error": "no hooks here" }),
        json!({ "subtype": "success", "request_id": "musher-0", "response": { "hooks_applied": false } }),
    ] {
        let mut translator = Translator::default();
        translator.hello(json!({ "hooks": {} }), PermissionHook::Needed);
        translator.order(BackendOrder::Prompt {
            id: "p".into(),
            text: "go".into(),
            images: Vec::new(),
        });
        let step =
            one(&mut translator, json!({ "type": "control_response", "response": response }));
        assert!(step.replies.is_empty(), "the prompt was sent without the hook");
        assert_eq!(translator.failure.unwrap().error.class, ErrorClass::Policy);
    }
}

#[test]
fn a_shell_in_the_background_does_not_hold_the_run_and_a_helper_does() {
    for (kind, holds) in [("local_bash", false), ("local_agent", true)] {
        let task = json!({ "type": "system", "subtype": "task_started", "task_id": "x",
            "task_type": kind, "is_backgrounded": true });
        let step = one(&mut ready(), task);
        assert!(matches!(events(&[step])[..], [EventKind::Task(t), ..] if t.background == holds));
        let tasks = json!([{ "task_id": "x", "task_type": kind }]);
        let changed =
            json!({ "type": "system", "subtype": "background_tasks_changed", "tasks": tasks });
        let step = one(&mut ready(), changed);
        let is_task = |s: &&Signal| matches!(s, Signal::Event { kind: EventKind::Task(_), .. });
        assert_eq!(step.signals.iter().filter(is_task).count(), usize::from(holds), "{kind}");
    }
}
