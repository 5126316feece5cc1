//! The document at `/openapi.json` and the router are one.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::access::table;
use crate::rig::{Rig, ask, order};

/// Commands whose repetition does no harm, so that they need no name.
const DONE_ONCE: &[&str] =
    &["post /api/v1/tokens", "post /api/v1/project/reload", "post /api/v1/link"];

#[tokio::test]
async fn every_path_in_the_document_is_served() {
    let rig = Rig::new().await;
    for (method, path) in table() {
        let request = match method {
            Method::GET => ask(method.clone(), &path).body(Body::empty()).unwrap(),
            _ => order(method.clone(), &path, json!({}).to_string()),
        };
        let response = tower::ServiceExt::oneshot(rig.router.clone(), request).await.unwrap();
        let (parts, body) = response.into_parts();
        let streams =
            parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        if parts.status.is_success() && streams {
            continue;
        }
        let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&body);
        assert!(
            !text.contains("no_such_path") && !text.contains("no_such_method"),
            "{method} {path}: {text}"
        );
        assert_ne!(parts.status, StatusCode::INTERNAL_SERVER_ERROR, "{method} {path}: {text}");
    }
}

#[tokio::test]
async fn the_document_is_served_as_it_is_kept_in_the_repository() {
    let rig = Rig::new().await;
    let served = rig.get("/openapi.json").await.json();
    let text = format!("{}\n", serde_json::to_string_pretty(&served).unwrap());
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let known = std::fs::read_to_string(kept).unwrap_or_default();
    if known != text {
        let fresh = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("openapi.json");
        std::fs::write(&fresh, &text).unwrap();
        let differ = known.lines().zip(text.lines()).find(|(old, new)| old != new);
        panic!(
            "docs/openapi.json is not what the server serves; look at it, then:\n  cp {} docs/openapi.json\nfirst \
             difference: {differ:?}",
            fresh.display()
        );
    }
}

#[tokio::test]
async fn every_operation_has_a_name_a_summary_and_the_shape_of_its_problems() {
    let document = serde_json::to_value(musher::api::openapi()).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let at = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{at}");
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{at}");
            let open = operation["security"] == json!([{}]);
            assert_eq!(
                open,
                matches!(at.as_str(), "get /" | "get /healthz" | "post /api/v1/token"),
                "{at}"
            );
            if !matches!(at.as_str(), "get /" | "get /healthz") {
                assert!(operation["responses"]["default"].is_object(), "{at}");
            }
            // What is set or taken away twice is as if it were once; the messages of `/mcp` have ids of their own.
            let once = DONE_ONCE.contains(&at.as_str()) || path == "/mcp";
            if method == "post" && !open && !once {
                let parameters = operation["parameters"].to_string();
                assert!(parameters.contains("idempotency-key"), "{at}");
            }
        }
    }
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document = serde_json::to_value(musher::api::openapi()).unwrap();
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}
