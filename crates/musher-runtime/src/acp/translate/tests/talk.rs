//! A conversation written by hand: what the recordings do not have.

use musher_core::{Ledger, ToolPhase};

use super::super::super::preset::AcpUsage;
use super::*;

/// A translator in a turn of the session `s`.
fn in_turn() -> AcpTranslator {
    opened(AcpPreset::any())
}

fn opened(preset: AcpPreset) -> AcpTranslator {
    let mut translator = unopened(preset);
    translator.hello();
    translator.order(BackendOrder::Prompt {
        id: "p1".into(),
        text: "Go.".into(),
        images: Vec::new(),
    });
    one(&mut translator, json!({ "id": 0, "result": { "protocolVersion": 1 } }));
    let step = one(&mut translator, json!({ "id": 1, "result": { "sessionId": "s" } }));
    assert_eq!(written(&step)[0]["method"], "session/prompt");
    translator
}

fn update(update: &Json) -> Json {
    let params = json!({ "sessionId": "s", "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

fn said(text: &str) -> Json {
    let content = json!({ "type": "text", "text": text });
    update(&json!({ "sessionUpdate": "agent_message_chunk", "content": content }))
}

fn permission(id: &Json, options: &[(&str, &str)]) -> Json {
    let options: Vec<Json> = options
        .iter()
        .map(|(option, kind)| json!({ "optionId": option, "name": option, "kind": kind }))
        .collect();
    let input = json!({ "command": "rm -r x" });
    let call =
        json!({ "toolCallId": "c", "title": "rm -r x", "kind": "execute", "rawInput": input });
    let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
    json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params })
}

fn ended(step: &Translation) -> (TurnOutcome, Option<ErrorInfo>) {
    let found = step.signals.iter().find_map(|signal| match signal {
        Signal::Event { kind: EventKind::TurnEnded(ended), .. } => {
            Some((ended.outcome, ended.error.clone()))
        }
        _ => None,
    });
    found.unwrap()
}

fn reply(result: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "id": 2, "result": result })
}

fn counted(translator: &mut AcpTranslator, frames: &[Json]) -> Ledger {
    let mut ledger = Ledger::default();
    for frame in frames {
        let step = one(translator, frame.clone());
        for event in events(std::slice::from_ref(&step)) {
            if let EventKind::Usage(report) = event {
                ledger.enter(report);
            }
        }
    }
    ledger
}

#[test]
fn promise_21_no_word_but_end_turn_is_told_as_completed() {
    let over = |result: &Json| ended(&one(&mut in_turn(), reply(result)));
    assert_eq!(over(&json!({ "stopReason": "end_turn" })), (TurnOutcome::Completed, None));
    assert_eq!(over(&json!({ "stopReason": "cancelled" })).0, TurnOutcome::Interrupted);
    assert_eq!(over(&json!({ "stopReason": "refusal" })).0, TurnOutcome::Refused);
    assert_eq!(over(&json!({ "stopReason": "max_turn_requests" })).0, TurnOutcome::OutOfTurns);
    for reason in [json!("max_tokens"), json!("tired"), json!(""), json!(7), Json::Null] {
        let (outcome, error) = over(&json!({ "stopReason": reason }));
        assert_eq!(outcome, TurnOutcome::Failed, "{reason}");
        assert!(error.is_some(), "{reason}");
    }
    assert_eq!(over(&json!({})).0, TurnOutcome::Failed);
    assert_eq!(over(&Json::Null).0, TurnOutcome::Failed);
}

#[test]
fn a_cancelled_turn_answers_every_request_that_is_open() {
    let mut translator = in_turn();
    one(&mut translator, permission(&json!(0), &[("a", "allow_once")]));
    one(&mut translator, permission(&json!("0"), &[("a", "allow_once")]));
    let step = translator.order(BackendOrder::Interrupt);
    let mut lines = written(&step);
    assert_eq!(lines.remove(0)["method"], "session/cancel");
    let mut ids: Vec<Json> = lines.iter().map(|line| line["id"].clone()).collect();
    ids.sort_by_key(Json::is_string);
    assert_eq!(ids, [json!(0), json!("0")]);
    assert!(lines.iter().all(|line| line["result"]["outcome"]["outcome"] == "cancelled"));
    let ask = AskId::new("request-0");
    let late = BackendOrder::Answer { ask, answer: Answer::Allow { input: None } };
    assert!(translator.order(late).replies.is_empty(), "each request is answered once");
}

#[test]
fn an_answer_chooses_the_option_that_says_no_more_than_it() {
    let all = [
        ("always", "allow_always"),
        ("once", "allow_once"),
        ("never", "reject_always"),
        ("no", "reject_once"),
    ];
    let answered = |options: &[(&str, &str)], answer: Answer| {
        let mut translator = in_turn();
        one(&mut translator, permission(&json!(5), options));
        let ask = AskId::new("request-5");
        let step = translator.order(BackendOrder::Answer { ask, answer });
        written(&step)[0]["result"]["outcome"].clone()
    };
    let allow = || Answer::Allow { input: None };
    let deny = || Answer::Deny { reason: "No.".into() };
    assert_eq!(answered(&all, allow())["optionId"], "once");
    assert_eq!(answered(&all, Answer::always(None))["optionId"], "always");
    assert_eq!(answered(&all, deny())["optionId"], "no");
    assert_eq!(answered(&all[..1], allow())["outcome"], "cancelled", "once is not always");
    assert_eq!(answered(&all[..2], deny())["outcome"], "cancelled");
    assert_eq!(answered(&all[2..3], deny())["optionId"], "never");
}

#[test]
fn a_denied_tool_is_told_as_denied_whether_or_not_its_agent_says_so() {
    for told in [true, false] {
        let mut translator = in_turn();
        one(&mut translator, permission(&json!(5), &[("no", "reject_once")]));
        let answer = Answer::Deny { reason: "Too much.".into() };
        translator.order(BackendOrder::Answer { ask: AskId::new("request-5"), answer });
        let mut steps = Vec::new();
        if told {
            let failed = json!({ "toolCallId": "c", "status": "failed", "sessionUpdate": "tool_call_update" });
            steps.push(one(&mut translator, update(&failed)));
        }
        steps.push(one(&mut translator, reply(&json!({ "stopReason": "end_turn" }))));
        let denied = events(&steps).into_iter().filter(|event| match event {
            EventKind::Tool(tool) => {
                tool.phase == ToolPhase::Denied && tool.reason.as_deref() == Some("Too much.")
            }
            _ => false,
        });
        assert_eq!(denied.count(), 1, "told by the agent: {told}");
    }
}

#[test]
fn a_request_that_nobody_knows_is_answered_with_an_error() {
    let asked = |method: &str, params: Json| {
        let frame = json!({ "jsonrpc": "2.0", "id": 9, "method": method, "params": params });
        written(&one(&mut in_turn(), frame)).pop().unwrap()
    };
    for method in ["fs/read_text_file", "terminal/create", "session/whatever"] {
        let line = asked(method, json!({}));
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(9), &json!(-32601)), "{method}");
    }
    let broken = asked("session/request_permission", json!({ "options": 3 }));
    assert!(broken.get("error").is_some());
}

#[test]
fn a_login_that_is_missing_is_told_with_the_command_that_logs_in() {
    let preset = AcpPreset { login: Some("agent login".into()), ..AcpPreset::any() };
    let mut translator = unopened(preset);
    translator.hello();
    one(&mut translator, json!({ "id": 0, "result": { "protocolVersion": 1 } }));
    let error = json!({ "code": -32000, "message": "Authentication required." });
    one(&mut translator, json!({ "id": 1, "error": error }));
    let error = &translator.failure().unwrap().error;
    assert_eq!(error.class, ErrorClass::Auth);
    assert_eq!(error.hint.as_deref(), Some("log in with `agent login`"));
}

#[test]
fn another_version_of_the_protocol_is_refused_in_words() {
    let mut translator = unopened(AcpPreset::any());
    translator.hello();
    one(&mut translator, json!({ "id": 0, "result": { "protocolVersion": 2 } }));
    let error = &translator.failure().unwrap().error;
    assert_eq!(error.class, ErrorClass::Protocol);
    assert!(error.message.contains("version 2"), "{error}");
}

#[test]
fn a_setting_of_the_start_goes_before_the_first_prompt_or_stops_it() {
    let begin = |modes: Json| {
        let mut translator = unopened(AcpPreset::any());
        translator.opening.mode = Some("yolo".into());
        translator.hello();
        translator.order(BackendOrder::Prompt {
            id: "p1".into(),
            text: "Go.".into(),
            images: Vec::new(),
        });
        one(&mut translator, json!({ "id": 0, "result": { "protocolVersion": 1 } }));
        let opened = json!({ "sessionId": "s", "modes": modes });
        let step = one(&mut translator, json!({ "id": 1, "result": opened }));
        (translator, step)
    };
    let modes =
        json!({ "currentModeId": "default", "availableModes": [{ "id": "default", "name": "D" }] });
    let (mut translator, step) = begin(modes.clone());
    let asked = written(&step);
    assert_eq!((asked.len(), &asked[0]["method"]), (1, &json!("session/set_mode")));
    let step = one(&mut translator, json!({ "id": 2, "result": {} }));
    assert_eq!(written(&step)[0]["method"], "session/prompt");
    let (mut translator, _) = begin(modes);
    let refused = json!({ "code": -32602, "message": "no such mode" });
    let step = one(&mut translator, json!({ "id": 2, "error": refused }));
    assert!(written(&step).is_empty(), "no prompt goes out in a mode that was not wanted");
    assert_eq!(translator.failure().unwrap().error.class, ErrorClass::Config);
    let (translator, _) = begin(Json::Null);
    assert!(translator.failure().unwrap().error.message.contains("no choice of the mode `yolo`"));
}

#[test]
fn errors_are_sorted_by_what_a_person_would_do() {
    let body = r#"{"error":{"code":500,"message":"boom"}}"#;
    let details = json!({ "details": "API Error: 529 overloaded" });
    for (error, class, http) in [
        (json!({ "code": 401, "message": "x" }), ErrorClass::Auth, Some(401)),
        (json!({ "code": 429, "message": "slow down" }), ErrorClass::RateLimit, Some(429)),
        (json!({ "code": -32603, "message": "invalid x-api-key" }), ErrorClass::Auth, None),
        (json!({ "code": -32603, "data": details }), ErrorClass::Overloaded, Some(529)),
        (json!({ "code": 500, "message": body }), ErrorClass::Server, Some(500)),
        (json!({ "code": -32603, "message": "fetch failed" }), ErrorClass::Network, None),
        (json!({ "code": -32603, "message": "what" }), ErrorClass::Unknown, None),
    ] {
        let (outcome, told) = ended(&one(&mut in_turn(), json!({ "id": 2, "error": error })));
        let told = told.unwrap();
        assert_eq!((outcome, told.class, told.http), (TurnOutcome::Failed, class, http), "{error}");
    }
}

#[test]
fn what_a_prompt_used_is_told_as_far_as_it_is_known() {
    let spent = |usage: AcpUsage, result: Json| {
        let mut translator = opened(AcpPreset { usage, ..AcpPreset::any() });
        let total = counted(&mut translator, &[reply(&result)]).spent();
        let Some(_) = total.cost_usd else {
            return (total.tokens.input, total.tokens.cache_read, total.tokens.output, false);
        };
        (total.tokens.input, total.tokens.cache_read, total.tokens.output, true)
    };
    let usage = |total: u64| {
        let usage = json!({
            "inputTokens": 100, "outputTokens": 10, "cachedReadTokens": 40, "totalTokens": total,
        });
        json!({ "stopReason": "end_turn", "usage": usage })
    };
    assert_eq!(spent(AcpUsage::Turn, usage(110)), (60, 40, 10, false), "cached is inside");
    assert_eq!(spent(AcpUsage::Turn, usage(150)), (100, 40, 10, false), "cached is beside");
    assert_eq!(spent(AcpUsage::Unknown, usage(110)), (0, 0, 0, false), "unknown is not free");
    let nothing = json!({ "stopReason": "end_turn" });
    assert_eq!(spent(AcpUsage::Turn, nothing), (0, 0, 0, false));
    let count = json!({ "input_tokens": 7, "output_tokens": 3 });
    let model = json!([{ "model": "gemini-2.5-pro", "token_count": count }]);
    let quota = json!({ "stopReason": "end_turn", "_meta": { "quota": { "model_usage": model } } });
    assert_eq!(spent(AcpUsage::Quota, quota), (7, 0, 3, true), "a known model has a price");
}

#[test]
fn a_cut_turn_has_an_unknown_cost_and_a_refused_one_has_none() {
    let cost = |frames: &[Json]| {
        counted(&mut in_turn(), frames).spent().cost_usd.map(|cost| cost.is_zero())
    };
    let refused = json!({ "id": 2, "error": { "code": 401, "message": "no" } });
    let cancelled = reply(&json!({ "stopReason": "cancelled" }));
    let usage = json!({ "inputTokens": 0, "outputTokens": 0, "totalTokens": 0 });
    let nothing = reply(&json!({ "stopReason": "cancelled", "usage": usage }));
    assert_eq!(
        cost(std::slice::from_ref(&refused)),
        Some(true),
        "what is refused at once costs nothing"
    );
    assert_eq!(cost(&[said("Hm"), refused]), None);
    assert_eq!(cost(&[said("Hm"), cancelled]), None);
    assert_eq!(cost(&[said("Hm"), nothing]), None, "zero tokens of a cut turn are no count");
}

#[test]
fn noise_and_odd_messages_are_kept_and_break_nothing() {
    let mut translator = unopened(AcpPreset::any());
    translator.hello();
    let noise = b"Loading...\n{\"half\n[1,2]\n{}\n\xff\xfe\n{\"id\":0}\n";
    let steps = feed(&mut translator, noise);
    assert!(steps.iter().all(|step| !step.signals.is_empty()));
    for odd in [json!(null), json!({}), json!({ "sessionUpdate": "new_thing", "x": 1 })] {
        let step = one(&mut in_turn(), update(&odd));
        let native = |signal: &Signal| {
            matches!(signal, Signal::Event { kind: EventKind::Native { .. }, .. })
        };
        assert!(native(&step.signals[0]), "{odd}");
    }
}
