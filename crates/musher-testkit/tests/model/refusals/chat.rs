//! What the Chat Completions wire refuses.

use super::Change::{Drop, Insert, Set};
use super::{Case, refuse};
use crate::dialect::Dialect;

/// The messages are a system text, the prompt, the calls and two results.
const CASES: &[Case] = &[
    ("no result", Drop("/messages/4"), "did not have response messages: call_s0_1_"),
    (
        "a text between",
        Insert("/messages/3", r#"{"role": "user", "content": "hi"}"#),
        "did not have response messages",
    ),
    ("no calls", Drop("/messages/2"), "must be a response to a preceeding message"),
    (
        "the result of another call",
        Set("/messages/4/tool_call_id", "\"call_x\""),
        "not found in 'tool_calls'",
    ),
    ("a null id", Set("/messages/2/tool_calls/0/id", "null"), "expected a string, but got null"),
    (
        "no id",
        Drop("/messages/2/tool_calls/0/id"),
        "Missing required parameter: 'messages[2].tool_calls[0].id'",
    ),
    ("a long id", Set("/messages/2/tool_calls/0/id", LONG), "maximum length 40"),
    ("no type", Drop("/messages/2/tool_calls/0/type"), "tool_calls[0].type"),
    (
        "arguments as an object",
        Set("/messages/2/tool_calls/0/function/arguments", "{}"),
        "expected a string, but got an object",
    ),
    (
        "no arguments",
        Drop("/messages/2/tool_calls/0/function/arguments"),
        "tool_calls[0].function.arguments",
    ),
    ("no calls in the list of calls", Set("/messages/2/tool_calls", "[]"), "empty array"),
    ("a null result", Set("/messages/3/content", "null"), "expected a string, but got null"),
    ("a null prompt", Set("/messages/1/content", "null"), "expected a string, but got null"),
    (
        "a null id of a result",
        Set("/messages/3/tool_call_id", "null"),
        "expected a string, but got null",
    ),
    ("no id of a result", Drop("/messages/3/tool_call_id"), "'messages[3].tool_call_id'"),
    ("an unknown role", Set("/messages/1/role", "\"model\""), "Invalid value: 'model'"),
    ("no messages", Set("/messages", "[]"), "'messages'"),
    ("no model", Drop("/model"), "model parameter"),
    ("a tool without a name", Drop("/tools/0/function/name"), "'tools[0].function.name'"),
    ("a tool without a type", Drop("/tools/0/type"), "'tools[0].type'"),
    (
        "options of a stream without a stream",
        Set("/stream_options", "{\"include_usage\": true}"),
        "only allowed when 'stream'",
    ),
];

const LONG: &str = "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"";

#[tokio::test]
async fn chat_refuses_what_its_vendor_refuses() {
    let (last, others) = CASES.split_last().unwrap();
    refuse(Dialect::Chat, others).await;
    let server = musher_testkit::model::ModelServer::start().await.unwrap();
    let mut plain = crate::talk::Talk::new(&server, Dialect::Chat, false, "[[scn:text]]");
    last.1.apply(&mut plain.body);
    let answer = plain.post().await;
    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains(last.2));
}
