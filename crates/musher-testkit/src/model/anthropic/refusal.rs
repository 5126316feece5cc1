//! Error answers in Anthropic's format.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;

use crate::model::mint;
use crate::model::reply::Refusal;

pub(super) fn response(refusal: &Refusal) -> Response {
    let id = format!("req_{}", mint::unique());
    let body = json!({
        "type": "error",
        "error": {"type": kind(refusal.status), "message": refusal.message},
        "request_id": id,
    });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    set(&mut response, "content-type", "application/json");
    set(&mut response, "request-id", &id);
    for (name, value) in &refusal.headers {
        set(&mut response, name, value);
    }
    response
}

/// Sets a header; a value that HTTP cannot carry is left out.
pub(super) fn set(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

fn kind(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        405..=499 => "invalid_request_error",
        _ => "api_error",
    }
}
