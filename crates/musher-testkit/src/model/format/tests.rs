//! No request makes the server panic, whatever is in it.

use axum::http::HeaderMap;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::Format;
use crate::model::anthropic::Messages;
use crate::model::asked::{Asked, BodyState};
use crate::model::chat::Chat;
use crate::model::desk::Desk;
use crate::model::gemini::Gemini;
use crate::model::reply::Answer;
use crate::model::responses::Responses;
use crate::model::scenario;

/// Words that mean something to one of the formats, so that many requests get past the first look.
const WORDS: &[&str] = &[
    "[[scn:bash think=a]]",
    "[[scn:call args=x quirk=no-id]]",
    "[[scn:coder]]",
    "[[scn:think]]",
    "arguments",
    "assistant",
    "call_id",
    "call_s0_0_0at",
    "content",
    "contents",
    "encrypted_content",
    "function",
    "functionCall",
    "functionDeclarations",
    "functionResponse",
    "function_call",
    "function_call_output",
    "id",
    "include",
    "input",
    "input_schema",
    "messages",
    "model",
    "name",
    "parameters",
    "parts",
    "properties",
    "reasoning",
    "response",
    "role",
    "signature",
    "stream",
    "summary",
    "system",
    "text",
    "thinking",
    "thoughtSignature",
    "tool",
    "tool_call_id",
    "tool_calls",
    "tool_result",
    "tool_use",
    "tool_use_id",
    "tools",
    "type",
    "user",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => proptest::sample::select(WORDS).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Takes a request as the server does, up to the bytes of the answer.
fn survive<F: Format>(path: &str, body: &Value) {
    let asked = Asked {
        path: path.to_owned(),
        query: String::new(),
        headers: HeaderMap::new(),
        body: body.clone(),
        state: BodyState::Read,
    };
    let talk = F::conversation(&asked);
    let call = talk.call();
    assert_eq!(call.path, path);
    if let Err(refusal) = F::check(&asked) {
        assert!((400..500).contains(&refusal.status));
    }
    if let Answer::Reply(reply) = scenario::answer(&talk, &Desk::default()) {
        assert!(F::plain(&asked, &talk, &reply).is_object());
        assert!(!F::stream(&asked, &talk, &reply).is_empty());
    }
}

proptest! {
    #[test]
    fn no_request_makes_a_wire_format_panic(body in json()) {
        survive::<Messages>("/v1/messages", &body);
        survive::<Responses>("/v1/responses", &body);
        survive::<Chat>("/v1/chat/completions", &body);
        survive::<Gemini>("/v1beta/models/gemini-3:streamGenerateContent", &body);
    }
}
