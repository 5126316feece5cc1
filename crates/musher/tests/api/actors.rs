//! Who speaks: every fact says who caused it and through which door, in the journal and in the feed.

use axum::http::{HeaderValue, Method, StatusCode, header};
use musher_core::pool::{PoolInput, RunReport};
use serde_json::{Value as Json, json};

use crate::rig::{Rig, order};
use crate::sse::Sse;

/// Adds a story with this token, or the owner's, through this door.
async fn add(rig: &Rig, token: Option<&str>, door: Option<&str>) {
    let mut request = order(Method::POST, "/api/v1/stories", json!({ "title": "x" }).to_string());
    let headers = request.headers_mut();
    if let Some(token) = token {
        headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    }
    if let Some(door) = door {
        headers.insert("musher-door", HeaderValue::from_str(door).unwrap());
    }
    assert_eq!(rig.send(request).await.status, StatusCode::CREATED);
}

fn actors(rig: &Rig) -> Vec<(String, Json)> {
    let facts = rig.views.facts_after(0, 100).unwrap();
    let kind = |body: &str| {
        let fact: Json = serde_json::from_str(body).unwrap();
        fact["type"].as_str().unwrap().to_owned()
    };
    let by = |by: Option<String>| serde_json::from_str(&by.unwrap_or("null".into())).unwrap();
    facts.into_iter().map(|fact| (kind(&fact.body), by(fact.by))).collect()
}

#[tokio::test]
async fn every_fact_says_who_caused_it_and_through_which_door() {
    let rig = Rig::new().await;
    let made = rig.post("/api/v1/tokens", &json!({ "name": "phone", "scope": "full" })).await;
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    while feed.next().await.unwrap().event != "ready" {}
    add(&rig, None, Some("cli")).await;
    add(&rig, None, None).await;
    add(&rig, Some(&token), Some("web")).await;
    add(&rig, Some(&token), Some("assistant")).await;
    add(&rig, Some(&token), Some("carrier pigeon")).await;
    let owner = |via: &str| json!({ "who": { "type": "owner" }, "via": via });
    let phone =
        |via: &str| json!({ "who": { "type": "program", "token": made.json()["id"] }, "via": via });
    let wanted = [owner("cli"), owner("api"), phone("web"), phone("mcp"), phone("api")];
    let told: Vec<Json> = actors(&rig).into_iter().map(|(_, by)| by).collect();
    assert_eq!(told, wanted);
    for by in &wanted {
        let fact = loop {
            let message = feed.next().await.unwrap();
            if message.event == "fact" {
                break message.json();
            }
        };
        assert_eq!(fact["by"], *by, "{fact:#}");
    }
}

#[tokio::test]
async fn what_follows_from_the_world_is_the_runs_or_the_pools() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let what = RunReport::Session { session: "x".into() };
    rig.tell(PoolInput::Heard { run, seq: 1, what }).await;
    rig.settled().await;
    let told = actors(&rig);
    let by = |kind: &str| &told.iter().find(|(name, _)| name == kind).unwrap().1;
    let pool = json!({ "who": { "type": "pool" }, "via": "server" });
    assert_eq!(*by("run_queued"), json!({ "who": { "type": "owner" }, "via": "api" }));
    assert_eq!((by("run_prepared"), by("run_started")), (&pool, &pool));
    let own = json!({ "who": { "type": "run", "run": run.to_string() }, "via": "server" });
    assert_eq!(*by("session_seen"), own);
    assert!(told.iter().all(|(_, by)| by.is_object()), "{told:#?}");
}
