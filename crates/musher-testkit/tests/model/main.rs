//! The scripted model over its wire, by a client that knows nothing but sockets.
#![expect(
    clippy::unwrap_used,
    reason = "a test ends where its set-up fails, and clippy exempts test functions only"
)]

mod coder;
mod dialect;
mod endings;
mod errors;
mod loops;
mod quirks;
mod refusals;
mod speech;
mod talk;
mod wire;

use musher_testkit::model::{CallEnd, ModelServer, Usage};
use serde_json::{Value, json};
use wire::{Client, prompt, request};

#[tokio::test]
async fn a_text_answer_streams_whole() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    let answer = client.post(&prompt("[[scn:text say=Hello_you in=7 out=9]] hi")).await;
    assert_eq!(answer.status, 200);
    let events = answer.events();
    let kinds = events.iter().map(|event| event["type"].as_str().unwrap());
    let kinds = kinds.filter(|kind| *kind != "content_block_delta").collect::<Vec<_>>();
    let expected = [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(answer.text(), "Hello you");
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 7);
    assert_eq!(events[0]["message"]["usage"]["output_tokens"], 1);
    let last = &events[events.len() - 2]["usage"];
    assert_eq!((&last["input_tokens"], &last["output_tokens"]), (&json!(7), &json!(9)));
    assert_eq!(last["cache_creation"]["ephemeral_5m_input_tokens"], 50);
    assert_eq!(server.prompts(), ["[[scn:text say=Hello_you in=7 out=9]] hi"]);
}

#[tokio::test]
async fn a_plain_answer_is_one_message() {
    let server = ModelServer::start().await.unwrap();
    let mut body = prompt("[[scn:think]] hi");
    body["stream"] = json!(false);
    let message = Client::of(&server).post(&body).await.json();
    assert_eq!(message["content"][0]["type"], "thinking");
    assert_eq!(message["content"][1]["text"], "I thought about it.");
    assert_eq!(message["stop_reason"], "end_turn");
    assert!(server.ledger().calls[0].counted);
}

#[tokio::test]
async fn the_step_is_read_off_the_conversation() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    let mut body = prompt("[[scn:seq n=2]] go");
    for step in ["echo step 1", "echo step 2"] {
        let answer = client.post(&body).await;
        let call = answer.tool_call();
        assert_eq!(call["input"]["command"], step);
        wire::add_result(&mut body, &call);
    }
    // The same request twice lands on the same step: the server keeps no account of steps.
    for _ in 0..2 {
        assert_eq!(client.post(&body).await.text(), "Done.");
    }
    let steps = server.ledger().calls.iter().map(|call| call.step).collect::<Vec<_>>();
    assert_eq!(steps, [0, 1, 2, 2]);
    // A new marker begins anew.
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": "Done."}));
    messages.push(json!({"role": "user", "content": "[[scn:bash]] more"}));
    assert!(
        client.post(&body).await.tool_call()["id"].as_str().unwrap().starts_with("toolu_s0_0_")
    );
}

#[tokio::test]
async fn the_ledger_counts_what_arrived_whole() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    client.post(&prompt("[[scn:text in=1 out=2 cr=3 cw=4 cw1h=5]]")).await;
    let cut = client.post(&prompt("[[scn:cut in=1000]]")).await;
    assert!(!cut.whole && cut.text().starts_with("This answer"));
    let half = client.begin(&prompt("[[scn:hang_mid in=1000]]")).await;
    drop(half);
    let ledger = server.ledger();
    let usage = Usage { input: 1, output: 2, cache_read: 3, cache_write_5m: 4, cache_write_1h: 5 };
    assert_eq!(ledger.total(), usage);
    assert_eq!(ledger.requests(), 3);
    assert_eq!(ledger.calls[1].usage.input, 1000);
    assert_eq!(ledger.calls[1].usage.output, 1);
    let counted = ledger.calls.iter().map(|call| call.counted).collect::<Vec<_>>();
    assert_eq!(counted, [true, false, false]);
    let ends = ledger.calls.iter().map(|call| call.end).collect::<Vec<_>>();
    assert_eq!(ends[..2], [CallEnd::Whole, CallEnd::BrokenOff]);
    assert_eq!(ledger.calls[1].charged.output, Usage::MAIN.output, "a cut answer is charged");
    server.reset();
    assert_eq!(server.ledger().requests(), 0);
}

#[tokio::test]
async fn a_client_that_leaves_is_not_charged() {
    let server = ModelServer::start().await.unwrap();
    drop(Client::of(&server).begin(&prompt("[[scn:slow n=20 ms=20]]")).await);
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    assert!(!server.ledger().calls[0].counted);
}

#[tokio::test]
async fn errors_come_n_times_and_then_no_more() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    let body = prompt("[[scn:err status=529 n=2 retry=true retry_after=3]]");
    for _ in 0..2 {
        let answer = client.post(&body).await;
        assert_eq!(answer.status, 529);
        assert_eq!(answer.json()["error"]["type"], "overloaded_error");
        assert_eq!(answer.header("x-should-retry"), Some("true"));
        assert_eq!(answer.header("retry-after"), Some("3"));
    }
    assert_eq!(client.post(&body).await.text(), "All is well again.");
    assert_eq!(server.calls_of("err"), 3);
}

#[tokio::test]
async fn an_error_inside_a_stream_ends_it() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    let answer = client.post(&prompt("[[scn:inline_err]]")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.events().last().unwrap()["error"]["type"], "overloaded_error");
    assert_eq!(client.post(&prompt("[[scn:inline_err]]")).await.text(), "All is well again.");
}

#[tokio::test]
async fn long_characters_arrive_in_parts_and_whole() {
    let server = ModelServer::start().await.unwrap();
    let answer = Client::of(&server).post(&prompt("[[scn:utf8]]")).await;
    assert!(answer.text().ends_with("and 🦀!"));
    assert!(answer.split_characters > 0, "no read ended inside a character");
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    let call = json!({"type": "tool_use", "id": "toolu_s0_0_abc", "name": "Bash", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let said = |role: &str, content: Value| json!({"role": role, "content": content});
    let hello = said("user", json!("hello"));
    let thought = json!([{"type": "thinking", "thinking": "x", "signature": "forged"}]);
    let cases = [
        (vec![], "at least one message"),
        (vec![said("assistant", json!("hi"))], "first message"),
        (vec![said("user", json!(""))], "non-empty"),
        (
            vec![hello.clone(), said("assistant", json!([call])), hello.clone()],
            "without `tool_result`",
        ),
        (vec![hello.clone(), said("assistant", json!([call]))], "without `tool_result`"),
        (vec![said("user", json!([result("toolu_s0_0_zzz")]))], "unexpected `tool_use_id`"),
        (vec![hello.clone(), said("assistant", thought), hello.clone()], "Invalid `signature`"),
    ];
    for (messages, words) in cases {
        let answer = client.post(&request(&messages)).await;
        assert_eq!(answer.status, 400, "{words}");
        let error = &answer.json()["error"];
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
    let mut no_limit = prompt("hi");
    no_limit.as_object_mut().unwrap().remove("max_tokens");
    assert_eq!(client.post(&no_limit).await.status, 400);
    assert_eq!(client.without("anthropic-version").post(&prompt("hi")).await.status, 400);
    assert_eq!(client.without("x-api-key").post(&prompt("hi")).await.status, 401);
    assert_eq!(server.ledger().total(), Usage::default());
}

#[tokio::test]
async fn a_script_says_what_comes() {
    let server = ModelServer::start().await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let steps = json!([
        {"thinking": "hm", "text": "first", "tools": [{"name": "Bash", "input": {"command": "ls"}}], "usage": {"input": 3}},
        {"text": "second", "delay_ms": 5},
    ]);
    std::fs::write(file.path(), steps.to_string()).unwrap();
    let mut body = prompt(&format!("[[scn:script file={}]]", file.path().display()));
    let client = Client::of(&server);
    let first = client.post(&body).await;
    assert_eq!(first.text(), "first");
    wire::add_result(&mut body, &first.tool_call());
    assert_eq!(client.post(&body).await.text(), "second");
    assert_eq!(server.ledger().total().input, 103);
}

#[tokio::test]
async fn side_requests_get_a_title_and_other_paths_nothing() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    let mut side = prompt("[[scn:err n=0]] name this");
    side["tools"] = json!([]);
    assert_eq!(client.post(&side).await.text(), "Scripted side answer");
    assert_eq!(server.ledger().total(), Usage::SIDE);
    let count = client.send("POST", "/v1/messages/count_tokens", &prompt("hi").to_string()).await;
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(client.send("HEAD", "/", "").await.status, 200);
    let nothing = client.send("GET", "/v1/models", "").await;
    assert_eq!(
        (nothing.status, &nothing.json()["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    let mut unknown = prompt("hi");
    unknown["model"] = json!("claude-no-such-model-9");
    assert_eq!(client.post(&unknown).await.status, 404);
}

#[tokio::test]
async fn a_dropped_server_ends_what_hangs() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::of(&server);
    let body = prompt("[[scn:hang]]").to_string();
    let leave = async {
        while server.calls_of("hang") == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.ledger().calls[0].status, 0);
        drop(server);
    };
    let (silent, ()) = tokio::join!(client.silent(&body), leave);
    assert!(silent, "something was answered");
}
