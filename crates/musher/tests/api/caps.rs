//! The day's cap at the door: what is taken for one, and how a feed hears of a run that waits for it.

use axum::http::Method;
use musher_core::pool::{PoolInput, RunReport};
use musher_core::{Spend, Tokens, Usd};
use serde_json::{Value as Json, json};

use crate::rig::{Reply, Rig, order};
use crate::sse::Sse;

async fn cap(rig: &Rig, body: &Json) -> Reply {
    rig.send(order(Method::PUT, "/api/v1/local/caps", body.to_string())).await
}

#[tokio::test]
async fn a_cap_is_an_amount_above_nothing_and_is_lifted_only_on_purpose() {
    let rig = Rig::new().await;
    for (body, code) in [
        (json!({}), "wrong_body"),
        (json!({ "day_usd": "5" }), "wrong_body"),
        (json!({ "day_usd": 5, "week_usd": 5 }), "wrong_body"),
        (json!({ "day_usd": 0 }), "bad_cap"),
        (json!({ "day_usd": -1 }), "bad_cap"),
    ] {
        cap(&rig, &body).await.is_problem(422, code);
    }
    let now = async || rig.get("/api/v1/local").await.json()["caps"]["day_usd"].clone();
    for amount in [json!(2.5), json!(2.5), json!(null)] {
        assert_eq!(
            cap(&rig, &json!({ "day_usd": amount })).await.json(),
            json!({"status": "done"})
        );
        assert_eq!(now().await, amount);
    }
}

#[tokio::test]
async fn a_feed_hears_why_a_queued_run_waits_and_that_it_waits_no_more() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let spend = Spend::costing(Tokens::default(), Some(Usd::from_dollars(5.0)));
    rig.tell(PoolInput::Heard {
        run,
        seq: 1,
        what: RunReport::Usage { model: None, entry: spend.into() },
    })
    .await;
    cap(&rig, &json!({ "day_usd": 4 })).await;
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    while feed.next().await.unwrap().event != "ready" {}
    let story = rig.add("Later").await;
    let waiting = rig.queue(&story).await.to_string();
    let mut headline = async |wanted: &dyn Fn(&Json) -> bool| loop {
        let message = feed.next().await.unwrap();
        let told = message.json();
        if message.event == "headline" && told["run"]["id"] == waiting && wanted(&told["run"]) {
            return told["run"].clone();
        }
    };
    let told = headline(&|run| run["note"].is_string()).await;
    assert_eq!(told["phase"], "queued");
    assert!(told["note"].as_str().unwrap().contains("the cap of $4.00 for today"), "{told:#}");
    cap(&rig, &json!({ "day_usd": 6 })).await;
    let told = headline(&|run| run["phase"] == "preparing").await;
    assert_eq!((&told["note"], &told["error"]), (&Json::Null, &Json::Null), "{told:#}");
}
