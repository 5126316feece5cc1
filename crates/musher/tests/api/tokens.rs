//! Tokens: made for one holder, opening what their scope says, and taken back alone.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value as Json, json};

use crate::rig::{CODE, HOST, Reply, Rig, order};
use crate::sse::Sse;

async fn with(rig: &Rig, token: &str, method: Method, path: &str) -> Reply {
    let request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
    let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    rig.send(request.body(Body::empty()).unwrap()).await
}

async fn add(rig: &Rig, name: &str, scope: &str) -> (String, String) {
    let reply = rig.post("/api/v1/tokens", &json!({ "name": name, "scope": scope })).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
    let made = reply.json();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    (text("id"), text("token"))
}

async fn listed(rig: &Rig) -> Vec<Json> {
    rig.get("/api/v1/tokens").await.json()["tokens"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_browser_gets_a_token_of_its_own_that_is_named_after_it() {
    let rig = Rig::new().await;
    let mut request = order(Method::POST, "/api/v1/token", json!({ "code": CODE }).to_string());
    request.headers_mut().remove(header::AUTHORIZATION);
    let agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/139.0.0.0 Safari/537.36";
    request.headers_mut().insert(header::USER_AGENT, agent.parse().unwrap());
    let token = rig.send(request).await.json()["token"].as_str().unwrap().to_owned();
    assert_ne!(token, crate::rig::TOKEN);
    let own = with(&rig, &token, Method::GET, "/api/v1/tokens").await.json();
    assert_eq!(own["tokens"][0]["name"], "Chrome on Linux");
    assert_eq!(
        (&own["tokens"][0]["current"], &own["tokens"][0]["scope"]),
        (&json!(true), &json!("full"))
    );
    let seen = &listed(&rig).await[0];
    assert_eq!(seen["current"], false);
    assert!(seen["last_used_at"].is_i64(), "{seen}");
    assert!(!seen.to_string().contains(&token));
}

#[tokio::test]
async fn a_token_that_was_taken_back_is_refused_by_name_and_its_streams_end() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(1);
    let (id, token) = add(&rig, "mine", "full").await;
    let (_, other) = add(&rig, "other", "full").await;
    let path = format!("/api/v1/runs/{run}/events/stream");
    let mut stream = Sse::with_token(&rig, &path, &token).await;
    let mut feed = Sse::with_token(&rig, "/api/v1/feed", &token).await;
    let mut kept = Sse::with_token(&rig, &path, &other).await;
    assert_eq!(stream.next().await.unwrap().id, "1.1");
    assert_eq!(kept.next().await.unwrap().id, "1.1");
    while feed.next().await.unwrap().event != "ready" {}
    let revoke = format!("/api/v1/tokens/{id}");
    for _ in 0..2 {
        let done = with(&rig, crate::rig::TOKEN, Method::DELETE, &revoke).await;
        assert_eq!((done.status, done.json()), (StatusCode::OK, json!({ "status": "done" })));
    }
    for ended in [&mut stream, &mut feed] {
        let last = tokio::time::timeout(std::time::Duration::from_secs(1), ended.next()).await;
        let last = last.unwrap().unwrap();
        assert_eq!(
            (last.event.as_str(), &last.json()["code"]),
            ("problem", &json!("token_revoked"))
        );
        assert!(ended.next().await.is_none());
    }
    with(&rig, &token, Method::GET, "/api/v1/project").await.is_problem(401, "token_revoked");
    log.notices(1);
    assert_eq!(kept.next().await.unwrap().id, "1.2", "another's stream goes on");
    let names: Vec<Json> = listed(&rig).await.iter().map(|token| token["name"].clone()).collect();
    assert_eq!(names, ["other"]);
    let missing = with(&rig, crate::rig::TOKEN, Method::DELETE, "/api/v1/tokens/t99").await;
    missing.is_problem(404, "no_such_token");
    let rig = rig.again().await;
    with(&rig, &token, Method::GET, "/api/v1/project").await.is_problem(401, "token_revoked");
    assert_eq!(with(&rig, &other, Method::GET, "/api/v1/project").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_scope_operator_opens_its_own_door_and_no_route_of_the_api() {
    let rig = Rig::new().await;
    let (_, token) = add(&rig, "ci", "operator").await;
    for (method, path) in crate::access::table() {
        let open = [("GET", "/healthz"), ("POST", "/api/v1/token")];
        let open = open.contains(&(method.as_str(), path.as_str()));
        // The pages and their files hold no data, and are open to all.
        let page = !path.starts_with("/api/") && path != "/openapi.json" && path != "/readyz";
        if open || page {
            continue;
        }
        with(&rig, &token, method, &path).await.is_problem(403, "wrong_scope");
    }
    with(&rig, &token, Method::GET, "/mcpx").await.is_problem(403, "wrong_scope");
    with(&rig, &token, Method::GET, "/mcp/x").await.is_problem(404, "no_such_path");
    // It is let in; what it must say there is told.
    let inside = with(&rig, &token, Method::POST, "/mcp").await;
    assert!(!matches!(inside.status.as_u16(), 401 | 403), "{}", inside.text());
    rig.post("/api/v1/tokens", &json!({ "name": "x", "scope": "root" }))
        .await
        .is_problem(422, "wrong_body");
    rig.post("/api/v1/tokens", &json!({ "name": "\u{7}", "scope": "full" }))
        .await
        .is_problem(422, "bad_name");
}
