//! Server-sent events, framed by hand: the lines of a log are copied as they are, many to one piece.

use std::fmt::Display;
use std::io::Write;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use memchr::memchr;

use crate::runner::log::{Kinds, lines};

pub(super) const CONTENT_TYPE: &str = "text/event-stream";
/// Keeps proxies and browsers from giving up a silent stream.
pub(super) const HEARTBEAT: &[u8] = b":\n\n";
/// Whoever is at the end of a log gets smaller pieces than this.
const LARGE: usize = 16 * 1024;

/// Frames the lines of a batch that are of the chosen kinds.
pub(super) fn frame(
    out: &mut Vec<u8>,
    epoch: u32,
    first: u64,
    batch: &[u8],
    kinds: Option<&Kinds>,
) {
    for (seq, line) in (first..).zip(lines(batch)) {
        if kinds.is_none_or(|kinds| kinds.has(line)) {
            numbered(out, format_args!("{epoch}.{seq}"), line);
        }
    }
}

/// One event with the id from which its reader can go on.
pub(super) fn numbered(out: &mut Vec<u8>, id: impl Display, data: &[u8]) {
    // Writing to a vector cannot fail.
    let _infallible = write!(out, "id: {id}\ndata: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

/// One event of a named kind that moves nobody's place.
pub(super) fn named(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    let _infallible = write!(out, "event: {name}\ndata: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

/// One event of a named kind, with the id from which its reader can go on.
pub(super) fn named_with_id(out: &mut Vec<u8>, id: &impl Display, name: &str, data: &[u8]) {
    let _infallible = writeln!(out, "id: {id}");
    named(out, name, data);
}

/// Moves a reader's place without an event, as when nothing of late was of a kind that it wants.
pub(super) fn moved(id: impl Display) -> Bytes {
    format!("id: {id}\n\n").into()
}

/// The events of a framed piece of a log: each with its place, its line, and the whole of its bytes.
pub(super) fn events(framed: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    let mut rest = framed;
    std::iter::from_fn(move || {
        let id = memchr(b'\n', rest)?;
        let data = id + 1 + memchr(b'\n', rest.get(id + 1..)?)?;
        let (whole, after) = rest.split_at_checked(data + 2)?;
        rest = after;
        let place = whole[..id].strip_prefix(b"id: ")?;
        Some((place, whole[id + 1..data].strip_prefix(b"data: ")?, whole))
    })
}

/// What remains of a framed piece when only some kinds are wanted.
pub(super) fn chosen(framed: &Bytes, kinds: Option<&Kinds>) -> Bytes {
    let Some(kinds) = kinds else { return framed.clone() };
    let mut out = Vec::new();
    for (_, line, whole) in events(framed) {
        if kinds.has(line) {
            out.extend_from_slice(whole);
        }
    }
    out.into()
}

/// Lets the others have a turn after each piece that is so large that more must be waiting: many who are far behind would
/// otherwise keep the threads from those who are not.
pub(super) async fn take_turns(piece: &Bytes) {
    if piece.len() >= LARGE {
        tokio::task::yield_now().await;
    }
}

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
