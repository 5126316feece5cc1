//! Whatever is wrong with a request, the reply is a problem that says what.

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use serde_json::json;

use crate::access::table;
use crate::rig::{Rig, ask, order, until};

/// The routes that take a body. `/mcp` is not among them: its messages and their errors are the protocol's own.
fn with_body() -> Vec<(Method, String)> {
    let mut routes = table();
    routes.retain(|(method, path)| *method != Method::GET && path != "/mcp");
    routes
}

#[tokio::test]
async fn a_malformed_body_is_told_with_line_and_column_on_every_route_that_takes_one() {
    let rig = Rig::new().await;
    for (method, path) in with_body() {
        for wrong in ["{", "{\n ,}", "nonsense", "\u{0}", "'"] {
            let reply = rig.send(order(method.clone(), &path, wrong)).await;
            reply.is_problem(400, "malformed_json");
            assert!(reply.text().contains(" at line "), "{}", reply.text());
        }
        let not_text = order(method.clone(), &path, &b"{\"text\":\"\xff\xfe\"}"[..]);
        let reply = rig.send(not_text).await;
        assert!(reply.status.is_client_error(), "{method} {path}: {}", reply.text());
    }
    assert_eq!(rig.views.facts_after(0, 10).unwrap(), []);
}

#[tokio::test]
async fn a_body_that_is_too_deep_is_refused_on_every_route_that_takes_one() {
    let rig = Rig::new().await;
    let deep = format!("{}1{}", "{\"text\":".repeat(100_000), "}".repeat(100_000));
    let list = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let inside = format!(r#"{{"answer":{{"decision":"allow","input":{list}}}}}"#);
    for (method, path) in with_body() {
        for body in [&deep, &list, &inside] {
            let reply = rig.send(order(method.clone(), &path, body.clone())).await;
            // Whoever has no token may say little.
            let too_long = reply.status == 413 && path == "/api/v1/token";
            assert!(
                too_long || matches!(reply.status.as_u16(), 400 | 422),
                "{method} {path}: {} {}",
                reply.status,
                reply.text()
            );
            assert!(reply.body.len() < 2000, "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_on_every_route_that_takes_one() {
    let rig = Rig::new().await;
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(1024 * 1024));
    for (method, path) in with_body() {
        rig.send(order(method.clone(), &path, long.clone()))
            .await
            .is_problem(413, "body_too_large");
        let pieces = std::iter::repeat_n(Ok::<_, std::convert::Infallible>("x".repeat(1000)), 2000);
        let endless =
            order(method.clone(), &path, Body::from_stream(futures_util::stream::iter(pieces)));
        rig.send(endless).await.is_problem(413, "body_too_large");
    }
}

#[tokio::test]
async fn a_body_of_another_shape_is_refused_on_every_route_that_takes_one() {
    let rig = Rig::new().await;
    for (method, path) in with_body() {
        for wrong in ["[]", "3", "null", "{\"text\": {}}", "{\"no_such_field\": 1}", "\"x\""] {
            let reply = rig.send(order(method.clone(), &path, wrong)).await;
            reply.is_problem(422, "wrong_body");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_not_said_to_be_json_is_refused_on_every_route_that_takes_one() {
    let rig = Rig::new().await;
    let kinds = [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("application/jsonp"),
        Some("\u{e4}"),
    ];
    for (method, path) in with_body() {
        for kind in kinds {
            let mut request = order(method.clone(), &path, "{}");
            request.headers_mut().remove(header::CONTENT_TYPE);
            if let Some(kind) = kind {
                let kind = axum::http::HeaderValue::from_bytes(kind.as_bytes()).unwrap();
                request.headers_mut().insert(header::CONTENT_TYPE, kind);
            }
            rig.send(request).await.is_problem(415, "wrong_content_type");
        }
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_told_as_problems() {
    let rig = Rig::new().await;
    for path in [
        "/no",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/stories/",
        "/api/v2/stories",
        "//",
        "/..",
        "/%00",
    ] {
        rig.get(path).await.is_problem(404, "no_such_path");
    }
    for (method, path) in
        [(Method::DELETE, "/api/v1/stories/s1"), (Method::PUT, "/"), (Method::TRACE, "/healthz")]
    {
        let request = ask(method.clone(), path).body(Body::empty()).unwrap();
        let reply = rig.send(request).await;
        reply.is_problem(405, "no_such_method");
        assert!(reply.headers.contains_key(header::ALLOW), "{method} {path}");
    }
}

#[tokio::test]
async fn names_that_nothing_can_have_are_not_found() {
    let rig = Rig::new().await;
    for name in [
        "-x",
        "a%2Fb",
        "..%2F..",
        "%2e%2e",
        "A",
        "a%00",
        "%F0%9F%90%B6",
        "a:b:c",
        "a:",
        ":a",
        "r1%0A",
    ] {
        rig.get(&format!("/api/v1/stories/{name}")).await.is_problem(404, "bad_id");
        rig.get(&format!("/api/v1/runs/{name}")).await.is_problem(404, "bad_id");
        rig.post(&format!("/api/v1/runs/{name}/stop"), &json!({})).await.is_problem(404, "bad_id");
    }
    rig.get("/api/v1/stories/%ff").await.is_problem(400, "bad_path");
    rig.get(&format!("/api/v1/stories/{}", "a".repeat(5000))).await.is_problem(404, "bad_id");
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let rig = Rig::new().await;
    rig.get("/api/v1/stories/none").await.is_problem(404, "no_such_story");
    for path in ["r9", "none", "none:coder", "r9/events", "r9/events/stream", "r9/raw", "r9/diff"] {
        rig.get(&format!("/api/v1/runs/{path}")).await.is_problem(404, "no_such_run");
    }
    let (method, path) = (Method::POST, "/api/v1/stories/none/start");
    rig.send(order(method, path, "{}")).await.is_problem(404, "no_such_story");
    rig.post("/api/v1/runs/r9/stop", &json!({})).await.is_problem(404, "no_such_run");
    let story = rig.add("Nothing yet").await;
    rig.get(&format!("/api/v1/runs/{story}")).await.is_problem(404, "no_such_run");
    rig.post(&format!("/api/v1/runs/{story}/stop"), &json!({}))
        .await
        .is_problem(404, "no_such_run");
}

#[tokio::test]
async fn parameters_that_cannot_be_used_are_told() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let wrong = [
        "stories?archived=perhaps".to_owned(),
        "stories?limit=-1".into(),
        "stories?nonsense=1".into(),
        "runs?state=asleep".into(),
        "runs?before=7".into(),
        "runs?story=A".into(),
        "asks?all=2".into(),
        "usage?by=moon".into(),
        "feed?runs=x".into(),
        "feed?runs=r1:5".into(),
        format!("feed?runs={}", (1..=33).map(|n| format!("r{n}")).collect::<Vec<_>>().join(",")),
        format!("runs/{run}/events?after=5"),
        format!("runs/{run}/events?limit=many"),
        format!("runs/{run}/events/stream?after=1.x"),
        format!("runs/{run}/raw?offset=-1"),
        format!("runs/{run}/diff?since=ever"),
    ];
    for query in wrong {
        rig.get(&format!("/api/v1/{query}")).await.is_problem(400, "bad_query");
    }
    for path in ["feed".to_owned(), format!("runs/{run}/events/stream")] {
        let request =
            ask(Method::GET, &format!("/api/v1/{path}")).header("last-event-id", "nonsense");
        rig.send(request.body(Body::empty()).unwrap()).await.is_problem(400, "bad_query");
    }
}

#[tokio::test]
async fn a_server_that_is_closing_says_so() {
    let rig = Rig::new().await;
    assert_eq!(rig.get("/readyz").await.status, StatusCode::OK);
    rig.pool.close().await;
    until("the end of the pool", async || rig.pool.inspect(|_| ()).await.is_err()).await;
    let reply = rig.post("/api/v1/stories", &json!({"title": "x"})).await;
    reply.is_problem(503, "closing");
    assert!(reply.headers.contains_key(header::RETRY_AFTER));
    rig.get("/readyz").await.is_problem(503, "closing");
}
