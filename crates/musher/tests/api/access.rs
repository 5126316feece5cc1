//! Who may come in, tried on every route of the router's own table.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};

use crate::rig::{GUEST, HOST, Rig, TOKEN, ask, order};

/// Every route as the router's own table has it, with names filled in.
pub(crate) fn table() -> Vec<(Method, String)> {
    let document = serde_json::to_value(musher::api::openapi()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("{story}", "s1")
            .replace("{run}", "r1")
            .replace("{ask}", "a1")
            .replace("{id}", "t1")
            .replace("{seq}", "1");
        assert!(!path.contains('{'), "{path} has a name that this test does not know");
        for method in item.as_object().unwrap().keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes());
            routes.extend(method.ok().map(|method| (method, path.clone())));
        }
    }
    for page in musher::api::PAGES {
        routes.push((Method::GET, format!("/{page}")));
        routes.push((Method::GET, format!("/{page}/s1/anything")));
    }
    assert!(routes.len() > 40, "{routes:?}");
    routes
}

/// What holds no data and needs no token.
fn is_open(method: &Method, path: &str) -> bool {
    let open = [(Method::GET, "/"), (Method::GET, "/healthz"), (Method::POST, "/api/v1/token")];
    let first = path.split('/').nth(1).unwrap_or_default();
    let page = musher::api::PAGES.contains(&first) || first == "assets";
    (method == Method::GET && page) || open.iter().any(|(known, at)| known == method && *at == path)
}

fn with(method: &Method, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

/// Runs the same request on every route and on paths that are none, and sees that nothing came of it.
async fn on_every_route(headers: &[(&str, &str)], status: u16, code: &str, open: bool) {
    let rig = Rig::new().await;
    rig.live().await;
    let before = rig.views.facts_after(0, 1000).unwrap();
    let mut routes = table();
    routes.push((Method::GET, "/assets/app.js".into()));
    routes.push((Method::GET, "/no/such/path".into()));
    routes.push((Method::DELETE, "/api/v1/stories".into()));
    routes.push((Method::OPTIONS, "/api/v1/stories".into()));
    for (method, path) in routes {
        if open && is_open(&method, &path) {
            continue;
        }
        let reply = rig.send(with(&method, &path, headers)).await;
        assert_eq!(reply.status.as_u16(), status, "{method} {path}: {}", reply.text());
        reply.is_problem(status, code);
        assert_eq!(reply.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(reply.headers[header::CACHE_CONTROL], "no-store");
        assert_eq!(reply.headers[header::REFERRER_POLICY], "no-referrer");
        let policy = reply.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!reply.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
        assert_eq!(status == 401, reply.headers.contains_key(header::WWW_AUTHENTICATE));
    }
    rig.settled().await;
    assert_eq!(rig.views.facts_after(0, 1000).unwrap(), before, "something was done");
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

#[tokio::test]
async fn promise_16_no_route_does_anything_without_a_token() {
    on_every_route(&[("host", HOST)], 401, "no_token", true).await;
}

#[tokio::test]
async fn promise_16_no_route_does_anything_with_a_wrong_token() {
    for wrong in ["Bearer nonsense", "Bearer ", "Basic dXNlcjpwYXNz", TOKEN, "Bearer 0123456789"] {
        on_every_route(&[("host", HOST), ("authorization", wrong)], 401, "no_token", true).await;
    }
    let twice = [("host", HOST), ("authorization", &bearer()), ("authorization", "Bearer x")];
    on_every_route(&twice, 401, "no_token", true).await;
}

#[tokio::test]
async fn promise_16_a_token_in_the_query_is_no_token() {
    let rig = Rig::new().await;
    for name in ["token", "access_token", "authorization"] {
        let path = format!("/api/v1/project?{name}={TOKEN}");
        rig.send(with(&Method::GET, &path, &[("host", HOST)])).await.is_problem(401, "no_token");
    }
}

#[tokio::test]
async fn promise_16_no_route_answers_to_a_name_that_is_not_the_servers() {
    let bearer = bearer();
    let wrong = [
        "evil.example",
        "evil.example:7070",
        "127.0.0.1",
        "127.0.0.1:7071",
        "127.0.0.1.evil.example:7070",
        "localhost.:7070",
        "user@127.0.0.1:7070",
        "",
    ];
    for host in wrong {
        let headers = [("host", host), ("authorization", bearer.as_str())];
        on_every_route(&headers, 421, "foreign_host", false).await;
    }
}

#[tokio::test]
async fn promise_16_no_route_answers_without_a_name_or_to_two() {
    let bearer = bearer();
    on_every_route(&[("authorization", &bearer)], 421, "foreign_host", false).await;
    let twice = [("host", HOST), ("host", HOST), ("authorization", &bearer)];
    on_every_route(&twice, 421, "foreign_host", false).await;
}

#[tokio::test]
async fn promise_16_a_foreign_name_in_the_request_line_is_refused_too() {
    let rig = Rig::new().await;
    let headers = [("host", HOST), ("authorization", &bearer())];
    let path = "http://evil.example/api/v1/project";
    rig.send(with(&Method::GET, path, &headers)).await.is_problem(421, "foreign_host");
    let path = format!("http://{HOST}/api/v1/project");
    assert_eq!(rig.send(with(&Method::GET, &path, &headers)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn promise_16_a_rebound_name_is_not_let_in_because_its_origin_says_the_same() {
    let headers = [
        ("host", "evil.example:7070"),
        ("origin", "http://evil.example:7070"),
        ("authorization", &bearer()),
    ];
    on_every_route(&headers, 421, "foreign_host", false).await;
}

#[tokio::test]
async fn promise_16_no_route_serves_a_page_from_a_foreign_origin() {
    let bearer = bearer();
    let wrong = [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1",
        "http://127.0.0.1:3000",
        "https://127.0.0.1:7070",
        "http://127.0.0.1:7070/",
        "http://127.0.0.1:7070.evil.example",
        "https://musher.example.evil.example",
        "HTTPS://MUSHER.EXAMPLE",
    ];
    for origin in wrong {
        let headers = [("host", HOST), ("origin", origin), ("authorization", bearer.as_str())];
        on_every_route(&headers, 403, "foreign_origin", false).await;
    }
    let twice = [("host", HOST), ("origin", GUEST), ("origin", GUEST), ("authorization", &bearer)];
    on_every_route(&twice, 403, "foreign_origin", false).await;
}

#[tokio::test]
async fn promise_16_no_route_serves_a_request_that_a_browser_says_is_from_elsewhere() {
    let bearer = bearer();
    for site in ["cross-site", "same-site", "nonsense"] {
        let headers =
            [("host", HOST), ("sec-fetch-site", site), ("authorization", bearer.as_str())];
        on_every_route(&headers, 403, "cross_site", false).await;
    }
}

#[tokio::test]
async fn the_servers_own_pages_and_programs_on_this_machine_are_served() {
    let rig = Rig::new().await;
    let hosts = ["127.0.0.1:7070", "localhost:7070", "LOCALHOST:7070", "[::1]:7070"];
    for host in hosts {
        for origin in [None, Some("http://127.0.0.1:7070"), Some("http://localhost:7070")] {
            for site in [None, Some("same-origin"), Some("none")] {
                let bearer = bearer();
                let mut headers = vec![("host", host), ("authorization", &bearer)];
                headers.extend(origin.map(|origin| ("origin", origin)));
                headers.extend(site.map(|site| ("sec-fetch-site", site)));
                let reply = rig.send(with(&Method::GET, "/api/v1/project", &headers)).await;
                assert_eq!(reply.status, StatusCode::OK, "{headers:?}");
                assert!(!reply.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
            }
        }
    }
}

#[tokio::test]
async fn a_configured_origin_may_ask_and_read_and_no_other() {
    let rig = Rig::new().await;
    let headers = [
        ("host", HOST),
        ("origin", GUEST),
        ("sec-fetch-site", "cross-site"),
        ("access-control-request-method", "POST"),
    ];
    let reply = rig.send(with(&Method::OPTIONS, "/api/v1/stories", &headers)).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
    assert_eq!(reply.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], GUEST);
    assert!(!reply.headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
    let request = ask(Method::GET, "/api/v1/project").header("origin", GUEST);
    let reply = rig.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], GUEST);
    // A guest may read why it was refused.
    let reply = rig.send(with(&Method::GET, "/api/v1/project", &headers[..2])).await;
    reply.is_problem(401, "no_token");
    assert_eq!(reply.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], GUEST);
}

#[tokio::test]
async fn what_holds_no_data_needs_no_token_and_tells_none() {
    let rig = Rig::new().await;
    rig.add("A secret title").await;
    for path in ["/", "/healthz"] {
        let reply = rig.send(with(&Method::GET, path, &[("host", HOST)])).await;
        assert_eq!(reply.status, StatusCode::OK, "{path}");
        assert!(
            !reply.text().contains("secret") && !reply.text().contains("demo"),
            "{}",
            reply.text()
        );
    }
}

#[tokio::test]
async fn every_page_is_the_same_file_that_may_do_nothing_but_speak_to_its_own_server() {
    let rig = Rig::new().await;
    let first = rig.send(with(&Method::GET, "/", &[("host", HOST)])).await;
    for path in ["/inbox", "/inbox/r1/a1", "/stories/s1", "/runs/r1/changes", "/settings"] {
        let reply = rig.send(with(&Method::GET, path, &[("host", HOST)])).await;
        assert_eq!((reply.status, reply.text()), (StatusCode::OK, first.text()), "{path}");
        assert_eq!(reply.headers[header::CACHE_CONTROL], "no-cache");
        let policy = reply.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self';",
            "connect-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    let known = first.headers[header::ETAG].to_str().unwrap();
    let again =
        rig.send(with(&Method::GET, "/board", &[("host", HOST), ("if-none-match", known)])).await;
    assert_eq!((again.status, again.text()), (StatusCode::NOT_MODIFIED, String::new()));
}

#[tokio::test]
async fn the_files_of_a_page_are_packed_as_the_client_takes_them_and_kept_for_ever() {
    let rig = Rig::new().await;
    let page = rig.send(with(&Method::GET, "/", &[("host", HOST)])).await.text();
    let Some(asset) = page.split('"').find(|part| part.starts_with("/assets/")) else {
        // It was built without Node, and has no files.
        assert!(page.contains("MUSHER_WEB_DIST"), "{page}");
        return;
    };
    for (accepted, encoding) in
        [("br, gzip", Some("br")), ("gzip", Some("gzip")), ("identity", None)]
    {
        let headers = [("host", HOST), ("accept-encoding", accepted)];
        let reply = rig.send(with(&Method::GET, asset, &headers)).await;
        assert_eq!(reply.status, StatusCode::OK);
        let told = reply.headers.get(header::CONTENT_ENCODING).map(|told| told.to_str().unwrap());
        assert_eq!(told, encoding);
        assert!(reply.headers[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        assert_eq!(reply.headers[header::VARY], "accept-encoding");
    }
    for wrong in
        ["/assets/", "/assets/nothing.js", "/assets/../index.html", "/assets/%2e%2e/index.html"]
    {
        rig.send(with(&Method::GET, wrong, &[("host", HOST)]))
            .await
            .is_problem(404, "no_such_path");
    }
}

#[tokio::test]
async fn the_one_time_code_gives_a_token_once() {
    let rig = Rig::new().await;
    let exchange = |code: &str| {
        let body = serde_json::json!({ "code": code }).to_string();
        let mut request = order(Method::POST, "/api/v1/token", body);
        request.headers_mut().remove(header::AUTHORIZATION);
        request
    };
    rig.send(exchange("wrong")).await.is_problem(403, "wrong_code");
    rig.send(exchange("")).await.is_problem(403, "wrong_code");
    let reply = rig.send(exchange(crate::rig::CODE)).await;
    let token = reply.json()["token"].as_str().unwrap().to_owned();
    assert_ne!(token, TOKEN, "what opens everything for good is not given away");
    let headers = [("host", HOST), ("authorization", &format!("Bearer {token}"))];
    let project = rig.send(with(&Method::GET, "/api/v1/project", &headers)).await;
    assert_eq!(project.status, StatusCode::OK, "{}", project.text());
    assert_eq!(reply.headers[header::CACHE_CONTROL], "no-store");
    rig.send(exchange(crate::rig::CODE)).await.is_problem(403, "wrong_code");
}
