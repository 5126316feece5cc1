//! The operator's tools with an office that writes down what it was asked.

use std::sync::{Arc, Mutex};

use musher_runtime::CancellationToken;
use musher_runtime::tools::{ToolCall, ToolHost, ToolReply};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::mcp::api_client::{ApiClient, ApiRefused, ApiRequest, ChangeNotice, Replying};
use crate::mcp::operator::Operator;

/// An office whose replies are all the same.
#[derive(Debug, Clone, Default)]
struct Desk {
    asked: Arc<Mutex<Vec<ApiRequest>>>,
    reply: Json,
}

impl ApiClient for Desk {
    fn ask(&self, wanted: ApiRequest) -> Replying<'_> {
        self.asked.lock().unwrap().push(wanted);
        let refused = || ApiRefused { detail: "no".into(), hint: Some("ask again".into()) };
        let reply = if self.reply.is_null() { Err(refused()) } else { Ok(self.reply.clone()) };
        Box::pin(std::future::ready(reply))
    }

    fn news(&self) -> ChangeNotice {
        Box::pin(futures_util::stream::pending())
    }
}

fn call(desk: &Desk, name: &str, input: Json) -> (ToolReply, Vec<ApiRequest>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let operator = Operator::new(desk.clone());
    let cancel = CancellationToken::new();
    let reply = runtime.unwrap().block_on(operator.call(ToolCall::new("c", name, input), &cancel));
    (reply, std::mem::take(&mut desk.asked.lock().unwrap()))
}

#[test]
fn the_tools_have_names_that_every_vendor_takes_and_schemas_in_one_piece() {
    for tool in Operator::new(Desk::default()).tools() {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(tool.name.len() <= 64 && tool.name.chars().all(plain), "{}", tool.name);
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
        assert!(!tool.input_schema.to_string().contains("$ref"), "{}", tool.input_schema);
    }
}

#[test]
fn a_refusal_is_told_with_its_way_out() {
    let (reply, asked) = call(&Desk::default(), "read_run", json!({ "run": "r1" }));
    assert!(reply.is_failed());
    assert_eq!((reply.text.as_str(), asked.len()), ("no; ask again", 1));
}

#[test]
fn a_wait_ends_when_its_time_is_up_and_tells_how_things_stand() {
    let desk = Desk { reply: json!({ "id": "r1", "phase": "live" }), ..Desk::default() };
    let input = json!({ "runs": ["r1"], "until": "over", "timeout_seconds": 120 });
    let (reply, asked) = call(&desk, "wait_for_runs", input);
    assert_eq!(reply.text, "The time is up. r1 live");
    assert_eq!(reply.structured.unwrap()["reached"], Json::Null);
    assert!((8..=10).contains(&asked.len()), "it looked {} times", asked.len());
}

#[test]
fn a_wait_ends_at_once_when_a_person_is_needed() {
    let desk =
        Desk { reply: json!({ "id": "r1", "phase": "live", "open_asks": 1 }), ..Desk::default() };
    let (reply, _) = call(&desk, "wait_for_runs", json!({ "runs": ["s1"] }));
    assert_eq!(reply.structured.unwrap()["reached"], "needs_person");
}

#[test]
fn long_texts_in_events_are_cut_and_diffs_are_unified() {
    let event = json!({ "seq": 1, "type": "item_done", "body": { "text": "ä".repeat(10_000) } });
    let desk =
        Desk { reply: json!({ "events": [event], "next": "1.1", "end": true }), ..Desk::default() };
    let (reply, _) = call(&desk, "read_events", json!({ "run": "r1" }));
    assert!(reply.text.len() < 5_000 && reply.text.contains("more bytes"), "{}", reply.text);
    let hunk = json!({
        "old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "section": "",
        "lines": [{ "kind": "removed", "text": "a" }, { "kind": "added", "text": "b" }],
    });
    let desk = Desk {
        reply: json!({ "files": [{ "path": "x", "status": "modified", "hunks": [hunk] }] }),
        ..Desk::default()
    };
    let (reply, _) = call(&desk, "read_diff", json!({ "run": "r1" }));
    assert_eq!(reply.text, "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@ \n-a\n+b\n");
}

proptest! {
    /// Whatever a name is, the request stays where the tool belongs, or there is none.
    #[test]
    fn promise_18_no_name_leads_a_tool_elsewhere(name in ".{0,40}|r[0-9]{1,3}|[a-z]{1,4}:[a-z]{1,4}|\\.{1,2}|(\\.\\./){1,3}x") {
        let desk = Desk { reply: json!({ "phase": "over" }), ..Desk::default() };
        let calls = [
            ("read_story", json!({ "story": name }), 4),
            ("start_run", json!({ "story": name }), 5),
            ("read_run", json!({ "run": name }), 4),
            ("stop_run", json!({ "run": name }), 5),
            ("read_diff", json!({ "run": name }), 5),
            ("wait_for_runs", json!({ "runs": [name] }), 4),
            ("answer_ask", json!({ "run": "r1", "ask": name, "shown": "d", "answer": { "decision": "allow" } }), 7),
            ("read_events", json!({ "run": "r1", "cursor": name, "kinds": [name] }), 5),
        ];
        for (tool, input, steps) in calls {
            for wanted in call(&desk, tool, input).1 {
                let uri = wanted.uri();
                let parsed: axum::http::Uri = uri.parse().unwrap();
                let path = parsed.path();
                prop_assert!(path.starts_with("/api/v1/"), "{uri}");
                prop_assert_eq!(path.split('/').count() - 1, steps, "{}", uri);
                prop_assert!(!path.split('/').any(|step| step == "." || step == ".."), "{uri}");
            }
        }
    }
}
