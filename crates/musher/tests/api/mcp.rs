//! The operator's tools over HTTP: the same token, the same names, the same requests as everywhere else.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value as Json, json};

use crate::rig::{Reply, Rig, TOKEN, ask};

/// A message of a client of the newer generation.
fn message(method: &str, params: &Json) -> Request<Body> {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut request = ask(Method::POST, "/mcp")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        request = request.header("mcp-name", name);
    }
    request.body(body.to_string().into()).unwrap()
}

/// The last message of a reply, which may be a stream.
fn last(reply: &Reply) -> Json {
    let text = reply.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let json = data.map(str::trim).rfind(|data| !data.is_empty()).unwrap_or(&text);
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) async fn call(rig: &Rig, name: &str, arguments: Json) -> Json {
    let params = json!({ "name": name, "arguments": arguments });
    let reply = rig.send(message("tools/call", &params)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    last(&reply)["result"].clone()
}

#[tokio::test]
async fn an_assistant_discovers_lists_and_calls_without_a_session() {
    let rig = Rig::new().await;
    let found = last(&rig.send(message("server/discover", &json!({}))).await);
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2025-11-25") && versions.contains("2026-07-28"), "{found:#}");
    let listed = last(&rig.send(message("tools/list", &json!({}))).await);
    assert_eq!(listed["result"]["resultType"], "complete", "{listed:#}");
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 16);
    let added = call(&rig, "add_story", json!({ "title": "Work", "id": "mine" })).await;
    assert_eq!(added["structuredContent"], json!({ "status": "added", "story": "mine" }));
    let story = call(&rig, "read_story", json!({ "story": "mine" })).await;
    assert_eq!(story["structuredContent"]["title"], "Work");
    // What the other doors see is the same.
    assert_eq!(rig.get("/api/v1/stories/mine").await.json()["title"], "Work");
}

#[tokio::test]
async fn a_refusal_of_the_pool_reaches_the_model_with_its_way_out() {
    let rig = Rig::new().await;
    let none = call(&rig, "start_run", json!({ "story": "none" })).await;
    let text = none["content"][0]["text"].as_str().unwrap();
    assert!(none["isError"] == true && text.contains("none"), "{none:#}");
    let run = rig.live().await;
    let blank = json!({ "run": run.to_string(), "model": "two words" });
    let blank = call(&rig, "change_model", blank).await;
    let text = blank["content"][0]["text"].as_str().unwrap();
    assert!(blank["isError"] == true && text.contains("the model must be"), "{blank:#}");
    let asked =
        json!({ "run": run.to_string(), "ask": "a", "answer": { "decision": "allow_always" } });
    assert_eq!(call(&rig, "answer_ask", asked).await["isError"], true);
    for wrong in
        [json!({ "run": 1 }), json!({}), json!({ "run": "R 1" }), json!({ "run": "r1", "x": 1 })]
    {
        assert_eq!(call(&rig, "read_run", wrong.clone()).await["isError"], true, "{wrong}");
    }
}

#[tokio::test]
async fn a_wait_hears_of_the_end_of_a_run() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let input = json!({ "runs": [run.to_string()], "until": "over", "timeout_seconds": 20 });
    let waited = call(&rig, "wait_for_runs", input);
    let (result, ()) = tokio::join!(waited, rig.end(run, 1));
    assert_eq!(result["structuredContent"]["reached"], "over", "{result:#}");
}

#[tokio::test]
async fn promise_18_the_operator_needs_the_token_and_the_right_names() {
    let rig = Rig::new().await;
    let with = |host: &str, token: &str, origin: Option<&str>| {
        let mut request = message("tools/list", &json!({}));
        let headers = request.headers_mut();
        headers.insert(header::HOST, host.parse().unwrap());
        headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        request
    };
    assert_eq!(rig.send(with(crate::rig::HOST, TOKEN, None)).await.status, StatusCode::OK);
    rig.send(with(crate::rig::HOST, "guess", None)).await.is_problem(401, "no_token");
    rig.send(with("evil.example:7070", TOKEN, None)).await.is_problem(421, "foreign_host");
    let page = Some("http://evil.example");
    rig.send(with(crate::rig::HOST, TOKEN, page)).await.is_problem(403, "foreign_origin");
}

#[tokio::test]
async fn a_message_that_is_none_is_refused_and_breaks_nothing() {
    let rig = Rig::new().await;
    for body in ["", "{", "[]", "nonsense", "{\"jsonrpc\":\"2.0\"}", "null", "{\"method\":3}"] {
        let mut request = message("tools/list", &json!({}));
        *request.body_mut() = body.into();
        let reply = rig.send(request).await;
        assert!(reply.status.is_client_error(), "{body}: {} {}", reply.status, reply.text());
    }
    let mut request = message("tools/list", &json!({}));
    *request.body_mut() = "x".repeat(2 << 20).into();
    assert_eq!(rig.send(request).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    // A header that says something else than the message is not believed.
    let mut request = message("tools/list", &json!({}));
    request.headers_mut().insert("mcp-method", "tools/call".parse().unwrap());
    assert!(rig.send(request).await.status.is_client_error());
}

#[tokio::test]
async fn a_flood_with_one_token_is_slowed_and_does_not_slow_another() {
    let rig = Rig::new().await;
    let body = json!({ "name": "assistant", "scope": "operator" });
    let made = rig.post("/api/v1/tokens", &body).await.json();
    let token = made["token"].as_str().unwrap_or_else(|| panic!("{made:#}"));
    let listed = async |token: &str| {
        let params = json!({ "name": "list_agents", "arguments": {} });
        let mut request = message("tools/call", &params);
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        last(&rig.send(request).await)["result"].clone()
    };
    let mut calls = 0;
    let refused = loop {
        let result = listed(token).await;
        if result["isError"] == true {
            break result;
        }
        calls += 1;
        assert!(calls < 10_000, "a flood was let through");
    };
    assert!(calls >= 240, "a burst of {calls} was not let through");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("called too often") && text.contains("again in"), "{refused:#}");
    assert!(refused["structuredContent"]["retry_after_ms"].is_u64(), "{refused:#}");
    assert_eq!(listed(TOKEN).await["isError"], false);
}

/// The first message of a client of the older generation.
fn initialize(token: &str) -> Request<Body> {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    older(token, None, &body)
}

fn older(token: &str, session: Option<&str>, body: &Json) -> Request<Body> {
    let request = Request::post("/mcp")
        .header(header::HOST, crate::rig::HOST)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream");
    let request = match session {
        Some(session) => {
            request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25")
        }
        None => request,
    };
    request.body(body.to_string().into()).unwrap()
}

/// Begins a session of the older generation, and gives its id.
async fn session(rig: &Rig, token: &str) -> String {
    let reply = rig.send(initialize(token)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let id = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(rig.send(older(token, Some(&id), &ready)).await.status, StatusCode::ACCEPTED);
    id
}

/// What a session hears when it asks for the tools.
async fn tools(rig: &Rig, token: &str, session: &str) -> Reply {
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    rig.send(older(token, Some(session), &list)).await
}

async fn operator(rig: &Rig, name: &str) -> String {
    let made =
        rig.post("/api/v1/tokens", &json!({ "name": name, "scope": "operator" })).await.json();
    made["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn abandoned_sessions_close_the_door_for_nobody() {
    let rig = Rig::new().await;
    let other = operator(&rig, "other").await;
    let theirs = session(&rig, &other).await;
    let first = session(&rig, TOKEN).await;
    for _ in 0..1_100 {
        let reply = rig.send(initialize(TOKEN)).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    }
    // Whoever abandons sessions loses the idlest of their own, and is told so that its client begins anew.
    tools(&rig, TOKEN, &first).await.is_problem(404, "no_such_session");
    let again = session(&rig, TOKEN).await;
    assert_eq!(tools(&rig, TOKEN, &again).await.status, StatusCode::OK);
    // Nobody else notices, with a session or without one.
    let heard = last(&tools(&rig, &other, &theirs).await);
    assert_eq!(heard["result"]["tools"].as_array().unwrap().len(), 16, "{heard:#}");
    let listed = last(&rig.send(message("tools/list", &json!({}))).await);
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 16);
}

#[tokio::test]
async fn the_session_that_was_idle_for_the_longest_makes_room() {
    let rig = Rig::new().await;
    let used = session(&rig, TOKEN).await;
    let idle = session(&rig, TOKEN).await;
    for _ in 0..63 {
        assert_eq!(tools(&rig, TOKEN, &used).await.status, StatusCode::OK);
        session(&rig, TOKEN).await;
    }
    tools(&rig, TOKEN, &idle).await.is_problem(404, "no_such_session");
    assert_eq!(tools(&rig, TOKEN, &used).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_session_belongs_to_the_token_that_began_it() {
    let rig = Rig::new().await;
    let other = operator(&rig, "other").await;
    let ours = session(&rig, TOKEN).await;
    tools(&rig, &other, &ours).await.is_problem(404, "no_such_session");
    let mut end = older(&other, Some(&ours), &json!({}));
    *end.method_mut() = Method::DELETE;
    rig.send(end).await.is_problem(404, "no_such_session");
    assert_eq!(tools(&rig, TOKEN, &ours).await.status, StatusCode::OK);
}
