//! The oddities of compatible servers, and the liberties of the stream format.

use musher_testkit::model::{ModelServer, Usage};
use serde_json::{Value, json};

use crate::dialect::{Dialect, Said, events};
use crate::talk::Talk;

fn chat(server: &ModelServer, scenario: &str, quirk: &str) -> Talk {
    Talk::new(server, Dialect::Chat, true, &format!("[[scn:{scenario} quirk={quirk}]]"))
}

/// Every piece of every call in a stream, as it came.
async fn pieces(talk: &Talk) -> Vec<Value> {
    let answer = talk.post().await;
    let mut pieces = Vec::new();
    for event in events(&answer.body) {
        let delta = &event["choices"][0]["delta"]["tool_calls"];
        pieces.extend(delta.as_array().into_iter().flatten().cloned());
    }
    assert!(!pieces.is_empty());
    pieces
}

#[tokio::test]
async fn an_index_is_missing_null_or_always_zero() {
    let server = ModelServer::start().await.unwrap();
    let cases =
        [("no-index", None), ("null-index", Some(Value::Null)), ("zero-index", Some(json!(0)))];
    for (quirk, index) in cases {
        let mut talk = chat(&server, "par n=3", quirk);
        assert!(pieces(&talk).await.iter().all(|piece| piece.get("index") == index.as_ref()));
        let said = talk.go_on().await;
        assert_eq!(said.calls.len(), 3, "{quirk}");
        assert_eq!(talk.hear().await.text, "Done.", "{quirk}");
    }
}

#[tokio::test]
async fn an_id_is_missing_null_or_empty() {
    let server = ModelServer::start().await.unwrap();
    let cases = [("no-id", None), ("null-id", Some(Value::Null)), ("empty-id", Some(json!("")))];
    for (quirk, id) in cases {
        for stream in [true, false] {
            let prompt = format!("[[scn:seq n=2 quirk={quirk}]]");
            let mut talk = Talk::new(&server, Dialect::Chat, stream, &prompt);
            if stream {
                assert_eq!(pieces(&talk).await[0].get("id"), id.as_ref(), "{quirk}");
            } else {
                let message = talk.post().await.json()["choices"][0]["message"].take();
                assert_eq!(message["tool_calls"][0].get("id"), id.as_ref(), "{quirk}");
            }
            for _ in 0..2 {
                assert_eq!(talk.go_on().await.calls.len(), 1);
            }
            assert_eq!(talk.hear().await.text, "Done.", "{quirk}");
        }
    }
}

#[tokio::test]
async fn arguments_are_an_object_whole_empty_or_missing() {
    let server = ModelServer::start().await.unwrap();
    for stream in [true, false] {
        let talk = |quirk: &str| {
            let prompt = format!("[[scn:bash cmd=\"echo a long enough command\" quirk={quirk}]]");
            Talk::new(&server, Dialect::Chat, stream, &prompt)
        };
        for quirk in ["args-object", "args-whole"] {
            let call = talk(quirk).hear().await.calls[0].clone();
            assert_eq!(call.input(), json!({"command": "echo a long enough command"}), "{quirk}");
        }
        for quirk in ["args-empty", "args-missing"] {
            assert_eq!(talk(quirk).hear().await.calls[0].arguments, "{}", "{quirk}");
        }
    }
    let count = async |quirk: &str| pieces(&chat(&server, "bash", quirk)).await;
    assert!(count("no-done").await.len() > 2);
    let whole = count("args-whole").await;
    assert!(whole.len() == 1 && whole[0]["function"]["arguments"].is_string());
    assert!(count("args-object").await[0]["function"]["arguments"].is_object());
    assert_eq!(count("args-empty").await[0]["function"]["arguments"], "");
    assert_eq!(count("args-missing").await[0]["function"].get("arguments"), None);
}

#[tokio::test]
async fn a_name_is_repeated_and_a_finish_reason_lies_or_is_missing() {
    let server = ModelServer::start().await.unwrap();
    let repeated = pieces(&chat(&server, "bash", "name-repeated")).await;
    assert!(repeated.iter().all(|piece| piece["function"]["name"] == "run_command"));
    for (quirk, finish) in [("finish-stop", "stop"), ("no-finish", "")] {
        let said = chat(&server, "bash", quirk).hear().await;
        assert_eq!((said.finish.as_str(), said.calls.len()), (finish, 1));
    }
}

#[tokio::test]
async fn a_thought_has_three_places() {
    let server = ModelServer::start().await.unwrap();
    for (quirk, place) in [("", "reasoning_content"), ("reasoning", "reasoning")] {
        for stream in [true, false] {
            let prompt = format!("[[scn:think about=Hm say=Aha quirk={quirk}]]");
            let talk = Talk::new(&server, Dialect::Chat, stream, &prompt);
            let said = talk.hear().await;
            assert_eq!((said.thought.as_str(), said.text.as_str()), ("Hm", "Aha"), "{quirk}");
            let body = talk.post().await.body;
            assert!(String::from_utf8_lossy(&body).contains(&format!("\"{place}\":\"")));
        }
    }
    for stream in [true, false] {
        let prompt = "[[scn:think about=Hm say=Aha quirk=think-tags]]";
        let said = Talk::new(&server, Dialect::Chat, stream, prompt).hear().await;
        assert_eq!((said.thought.as_str(), said.text.as_str()), ("", "<think>Hm</think>Aha"));
    }
    let prompt = "[[scn:think about=Hm say=Aha quirk=raw-reasoning]]";
    let mut talk = Talk::new(&server, Dialect::Responses, true, prompt);
    assert_eq!(talk.go_on().await.thought, "Hm");
    assert!(
        String::from_utf8_lossy(&talk.post().await.body).contains("response.reasoning_text.delta")
    );
}

#[tokio::test]
async fn usage_comes_always_at_the_end_unasked_or_never_and_the_ledger_knows() {
    let server = ModelServer::start().await.unwrap();
    let hear = async |quirk: &str, asked: bool| -> (Said, usize) {
        server.reset();
        let mut talk = chat(&server, "text in=5 out=6 cr=0 cw=0", quirk);
        if !asked {
            talk.body.as_object_mut().unwrap().remove("stream_options");
        }
        let answer = talk.post().await;
        let told = events(&answer.body).iter().filter(|event| event["usage"].is_object()).count();
        let said = talk.dialect.read(&answer, true);
        assert_eq!(server.ledger().total(), said.usage.unwrap_or_default(), "{quirk}");
        (said, told)
    };
    let all = Usage { input: 5, output: 6, ..Usage::default() };
    for (quirk, asked) in
        [("", true), ("usage-last", true), ("usage-unasked", false), ("usage-last", false)]
    {
        let (said, told) = hear(quirk, asked).await;
        assert_eq!((said.usage, told), (Some(all), 1), "{quirk}");
    }
    let (said, told) = hear("usage-every", false).await;
    assert!(said.usage == Some(all) && told > 2);
    for (quirk, asked) in [("", false), ("usage-never", true)] {
        assert_eq!(hear(quirk, asked).await.0.usage, None, "{quirk}");
    }
    let nulls = Talk::new(&server, Dialect::Messages, true, "[[scn:text quirk=usage-nulls]]");
    assert_eq!(nulls.hear().await.usage, Some(Usage::MAIN));
}

#[tokio::test]
async fn stream_options_are_refused_by_some() {
    let server = ModelServer::start().await.unwrap();
    let mut talk = chat(&server, "text", "no-stream-options,usage-unasked");
    let answer = talk.post().await;
    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("stream_options"));
    talk.body.as_object_mut().unwrap().remove("stream_options");
    assert_eq!(talk.hear().await.usage, Some(Usage::MAIN));
}

#[tokio::test]
async fn an_error_comes_inside_a_good_answer() {
    let server = ModelServer::start().await.unwrap();
    let said = chat(&server, "rate n=0", "error-200").hear().await;
    assert_eq!(said.error["code"], "rate_limit_exceeded");
    assert_eq!(server.ledger().calls[0].status, 200);
    assert!(!server.ledger().calls[0].counted);
}

#[tokio::test]
async fn some_ask_for_no_key_and_some_send_no_end_mark() {
    let server = ModelServer::start().await.unwrap();
    let talk = chat(&server, "text", "keyless");
    assert_eq!(talk.client.without("authorization").post(&talk.body).await.status, 200);
    for (quirk, done) in [("", true), ("no-done", false)] {
        let body = chat(&server, "text", quirk).post().await.body;
        assert_eq!(String::from_utf8_lossy(&body).contains("[DONE]"), done);
    }
}

#[tokio::test]
async fn events_may_be_written_in_many_ways() {
    let server = ModelServer::start().await.unwrap();
    for quirk in [
        "crlf",
        "comments",
        "multiline",
        "tight",
        "bom",
        "unknown",
        "crlf,comments,multiline,tight,bom,unknown",
    ] {
        for talk in Talk::streaming(
            &server,
            &format!("[[scn:bash cmd=ls think=Hm first=So quirk={quirk}]]"),
        ) {
            let said = talk.hear().await;
            assert_eq!(
                (said.text.as_str(), said.thought.as_str()),
                ("So", "Hm"),
                "{quirk}: {}",
                talk.name()
            );
            assert_eq!(said.calls[0].input()["command"], "ls", "{quirk}: {}", talk.name());
        }
    }
    let raw = async |quirk: &str| chat(&server, "text", quirk).post().await.body;
    assert!(raw("bom").await.starts_with("\u{feff}data".as_bytes()));
    assert!(raw("comments").await.starts_with(b": still at work\n\n"));
    assert!(raw("multiline").await.starts_with(b"data: {\ndata: "));
    assert!(raw("tight,crlf").await.ends_with(b"data:[DONE]\r\n\r\n"));
}

#[tokio::test]
async fn a_signature_may_stand_alone() {
    let server = ModelServer::start().await.unwrap();
    for dialect in [Dialect::Gemini, Dialect::GeminiArray] {
        for stream in [true, false] {
            let prompt = "[[scn:think quirk=bare-signature]]";
            let mut talk = Talk::new(&server, dialect, stream, prompt);
            let said = talk.go_on().await;
            let parts = said.items[0]["parts"].as_array().unwrap();
            let last = parts.last().unwrap().as_object().unwrap();
            assert_eq!(last.keys().collect::<Vec<_>>(), ["thoughtSignature"]);
            talk.dialect.prompt(&mut talk.body, "go on");
            talk.hear().await;
        }
    }
}
