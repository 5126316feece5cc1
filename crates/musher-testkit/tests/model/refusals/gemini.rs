//! What the Gemini wire refuses.

use musher_testkit::model::ModelServer;
use serde_json::json;

use super::Change::{Copy, Drop, Set, Split};
use super::{Case, refuse};
use crate::dialect::Dialect;
use crate::talk::Talk;

/// The contents are the prompt, a thought with two calls of which the first is signed, and two responses.
const CASES: &[Case] = &[
    ("no responses", Drop("/contents/2"), "number of function response parts"),
    ("one response", Drop("/contents/2/parts/1"), "number of function response parts"),
    (
        "responses in two contents",
        Split("/contents/2/parts/1", "/contents", |part| json!({"role": "user", "parts": [part]})),
        "number of function response parts",
    ),
    ("no calls", Drop("/contents/1"), "immediately after a function call turn"),
    ("calls without a prompt", Drop("/contents/0"), "immediately after a user turn"),
    (
        "no signature",
        Drop("/contents/1/parts/1/thoughtSignature"),
        "missing a thought_signature in functionCall parts",
    ),
    (
        "a changed signature",
        Set("/contents/1/parts/1/thoughtSignature", "\"gAAAforged\""),
        "signature is not valid",
    ),
    (
        "a signature on another part",
        Copy("/contents/1/parts/1/thoughtSignature", "/contents/1/parts/0/thoughtSignature"),
        "signature is not valid",
    ),
    (
        "the id of another call",
        Set("/contents/2/parts/0/functionResponse/id", "\"x\""),
        "does not match any function call",
    ),
    (
        "the name of another call",
        Set("/contents/2/parts/0/functionResponse/name", "\"finish\""),
        "does not match any function call",
    ),
    ("no name", Drop("/contents/2/parts/0/functionResponse/name"), "Name cannot be empty"),
    (
        "a text as response",
        Set("/contents/2/parts/0/functionResponse/response", "\"x\""),
        "google.protobuf.Struct",
    ),
    ("an unknown role", Set("/contents/1/role", "\"assistant\""), "valid role: user, model"),
    ("an empty part", Set("/contents/0/parts", "[{}]"), "required oneof field 'data'"),
    ("no parts", Set("/contents/0/parts", "[]"), "must not be empty"),
    ("no contents", Set("/contents", "[]"), "contents is not specified"),
    (
        "a word that the schema lacks",
        Set("/tools/0/functionDeclarations/0/parameters/additionalProperties", "false"),
        "Unknown name \"additionalProperties\"",
    ),
    (
        "a word that the schema of a property lacks",
        Set("/tools/0/functionDeclarations/0/parameters/properties/command/const", "1"),
        "Unknown name \"const\"",
    ),
    (
        "two types",
        Set("/tools/0/functionDeclarations/0/parameters/type", "[\"object\", \"null\"]"),
        "Proto field is not repeating",
    ),
    ("a bad name", Set("/tools/0/functionDeclarations/0/name", "\"1 b\""), "Invalid function name"),
];

#[tokio::test]
async fn gemini_refuses_what_its_vendor_refuses() {
    refuse(Dialect::Gemini, CASES).await;
    refuse(Dialect::GeminiArray, CASES).await;
}

#[tokio::test]
async fn an_old_model_and_an_excuse_need_no_signature() {
    let server = ModelServer::start().await.unwrap();
    let mut talk = Talk::new(&server, Dialect::Gemini, false, "[[scn:bash]]");
    talk.go_on().await;
    let excuse = json!("skip_thought_signature_validator");
    talk.body["contents"][1]["parts"][0]["thoughtSignature"] = excuse;
    talk.hear().await;
    Drop("/contents/1/parts/0/thoughtSignature").apply(&mut talk.body);
    assert_eq!(talk.post().await.status, 400);
    let old = "/v1beta/models/gemini-2.5-pro:generateContent";
    assert_eq!(talk.client.send("POST", old, &talk.body.to_string()).await.status, 200);
}

#[tokio::test]
async fn a_full_schema_has_a_place_of_its_own() {
    let server = ModelServer::start().await.unwrap();
    let mut talk = Talk::new(&server, Dialect::Gemini, true, "[[scn:bash cmd=ls]]");
    let function = talk.body["tools"][0]["functionDeclarations"][0].as_object_mut().unwrap();
    let mut schema = function.remove("parameters").unwrap();
    schema["additionalProperties"] = json!(false);
    function.insert("parametersJsonSchema".to_owned(), schema);
    assert_eq!(talk.hear().await.calls[0].input(), json!({"command": "ls"}));
}
