//! The reply that carries server-sent events.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;

pub(super) const CONTENT_TYPE: &str = "text/event-stream";

/// The reply that carries a stream of framed pieces.
pub(super) fn reply<S>(pieces: S) -> Response
where
    S: Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static,
{
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}
