//! What the Messages wire refuses.

use serde_json::json;

use super::Change::{Copy, Drop, Insert, Keep, Set, Split};
use super::{Case, refuse};
use crate::dialect::Dialect;

/// The messages are the prompt, a thought with two calls, and two results.
const CASES: &[Case] = &[
    ("no results", Drop("/messages/2"), "without `tool_result`"),
    ("one result", Drop("/messages/2/content/1"), "without `tool_result`"),
    (
        "text before the results",
        Insert("/messages/2/content/0", r#"{"type": "text", "text": "hi"}"#),
        "without `tool_result`",
    ),
    (
        "results in two messages",
        Split(
            "/messages/2/content/1",
            "/messages",
            |result| json!({"role": "user", "content": [result]}),
        ),
        "without `tool_result`",
    ),
    ("no call", Keep("/messages/1/content", 1), "unexpected `tool_use_id`"),
    ("a null id", Set("/messages/1/content/1/id", "null"), "valid string"),
    ("a bad id", Set("/messages/1/content/1/id", "\"a b\""), "should match pattern"),
    (
        "the same id twice",
        Copy("/messages/1/content/1/id", "/messages/1/content/2/id"),
        "must be unique",
    ),
    ("arguments as text", Set("/messages/1/content/1/input", "\"{}\""), "valid dictionary"),
    ("no thought", Drop("/messages/1/content/0"), "Expected `thinking`"),
    ("a changed thought", Set("/messages/1/content/0/thinking", "\"Ha\""), "Invalid `signature`"),
    ("no signature", Drop("/messages/1/content/0/signature"), "Invalid `signature`"),
    ("an unknown role", Set("/messages/0/role", "\"tool\""), "should be 'user' or 'assistant'"),
    ("the model first", Drop("/messages/0"), "first message"),
    ("no messages", Set("/messages", "[]"), "at least one message"),
    ("no model", Drop("/model"), "model: Field required"),
    ("no limit", Drop("/max_tokens"), "max_tokens: Field required"),
    ("no schema", Drop("/tools/0/input_schema"), "input_schema: Field required"),
    ("a bad name", Set("/tools/0/name", "\"a b\""), "should match pattern"),
];

#[tokio::test]
async fn messages_refuses_what_its_vendor_refuses() {
    refuse(Dialect::Messages, CASES).await;
}
