//! Streams that do not end as they should, in every wire format.

use std::time::Duration;

use musher_testkit::model::{ModelServer, Usage};
use tokio::io::AsyncReadExt as _;

use crate::dialect::{Dialect, events};
use crate::talk::Talk;

/// Whether the stream came to its own end.
fn finished(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    ["message_stop", "response.completed", "[DONE]", "finishReason"]
        .iter()
        .any(|end| text.contains(end))
}

#[tokio::test]
async fn a_stream_breaks_off_and_is_not_counted() {
    let server = ModelServer::start().await.unwrap();
    for (scenario, whole) in [("cut", false), ("eof", true), ("half", true)] {
        for talk in Talk::streaming(&server, &format!("[[scn:{scenario}]]")) {
            server.reset();
            let answer = talk.post().await;
            let name = talk.name();
            assert_eq!((answer.status, answer.whole), (200, whole), "{scenario} {name}");
            assert!(!finished(&answer.body), "{scenario} {name}");
            assert!(String::from_utf8_lossy(&answer.body).contains("This answer"));
            assert_eq!(server.ledger().total(), Usage::default());
            assert_eq!(talk.hear().await.text, "All is well again.", "{scenario} {name}");
        }
    }
}

#[tokio::test]
async fn half_an_event_is_all_that_comes_after_the_last_whole_one() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::streaming(&server, "[[scn:half n=0]]") {
        let answer = talk.post().await;
        if talk.dialect == Dialect::GeminiArray {
            assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).is_err());
            continue;
        }
        assert!(!answer.body.ends_with(b"\n\n") && !answer.body.ends_with(b"\r\n\r\n"));
        let text = talk.dialect.read(&answer, true).text;
        assert!(
            "This answer will not be finished, whatever".starts_with(&text) && !text.is_empty()
        );
        assert!(events(&answer.body).iter().all(serde_json::Value::is_object));
    }
}

#[tokio::test]
async fn half_a_message_comes_where_nothing_is_streamed() {
    let server = ModelServer::start().await.unwrap();
    for (scenario, whole) in [("cut", false), ("eof", true), ("half", true)] {
        for dialect in Dialect::ALL {
            server.reset();
            let talk = Talk::new(&server, dialect, false, &format!("[[scn:{scenario}]]"));
            let answer = talk.post().await;
            assert_eq!((answer.status, answer.whole), (200, whole), "{scenario} {}", talk.name());
            assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).is_err());
        }
    }
}

#[tokio::test]
async fn an_error_comes_after_a_stream_has_begun() {
    let server = ModelServer::start().await.unwrap();
    let cases = [
        (
            "overloaded",
            ["overloaded_error", "server_is_overloaded", "UNAVAILABLE"],
            [529, 503, 503],
        ),
        ("server", ["api_error", "server_error", "INTERNAL"], [500, 500, 500]),
        (
            "rate",
            ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"],
            [429, 429, 429],
        ),
        (
            "context",
            ["invalid_request_error", "context_length_exceeded", "INVALID_ARGUMENT"],
            [400; 3],
        ),
    ];
    for (kind, names, statuses) in cases {
        for talk in Talk::all(&server, &format!("[[scn:inline_err kind={kind}]]")) {
            server.reset();
            let (vendor, key) = match talk.dialect {
                Dialect::Messages => (0, "type"),
                Dialect::Responses | Dialect::Chat => (1, "code"),
                Dialect::Gemini | Dialect::GeminiArray => (2, "status"),
            };
            let answer = talk.post().await;
            if talk.stream {
                assert_eq!((answer.status, answer.whole), (200, true));
                let said = talk.dialect.read(&answer, true);
                assert!(said.text.starts_with("This answer"));
                assert_eq!(said.error[key], names[vendor], "{kind}: {}", talk.name());
                assert!(!finished(&answer.body));
            } else {
                assert_eq!(answer.status, statuses[vendor], "{kind}: {}", talk.name());
                assert_eq!(answer.json()["error"][key], names[vendor]);
            }
            assert_eq!(talk.hear().await.text, "All is well again.", "{}", talk.name());
        }
    }
}

#[tokio::test]
async fn a_failed_response_tells_its_error_in_three_ways() {
    let server = ModelServer::start().await.unwrap();
    for quirk in ["", "quirk=failed-response", "quirk=nested-error"] {
        let prompt = format!("[[scn:inline_err kind=context {quirk}]]");
        let talk = Talk::new(&server, Dialect::Responses, true, &prompt);
        assert_eq!(talk.hear().await.error["code"], "context_length_exceeded", "{quirk}");
    }
}

#[tokio::test]
async fn a_stream_falls_silent_and_a_request_is_never_answered() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::streaming(&server, "[[scn:hang_mid]]") {
        let mut stream = talk.client.begin(&talk.body).await;
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains("whatever") {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "{}: the stream ended", talk.name());
            seen.extend_from_slice(&buffer[..count]);
        }
        let more = tokio::time::timeout(Duration::from_millis(150), async {
            while stream.read(&mut [0; 4096]).await.unwrap() > 0 {}
        });
        assert!(more.await.is_err(), "{}: the stream ended", talk.name());
    }
    for talk in Talk::all(&server, "[[scn:hang]]") {
        let body = talk.body.to_string();
        let silent = talk.client.silent(&body);
        let quiet = tokio::time::timeout(Duration::from_millis(50), silent).await;
        assert!(quiet.is_err(), "{}: something was answered", talk.name());
    }
}

#[tokio::test]
async fn a_slow_stream_comes_drop_by_drop() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::streaming(&server, "[[scn:drip say=ab ms=0]]") {
        assert_eq!(talk.hear().await.text, "ab", "{}", talk.name());
    }
    for talk in Talk::streaming(&server, "[[scn:slow n=3 ms=10]]") {
        let begun = std::time::Instant::now();
        assert_eq!(talk.hear().await.text, "chunk 1 chunk 2 chunk 3 ", "{}", talk.name());
        assert!(begun.elapsed() >= Duration::from_millis(30), "{}", talk.name());
    }
}
