//! What the Responses wire refuses.

use musher_testkit::model::ModelServer;

use super::Change::{Copy, Drop, Keep, Set};
use super::{Case, refuse};
use crate::dialect::Dialect;
use crate::talk::Talk;

/// The items are the prompt, a reasoning, two calls and two outputs.
const CASES: &[Case] = &[
    ("no output", Drop("/input/5"), "No tool output found for function call call_s0_1_"),
    (
        "no call",
        Drop("/input/3"),
        "No tool call found for function call output with call_id call_s0_1_",
    ),
    ("no reasoning", Drop("/input/1"), "without its required 'reasoning' item: 'rs_"),
    ("reasoning alone", Keep("/input", 2), "without its required following item"),
    ("nothing for the vendor", Drop("/input/1/encrypted_content"), "Items are not persisted"),
    (
        "something else for the vendor",
        Set("/input/1/encrypted_content", "\"gAAAforged\""),
        "could not be verified",
    ),
    ("no summary", Drop("/input/1/summary"), "'input[1].summary'"),
    ("a null id", Set("/input/2/call_id", "null"), "expected a string, but got null"),
    ("an empty id", Set("/input/2/call_id", "\"\""), "empty string"),
    ("a long id", Set("/input/2/call_id", LONG), "string too long"),
    ("the wrong id", Copy("/input/2/call_id", "/input/2/id"), "begins with 'fc'"),
    (
        "arguments as an object",
        Set("/input/2/arguments", "{}"),
        "expected a string, but got an object",
    ),
    ("no name", Drop("/input/2/name"), "'input[2].name'"),
    ("a number as output", Set("/input/4/output", "1"), "expected a string"),
    ("no output in an output", Drop("/input/4/output"), "'input[4].output'"),
    ("an unknown role", Set("/input/0/role", "\"tool\""), "Invalid value: 'tool'"),
    (
        "the wrong kind of text",
        Set("/input/0/content", r#"[{"type": "text", "text": "x"}]"#),
        "Invalid value: 'text'",
    ),
    ("no input", Set("/input", "[]"), "'input'"),
    ("no model", Drop("/model"), "'model'"),
    (
        "a response that nobody stored",
        Set("/previous_response_id", "\"resp_1\""),
        "Previous response with id 'resp_1' not found",
    ),
    ("a tool without a name", Drop("/tools/0/name"), "'tools[0].name'"),
    ("a tool with a bad name", Set("/tools/0/name", "\"a b\""), "does not match pattern"),
];

const LONG: &str = "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"";

#[tokio::test]
async fn responses_refuses_what_its_vendor_refuses() {
    refuse(Dialect::Responses, CASES).await;
}

#[tokio::test]
async fn a_reasoning_is_missed_where_the_ids_are_gone_too() {
    let server = ModelServer::start().await.unwrap();
    let mut talk = Talk::new(&server, Dialect::Responses, true, "[[scn:bash think=Hm]]");
    talk.go_on().await;
    for item in talk.body["input"].as_array_mut().unwrap() {
        item.as_object_mut().unwrap().remove("id");
    }
    assert_eq!(talk.hear().await.text, "Done.");
    talk.body["input"].as_array_mut().unwrap().remove(1);
    let answer = talk.post().await;
    let message = answer.json()["error"]["message"].take();
    assert!(message.as_str().unwrap().contains("without its required 'reasoning' item"));
}
