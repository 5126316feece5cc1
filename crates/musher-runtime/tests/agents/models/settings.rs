//! What an agent's options change: models, modes, prices, efforts, limits of output; and services that do not stream.

use musher_runtime::core::{Answer, CostBasis, EventKind, Outcome, Usd};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

fn completed(wire: Wire, ended: &Ended) {
    assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
}

#[tokio::test]
async fn options_reach_the_service_in_the_words_of_its_format() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("[[scn:text]] go");
        spec.model_options.temperature = Some(0.25);
        spec.model_options.effort = Some("low".into());
        spec.model_options.max_output = Some(5000);
        completed(wire, &rig.begin(spec).end().await);
        let request = &rig.server.requests()[0];
        let (body, query) = (request.json(), request.query.clone());
        let sent = match wire {
            Wire::Responses => {
                [&body["temperature"], &body["reasoning"]["effort"], &body["max_output_tokens"]]
            }
            Wire::Chat => [&body["temperature"], &body["reasoning_effort"], &body["max_tokens"]],
            Wire::Messages => [&Json::Null, &body["output_config"]["effort"], &body["max_tokens"]],
            Wire::Generate => {
                let config = &body["generationConfig"];
                let level = &config["thinkingConfig"]["thinkingLevel"];
                assert_eq!(query, "alt=sse");
                [&config["temperature"], level, &config["maxOutputTokens"]]
            }
        };
        // Where a model thinks, one format takes no temperature.
        let temperature = if wire == Wire::Messages { Json::Null } else { json!(0.25) };
        assert_eq!(sent, [&temperature, &json!("low"), &json!(5000)], "{wire:?}: {body}");
    }
}

#[tokio::test]
async fn names_and_order_of_tools_are_the_same_in_every_request() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        completed(wire, &rig.run("[[scn:seq n=2]] go").await);
        let tools: Vec<Json> =
            rig.server.requests().iter().map(|request| request.json()["tools"].clone()).collect();
        assert_eq!(tools.len(), 3, "{wire:?}");
        assert!(tools[0].is_array() && tools.iter().all(|other| *other == tools[0]), "{wire:?}");
    }
}

#[tokio::test]
async fn another_model_and_another_mode_count_from_the_next_call_on() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut story = rig.begin(rig.spec("[[scn:seq n=2]] go"));
        let (ask, _) = story.until_ask().await;
        story.handle.set_model("another-model").await.unwrap();
        story.handle.set_mode("free").await.unwrap();
        story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
        let ended = story.end().await;
        completed(wire, &ended);
        let models: Vec<String> =
            rig.server.ledger().calls.into_iter().map(|call| call.model).collect();
        assert_eq!(models[1..], ["another-model", "another-model"], "{wire:?}");
        assert_eq!(ended.closed_asks().len(), 1, "{wire:?}: the second call is not asked about");
        assert_eq!(ended.end.cost_usd, None, "{wire:?}: nobody knows what that model costs");
        let known = &ended.end.models[&models[0]];
        assert!(known.cost_usd.is_some(), "{wire:?}");
        let changed = ended.events.iter().any(|event| {
            matches!(&event.kind, EventKind::ModelChanged { to, .. } if to == "another-model")
        });
        assert!(changed, "{wire:?}");
    }
}

#[tokio::test]
async fn a_table_of_ones_own_prices_a_model_that_nobody_else_knows() {
    let rig = ModelRig::new(Wire::Chat).await;
    let table = rig.place.home.path().join("prices.toml");
    std::fs::write(
        &table,
        "[[model]]\nname = 'my-model'\nwindow = 8192\ninput = 1.0\ncache_read = 0.5\noutput = 2.0\n",
    )
    .unwrap();
    let mut spec = rig.free("[[scn:text in=1000 cr=2000 cw=0 out=500]] go");
    spec.model = Some("my-model".into());
    spec.model_options.prices = Some(table);
    let ended = rig.begin(spec).end().await;
    completed(Wire::Chat, &ended);
    assert_eq!(ended.end.cost_usd, Some(Usd::from_dollars(0.003)));
    let report = ended.events.iter().find_map(|event| match &event.kind {
        EventKind::Usage(report) if !report.partial => Some(report.clone()),
        _ => None,
    });
    let report = report.unwrap();
    assert_eq!(report.cost_basis, CostBasis::PriceTable);
    let context = report.context.unwrap();
    assert_eq!((context.used, context.window), (3500, Some(8192)));
}

/// A service that gives the whole answer at once, whatever it is asked.
async fn whole(body: Json) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let text = body.to_string();
    let serve = async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 65536];
            let _asked = stream.read(&mut request).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let answer = format!("{head}content-length: {}\r\n\r\n{text}", text.len());
            let _gone = stream.write_all(answer.as_bytes()).await;
        }
    };
    drop(tokio::task::spawn(serve));
    format!("http://{address}")
}

#[tokio::test]
async fn a_service_that_does_not_stream_is_understood_all_the_same() {
    for wire in Wire::ALL {
        let body = match wire {
            Wire::Responses => json!({
                "object": "response", "status": "completed", "model": "m",
                "output": [{"type": "message", "role": "assistant", "id": "x",
                    "content": [{"type": "output_text", "text": "All at once."}]}],
                "usage": {"input_tokens": 7, "output_tokens": 3},
            }),
            Wire::Chat => json!({
                "choices": [{"index": 0, "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "All at once."}}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3},
            }),
            Wire::Messages => json!({
                "type": "message", "role": "assistant", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "All at once."}],
                "usage": {"input_tokens": 7, "output_tokens": 3},
            }),
            Wire::Generate => json!([{
                "candidates": [{"content": {"role": "model", "parts": [{"text": "All at once."}]},
                    "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
            }]),
        };
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("go");
        spec.model_options.base_url = Some(whole(body).await);
        let ended = rig.begin(spec).end().await;
        completed(wire, &ended);
        assert_eq!(ended.response(), "All at once.", "{wire:?}");
        assert_eq!((ended.end.usage.input, ended.end.usage.output), (7, 3), "{wire:?}");
    }
}

#[tokio::test]
async fn a_limit_that_will_not_pass_soon_is_told_and_not_waited_for() {
    for wire in [Wire::Responses, Wire::Chat, Wire::Messages] {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run("[[scn:rate n=0 retry_after=7200]] go").await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{wire:?}:\n{}", ended.text());
        assert_eq!(super::retries(&ended), 0, "{wire:?}");
        let told = ended.events.iter().any(|event| {
            matches!(&event.kind, EventKind::RateLimit(limit) if limit.exhausted && limit.resets_at.is_some())
        });
        assert!(told, "{wire:?}:\n{}", ended.text());
    }
}

#[tokio::test]
async fn an_answer_that_fills_the_window_each_time_is_given_up() {
    let rig = ModelRig::new(Wire::Messages).await;
    let ended = rig.run("[[scn:ctxstop]] go").await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    assert!(rig.server.ledger().requests() < 8);
}
