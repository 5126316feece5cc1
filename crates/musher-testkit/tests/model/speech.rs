//! Answers without tools, in every wire format.

use musher_testkit::model::{ModelServer, Usage};
use serde_json::json;

use crate::dialect::Dialect;
use crate::talk::Talk;

/// What of these tokens a vendor can tell apart.
fn told(dialect: Dialect, usage: Usage) -> Usage {
    let written = usage.cache_write_5m + usage.cache_write_1h;
    match dialect {
        Dialect::Messages => usage,
        Dialect::Responses | Dialect::Chat => {
            Usage { cache_write_5m: written, cache_write_1h: 0, ..usage }
        }
        Dialect::Gemini | Dialect::GeminiArray => {
            let input = usage.input + written;
            Usage { input, cache_write_5m: 0, cache_write_1h: 0, ..usage }
        }
    }
}

#[tokio::test]
async fn every_wire_says_the_same_text_and_counts_the_same_tokens() {
    let server = ModelServer::start().await.unwrap();
    let usage = Usage { input: 7, cache_read: 30, cache_write_5m: 4, cache_write_1h: 5, output: 9 };
    let prompt = "[[scn:text say=Hello_you in=7 cr=30 cw=4 cw1h=5 out=9]]";
    for talk in Talk::all(&server, prompt) {
        server.reset();
        let said = talk.hear().await;
        assert_eq!(said.text, "Hello you", "{}", talk.name());
        let told = told(talk.dialect, usage);
        assert_eq!(said.usage, Some(told), "{}", talk.name());
        assert_eq!(server.ledger().total(), told, "{}", talk.name());
        assert_eq!(server.prompts(), [prompt]);
    }
}

#[tokio::test]
async fn every_wire_ends_a_text_as_its_vendor_does() {
    let server = ModelServer::start().await.unwrap();
    let cases = [
        ("text", ["end_turn", "completed", "stop", "STOP"]),
        ("maxtok", ["max_tokens", "max_output_tokens", "length", "MAX_TOKENS"]),
        ("filter", ["refusal", "content_filter", "content_filter", "SAFETY"]),
        ("refusal", ["refusal", "completed", "stop", "PROHIBITED_CONTENT"]),
        ("ctxstop", ["model_context_window_exceeded", "failed", "length", "MAX_TOKENS"]),
        ("finish status=incomplete reason=SPII event=response.incomplete", ["SPII"; 4]),
        ("empty", ["end_turn", "completed", "stop", "STOP"]),
        ("pause", ["pause_turn", "completed", "stop", "STOP"]),
        ("bash", ["tool_use", "completed", "tool_calls", "STOP"]),
    ];
    for (scenario, finishes) in cases {
        for talk in Talk::all(&server, &format!("[[scn:{scenario}]]")) {
            let finish = match talk.dialect {
                Dialect::Messages => finishes[0],
                Dialect::Responses => finishes[1],
                Dialect::Chat => finishes[2],
                Dialect::Gemini | Dialect::GeminiArray => finishes[3],
            };
            assert_eq!(talk.hear().await.finish, finish, "{scenario}: {}", talk.name());
        }
    }
}

#[tokio::test]
async fn a_thought_is_told_counted_and_sealed() {
    let server = ModelServer::start().await.unwrap();
    for mut talk in Talk::all(&server, "[[scn:think about=Hm say=Aha thoughts=5 out=20]]") {
        let said = talk.go_on().await;
        assert_eq!((said.thought.as_str(), said.text.as_str()), ("Hm", "Aha"), "{}", talk.name());
        assert_eq!((said.thoughts, said.usage.unwrap().output), (5, 20), "{}", talk.name());
        talk.dialect.prompt(&mut talk.body, "[[scn:text]] go on");
        talk.hear().await;
        // Whatever seals the thought, a changed seal is noticed.
        let sealed = talk.body.to_string();
        let touched = sealed.replace("c2lnbmVk", "c2lnbmVl");
        if touched != sealed {
            let answer = talk.client.post(&serde_json::from_str(&touched).unwrap()).await;
            assert_eq!(answer.status, 400, "{}", talk.name());
        } else {
            assert_eq!(talk.dialect, Dialect::Chat);
        }
    }
}

#[tokio::test]
async fn a_hidden_thought_goes_back_as_it_came() {
    let server = ModelServer::start().await.unwrap();
    for mut talk in Talk::all(&server, "[[scn:think redacted=true say=Aha]]") {
        let said = talk.go_on().await;
        assert_eq!((said.thought.as_str(), said.text.as_str()), ("", "Aha"));
        talk.dialect.prompt(&mut talk.body, "go on");
        talk.hear().await;
    }
}

#[tokio::test]
async fn a_refusal_is_no_text_where_the_vendor_has_a_place_for_it() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:refusal say=No]]") {
        let said = talk.hear().await;
        let own_place = matches!(talk.dialect, Dialect::Responses | Dialect::Chat);
        let expected = if own_place { ("", "No") } else { ("No", "") };
        assert_eq!((said.text.as_str(), said.refusal.as_str()), expected, "{}", talk.name());
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_told_as_its_vendor_does() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:blocked]]") {
        let answer = talk.post().await;
        match talk.dialect {
            Dialect::Responses | Dialect::Chat => {
                assert_eq!(answer.status, 400);
                assert_eq!(answer.json()["error"]["code"], "invalid_prompt");
            }
            Dialect::Messages => {
                assert_eq!(talk.dialect.read(&answer, talk.stream).finish, "refusal");
            }
            Dialect::Gemini | Dialect::GeminiArray => {
                let said = talk.dialect.read(&answer, talk.stream);
                assert_eq!(said.finish, "PROHIBITED_CONTENT");
                assert!(!String::from_utf8_lossy(&answer.body).contains("candidates\""));
            }
        }
    }
}

#[tokio::test]
async fn nothing_comes_n_times_and_then_something() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:empty n=2]]") {
        server.reset();
        for expected in ["", "", "All is well again."] {
            assert_eq!(talk.hear().await.text, expected, "{}", talk.name());
        }
    }
}

#[tokio::test]
async fn a_paused_turn_goes_on_when_it_is_handed_back() {
    let server = ModelServer::start().await.unwrap();
    for mut talk in Talk::all(&server, "[[scn:pause]]") {
        assert_eq!(talk.go_on().await.text, "This takes a while, ", "{}", talk.name());
        assert_eq!(talk.hear().await.text, "and here is the rest.", "{}", talk.name());
    }
}

#[tokio::test]
async fn many_bytes_arrive_in_parts_and_whole_on_every_wire() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::streaming(&server, "[[scn:utf8]]") {
        let answer = talk.post().await;
        assert!(talk.dialect.read(&answer, true).text.ends_with("and 🦀!"), "{}", talk.name());
        assert!(answer.split_characters > 0, "{}: no read ended in a character", talk.name());
    }
    for talk in Talk::all(&server, "[[scn:bash cmd=\"echo 🦀\" split=byte]]") {
        assert_eq!(talk.hear().await.calls[0].input()["command"], "echo 🦀", "{}", talk.name());
    }
}

#[tokio::test]
async fn padding_comes_unless_it_is_declined() {
    let server = ModelServer::start().await.unwrap();
    for dialect in [Dialect::Responses, Dialect::Chat] {
        let mut talk = Talk::new(&server, dialect, true, "[[scn:text]]");
        assert!(String::from_utf8_lossy(&talk.post().await.body).contains("\"obfuscation\""));
        talk.body["stream_options"]["include_obfuscation"] = json!(false);
        assert!(!String::from_utf8_lossy(&talk.post().await.body).contains("\"obfuscation\""));
    }
}

#[tokio::test]
async fn a_request_without_tools_gets_a_title_or_the_words_for_it() {
    let server = ModelServer::start().await.unwrap();
    let prompts =
        [("[[scn:bash]]", "Scripted side answer"), ("[[scn:bash side=So_far]]", "So far")];
    for (prompt, expected) in prompts {
        for mut talk in Talk::all(&server, prompt) {
            talk.body.as_object_mut().unwrap().remove("tools");
            assert_eq!(talk.hear().await.text, expected, "{}", talk.name());
        }
    }
    assert_eq!(server.calls_of("side"), 2 * 2 * Dialect::ALL.len());
}

#[tokio::test]
async fn requests_can_be_looked_at_afterwards() {
    let server = ModelServer::start().await.unwrap();
    for talk in Talk::all(&server, "[[scn:text]]") {
        talk.hear().await;
        let requests = server.requests();
        let last = requests.last().unwrap();
        assert_eq!(last.json(), talk.body);
        assert_eq!(last.call, requests.len() - 1);
        assert_eq!(last.path, server.ledger().calls[last.call].path);
        let key = match talk.dialect {
            Dialect::Messages => last.header("x-api-key"),
            Dialect::Responses | Dialect::Chat => last.header("authorization"),
            Dialect::Gemini | Dialect::GeminiArray => last.header("x-goog-api-key"),
        };
        assert!(key.unwrap().ends_with("dummy"));
        assert_eq!(last.query == "alt=sse", talk.dialect == Dialect::Gemini);
    }
    server.reset();
    assert!(server.requests().is_empty());
}
