//! The translator against every recording of the real program, and against bytes that no program should send.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod recordings;

use musher_core::{Answer, Ask, TurnOutcome};

use super::super::recording::unopened;
use super::*;
use crate::conversation::feeding::{events, feed, one};

/// A translator that has said hello and waits with a prompt.
fn greeted() -> CodexTranslator {
    let mut translator = unopened();
    translator.hello();
    translator.order(BackendOrder::Prompt {
        id: "p1".into(),
        text: "Go.".into(),
        images: Vec::new(),
    });
    translator
}

/// A translator in a turn of the thread `t`.
fn in_turn() -> CodexTranslator {
    let mut translator = greeted();
    one(&mut translator, json!({ "id": 0, "result": { "userAgent": "musher/0.166.0 (x)" } }));
    let opened = json!({ "thread": { "id": "t" }, "model": "gpt-5.5" });
    one(&mut translator, json!({ "id": 1, "result": opened }));
    one(
        &mut translator,
        notice("turn/started", json!({ "turn": { "id": "u", "status": "inProgress" } })),
    );
    translator
}

fn notice(method: &str, mut params: Json) -> Json {
    params["threadId"] = json!("t");
    json!({ "method": method, "params": params })
}

#[expect(clippy::needless_pass_by_value, reason = "frames are written where they are fed")]
fn turn_ended(translator: &mut CodexTranslator, turn: Json) -> (TurnOutcome, Option<ErrorInfo>) {
    let step = one(translator, notice("turn/completed", json!({ "turn": turn })));
    let ended = step.signals.into_iter().find_map(|signal| match signal {
        Signal::Event { kind: EventKind::TurnEnded(ended), .. } => Some(*ended),
        _ => None,
    });
    let ended = ended.unwrap();
    (ended.outcome, ended.error)
}

#[test]
fn promise_21_no_word_but_completed_is_told_as_completed() {
    let completed = turn_ended(&mut in_turn(), json!({ "id": "u", "status": "completed" }));
    assert_eq!(completed, (TurnOutcome::Completed, None));
    let interrupted = turn_ended(&mut in_turn(), json!({ "id": "u", "status": "interrupted" }));
    assert_eq!(interrupted.0, TurnOutcome::Interrupted);
    for status in [json!("failed"), json!("vanished"), json!(""), json!(7), Json::Null] {
        let (outcome, error) = turn_ended(&mut in_turn(), json!({ "id": "u", "status": status }));
        assert_eq!(outcome, TurnOutcome::Failed, "{status}");
        let error = error.unwrap();
        if let Some(word) = status.as_str().filter(|word| *word == "vanished") {
            assert!(error.message.contains(word), "{error:?}");
        }
    }
    let error = json!({ "message": "no", "codexErrorInfo": "other" });
    let turn = json!({ "id": "u", "status": "completed", "error": error });
    assert_eq!(turn_ended(&mut in_turn(), turn).0, TurnOutcome::Failed, "an error outweighs it");
}

#[test]
fn every_word_for_an_error_has_its_class() {
    let http = |word: &str, status: u16| json!({ word: { "httpStatusCode": status } });
    for (info, class) in [
        (json!("contextWindowExceeded"), ErrorClass::ContextOverflow),
        (json!("sessionBudgetExceeded"), ErrorClass::Budget),
        (json!("usageLimitExceeded"), ErrorClass::UsageLimit),
        (json!("rateLimitExceeded"), ErrorClass::RateLimit),
        (json!("flexUnavailable"), ErrorClass::RateLimit),
        (json!("serverOverloaded"), ErrorClass::Overloaded),
        (json!("modelNotFound"), ErrorClass::ModelNotFound),
        (json!("policyCapacityUnavailable"), ErrorClass::Overloaded),
        (json!("cyberPolicy"), ErrorClass::Refused),
        (json!("misalignmentPolicyViolation"), ErrorClass::Refused),
        (json!("tooManyDenials"), ErrorClass::Policy),
        (json!("internalServerError"), ErrorClass::Server),
        (json!("unauthorized"), ErrorClass::Auth),
        (json!("badRequest"), ErrorClass::InvalidRequest),
        (json!("sandboxError"), ErrorClass::Policy),
        (http("httpConnectionFailed", 401), ErrorClass::Auth),
        (http("responseTooManyFailedAttempts", 429), ErrorClass::RateLimit),
        (http("responseStreamConnectionFailed", 500), ErrorClass::Server),
        (json!({ "responseStreamDisconnected": { "httpStatusCode": null } }), ErrorClass::Network),
        (json!("a word of a later version"), ErrorClass::Unknown),
        (json!({ "another": {} }), ErrorClass::Unknown),
        (Json::Null, ErrorClass::Unknown),
    ] {
        let error = json!({ "message": "it failed", "codexErrorInfo": info });
        let turn = json!({ "id": "u", "status": "failed", "error": error });
        assert_eq!(turn_ended(&mut in_turn(), turn).1.unwrap().class, class, "{info}");
    }
}

#[test]
fn a_request_that_nobody_knows_is_answered_with_an_error() {
    let mut translator = in_turn();
    for method in ["some/new/request", "item/tool/call", "applyPatchApproval"] {
        let step = one(&mut translator, json!({ "id": 9, "method": method, "params": {} }));
        let reply: Json = serde_json::from_slice(&step.replies[0]).unwrap();
        assert_eq!(
            (&reply["id"], &reply["error"]["code"]),
            (&json!(9), &json!(-32601)),
            "{method}"
        );
        assert!(matches!(events(&[step])[..], [EventKind::Native { .. }]), "{method}");
    }
}

#[test]
fn a_request_that_is_settled_elsewhere_is_taken_back() {
    let mut translator = in_turn();
    let params = json!({ "threadId": "t", "itemId": "c", "command": "ls" });
    let method = "item/commandExecution/requestApproval";
    let step = one(&mut translator, json!({ "id": 0, "method": method, "params": params }));
    let opened = step.signals.iter().any(|signal| {
        matches!(signal, Signal::AskOpened { body: Ask::Approval(approval), .. } if approval.subject.as_deref() == Some("ls"))
    });
    assert!(opened);
    let step = one(&mut translator, notice("serverRequest/resolved", json!({ "requestId": 0 })));
    assert!(matches!(step.signals[..], [Signal::AskWithdrawn { .. }]), "{step:?}");
    let late = Answer::Allow { input: None };
    let step = translator.order(BackendOrder::Answer { ask: "request-0".into(), answer: late });
    assert!(step.replies.is_empty(), "nobody waits for it");
}

#[test]
fn an_ask_of_a_helper_is_told_in_its_scope_and_its_turn_is_not_ours() {
    let mut translator = in_turn();
    let params = json!({ "threadId": "helper", "turn": { "id": "v", "status": "completed" } });
    let step = one(&mut translator, json!({ "method": "turn/completed", "params": params }));
    assert!(!events(&[step]).iter().any(|kind| matches!(kind, EventKind::TurnEnded(_))));
    let params = json!({ "threadId": "helper", "itemId": "c", "command": "ls" });
    let method = "item/commandExecution/requestApproval";
    let step = one(&mut translator, json!({ "id": 3, "method": method, "params": params }));
    let helper = |signal: &Signal| matches!(signal, Signal::AskOpened { scope: EventScope::Subagent { agent, .. }, .. } if agent == "helper");
    assert!(step.signals.iter().any(helper), "{step:?}");
}

#[test]
fn a_limit_tells_when_it_resets_and_what_is_left_out_has_not_changed() {
    let mut translator = in_turn();
    let limits =
        |limits: Json| notice("account/rateLimits/updated", json!({ "rateLimits": limits }));
    let window = json!({ "usedPercent": 40.0, "windowDurationMins": 300, "resetsAt": 1_700 });
    let step = one(&mut translator, limits(json!({ "primary": window, "secondary": null })));
    let EventKind::RateLimit(limit) = events(&[step])[0].clone() else { panic!() };
    assert_eq!((limit.exhausted, limit.resets_at), (false, Some(1_700_000)));
    assert_eq!(limit.window.as_deref(), Some("5 hours"));
    let step = one(&mut translator, limits(json!({ "rateLimitReachedType": "primary" })));
    let EventKind::RateLimit(limit) = events(&[step])[0].clone() else { panic!() };
    assert_eq!((limit.exhausted, limit.resets_at), (true, Some(1_700_000)));
    let step = one(&mut translator, limits(json!({ "primary": null })));
    assert!(matches!(step.signals[..], [Signal::Alive]));
}

#[test]
fn a_plan_is_told_whole_and_in_the_words_of_other_agents() {
    let plan = json!([
        { "step": "Look around", "status": "completed" },
        { "step": "Write", "status": "inProgress" },
        { "step": "Check", "status": "pending" },
    ]);
    let step = one(&mut in_turn(), notice("turn/plan/updated", json!({ "plan": plan })));
    let EventKind::Plan { entries } = events(&[step])[0].clone() else { panic!() };
    let told: Vec<_> = entries.iter().map(|entry| (&*entry.text, &*entry.status)).collect();
    assert_eq!(
        told,
        [("Look around", "completed"), ("Write", "in_progress"), ("Check", "pending")]
    );
}

#[test]
fn whatever_a_line_holds_it_gives_a_signal_and_no_panic() {
    for line in [
        "",
        "Welcome!",
        "{",
        "[]",
        "7",
        r#"{"method":7}"#,
        r#"{"method":"turn/completed"}"#,
        r#"{"method":"turn/completed","params":{"turn":7}}"#,
        r#"{"method":"item/started","params":{"item":{"type":"commandExecution","id":7}}}"#,
        r#"{"id":0,"result":null}"#,
        r#"{"id":0,"error":7}"#,
        r#"{"id":1,"error":{"code":-32600,"message":"no"}}"#,
        r#"{"id":{"a":[1]},"method":"item/tool/requestUserInput","params":{"questions":"?"}}"#,
        "\u{0}\u{1}",
    ] {
        let mut translator = greeted();
        let step = feed(&mut translator, format!("{line}\n").as_bytes());
        let said = step.iter().map(|step| step.signals.len()).sum::<usize>();
        assert!(line.is_empty() || said > 0, "{line}");
    }
}
