//! Error answers, in the words of every vendor.

use musher_testkit::model::{ModelServer, Usage};
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::talk::Talk;
use crate::wire::Answer;

/// What a client tells errors apart by.
fn sort(dialect: Dialect, answer: &Answer) -> Value {
    let error = &answer.json()["error"];
    assert!(!error["message"].as_str().unwrap().is_empty());
    match dialect {
        Dialect::Messages => error["type"].clone(),
        Dialect::Responses | Dialect::Chat => error["code"].clone(),
        Dialect::Gemini | Dialect::GeminiArray => error["status"].clone(),
    }
}

#[tokio::test]
async fn every_trouble_has_the_status_and_the_name_that_its_vendor_gives_it() {
    let server = ModelServer::start().await.unwrap();
    let cases = [
        ("err", [(529, "overloaded_error"), (503, "server_is_overloaded"), (503, "UNAVAILABLE")]),
        ("err status=500", [(500, "api_error"), (500, "server_error"), (500, "INTERNAL")]),
        (
            "err status=504",
            [(504, "timeout_error"), (504, "server_error"), (504, "DEADLINE_EXCEEDED")],
        ),
        (
            "rate",
            [(429, "rate_limit_error"), (429, "rate_limit_exceeded"), (429, "RESOURCE_EXHAUSTED")],
        ),
        (
            "limit",
            [(429, "rate_limit_error"), (429, "rate_limit_exceeded"), (429, "RESOURCE_EXHAUSTED")],
        ),
        (
            "credit",
            [
                (400, "invalid_request_error"),
                (429, "insufficient_quota"),
                (429, "RESOURCE_EXHAUSTED"),
            ],
        ),
        (
            "auth",
            [(401, "authentication_error"), (401, "invalid_api_key"), (400, "INVALID_ARGUMENT")],
        ),
        (
            "forbidden",
            [
                (403, "permission_error"),
                (403, "unsupported_country_region_territory"),
                (403, "PERMISSION_DENIED"),
            ],
        ),
        (
            "ctxfull",
            [
                (400, "invalid_request_error"),
                (400, "context_length_exceeded"),
                (400, "INVALID_ARGUMENT"),
            ],
        ),
        ("nomodel", [(404, "not_found_error"), (404, "model_not_found"), (404, "NOT_FOUND")]),
    ];
    for (scenario, expected) in cases {
        for talk in Talk::all(&server, &format!("[[scn:{scenario} n=0]]")) {
            let answer = talk.post().await;
            let (status, name) = match talk.dialect {
                Dialect::Messages => expected[0],
                Dialect::Responses | Dialect::Chat => expected[1],
                Dialect::Gemini | Dialect::GeminiArray => expected[2],
            };
            assert_eq!(answer.status, status, "{scenario}: {}", talk.name());
            assert_eq!(sort(talk.dialect, &answer), name, "{scenario}: {}", talk.name());
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
    }
    assert_eq!(server.ledger().told(), Usage::default());
}

#[tokio::test]
async fn errors_come_n_times_on_every_wire_and_say_when_to_try_again() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:rate n=2 retry_after=3 retry_after_ms=2500]]") {
        server.reset();
        for _ in 0..2 {
            let answer = talk.post().await;
            assert_eq!(answer.status, 429, "{}", talk.name());
            if matches!(talk.dialect, Dialect::Gemini | Dialect::GeminiArray) {
                let body = answer.json();
                let details = body["error"]["details"].as_array().unwrap();
                let delays = details.iter().filter_map(|detail| detail["retryDelay"].as_str());
                assert_eq!(delays.collect::<Vec<_>>(), ["2.500s"]);
                assert_eq!(answer.header("retry-after"), None);
            } else {
                assert_eq!(answer.header("retry-after"), Some("3"));
                assert_eq!(answer.header("retry-after-ms"), Some("2500"));
            }
        }
        assert_eq!(talk.hear().await.text, "All is well again.", "{}", talk.name());
    }
}

#[tokio::test]
async fn a_key_is_needed_and_a_wrong_one_is_refused() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:text]]") {
        let (header, wrong) = match talk.dialect {
            Dialect::Messages => ("x-api-key", "wrong-key"),
            Dialect::Responses | Dialect::Chat => ("authorization", "Bearer wrong-key"),
            Dialect::Gemini | Dialect::GeminiArray => ("x-goog-api-key", "wrong-key"),
        };
        let missing = talk.client.without(header).post(&talk.body).await;
        let refused = talk.client.with(header, wrong).post(&talk.body).await;
        let statuses = match talk.dialect {
            Dialect::Messages | Dialect::Responses | Dialect::Chat => (401, 401),
            Dialect::Gemini | Dialect::GeminiArray => (403, 400),
        };
        assert_eq!((missing.status, refused.status), statuses, "{}", talk.name());
        if talk.dialect == Dialect::Gemini {
            let reason = &refused.json()["error"]["details"][0]["reason"];
            assert_eq!(reason, "API_KEY_INVALID");
        }
    }
    assert!(server.ledger().calls.iter().all(|call| call.scenario == "invalid"));
}

#[tokio::test]
async fn what_is_no_json_and_what_nobody_serves_is_refused() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:text]]") {
        let answer = talk.client.post(&json!("no object")).await;
        assert_eq!(answer.status, 400, "{}", talk.name());
        sort(talk.dialect, &answer);
    }
    let gemini = Dialect::Gemini.client(&server, true);
    let nothing = gemini.send("POST", "/v1beta/models/gemini-3:paint", "{}").await;
    assert_eq!((nothing.status, &nothing.json()["error"]["status"]), (404, &json!("NOT_FOUND")));
    let nothing = gemini.send("GET", "/v1beta/nothing", "").await;
    assert_eq!((nothing.status, &nothing.json()["error"]["code"]), (404, &json!(404)));
    let count = gemini.send("POST", "/v1beta/models/gemini-3:countTokens", "{}").await;
    assert_eq!(count.status, 200);
}

#[tokio::test]
async fn a_scenario_or_a_quirk_that_nobody_wrote_is_named() {
    let server = ModelServer::start().await.unwrap();
    for (prompt, words) in [("[[scn:dance]]", "`dance`"), ("[[scn:text quirk=crlf,odd]]", "`odd`")]
    {
        for talk in Talk::all(&server, prompt) {
            let answer = talk.post().await;
            assert_eq!(answer.status, 400, "{}", talk.name());
            assert!(answer.json()["error"]["message"].as_str().unwrap().contains(words));
        }
    }
}

#[tokio::test]
async fn a_page_for_people_is_no_json() {
    let server = ModelServer::start().await.unwrap();
    for (prompt, status) in [("[[scn:html]]", 200), ("[[scn:html status=502]]", 502)] {
        for talk in Talk::all(&server, prompt) {
            server.reset();
            let answer = talk.post().await;
            assert_eq!(answer.status, status, "{}", talk.name());
            assert!(answer.body.starts_with(b"<!DOCTYPE html>"));
            assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
            assert_eq!(talk.hear().await.text, "All is well again.", "{}", talk.name());
        }
    }
    for talk in Talk::all(&server, "[[scn:garbage]]") {
        server.reset();
        assert!(talk.post().await.body.starts_with(b"<html>"));
        talk.hear().await;
    }
}
