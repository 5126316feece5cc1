//! The Anthropic Messages wire: routes, and the way from a request to a scenario and back.

mod message;
mod refusal;
mod request;
mod stream;
mod valid;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{any, get, post};
use bytes::Bytes;
use serde_json::{Value, json};

use super::body::{End, Piece, Receipt, body, split};
use super::conversation::Conversation;
use super::desk::{Desk, Line};
use super::ledger::{Call, Usage};
use super::reply::{Answer, Ending, Refusal, Reply};
use super::{mint, scenario};

/// The largest request that the vendor takes.
const LARGEST: usize = 32 * 1024 * 1024;

const MESSAGES: &str = "/v1/messages";

pub(super) fn routes(desk: Arc<Desk>) -> Router {
    Router::new()
        .route(MESSAGES, post(messages).fallback(any(nothing_here)))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/", get(|| async { "" }))
        .fallback(nothing_here)
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(desk)
}

async fn nothing_here(uri: Uri) -> Response {
    refusal::response(&Refusal::new(404, format!("Not found: {}", uri.path())))
}

async fn messages(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let request = match read(&headers, body) {
        Ok(request) => request,
        Err(refusal) => {
            let line = desk.open(unreadable());
            desk.answered(line, refusal.status, Usage::default());
            return refusal::response(&refusal);
        }
    };
    let conversation = request::conversation(MESSAGES, &request);
    let line = desk.open(conversation.call());
    let answer = match valid::check(&headers, &request) {
        Ok(()) => scenario::answer(&conversation, &desk),
        Err(refusal) => Answer::Refuse(refusal),
    };
    match answer {
        Answer::Hang => std::future::pending().await,
        Answer::Refuse(refusal) => {
            desk.answered(line, refusal.status, Usage::default());
            refusal::response(&refusal)
        }
        Answer::Garbage => {
            desk.answered(line, 200, Usage::default());
            let kind = if conversation.stream { stream::KIND } else { message::KIND };
            ok(kind, Body::from("<html>this is neither an event stream nor JSON\0\u{fffd}\n"))
        }
        Answer::Reply(reply) => {
            tokio::time::sleep(reply.delay).await;
            deliver(&conversation, &reply, &desk, line)
        }
    }
}

/// A plain answer cannot carry an error after a 200, so there the overload is an error answer of its own.
fn deliver(conversation: &Conversation, reply: &Reply, desk: &Arc<Desk>, line: Line) -> Response {
    if !conversation.stream && reply.ending == Ending::Overloaded {
        desk.answered(line, 529, Usage::default());
        return refusal::response(&Refusal::new(529, "Overloaded"));
    }
    let (kind, told, pieces) = if conversation.stream {
        let pieces = stream::pieces(&conversation.model, reply);
        (stream::KIND, reply.usage.at_start(), pieces)
    } else {
        let pieces = message::pieces(&conversation.model, reply);
        (message::KIND, Usage::default(), pieces)
    };
    desk.answered(line, 200, told);
    let receipt = (reply.ending == Ending::Complete).then(|| Receipt {
        desk: Arc::clone(desk),
        line,
        usage: reply.usage,
    });
    let end = match reply.ending {
        Ending::Complete | Ending::Overloaded => End::Close,
        Ending::Silence => End::Silence,
        Ending::Cut => End::Abort,
    };
    ok(kind, body(split(pieces, reply.split), end, receipt))
}

async fn count_tokens(headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    let checked = read(&headers, body).and_then(|request| {
        valid::check_count(&headers, &request)?;
        Ok(request)
    });
    match checked {
        // Four bytes a token is the usual rule of thumb; nothing in the tests may lean on the figure.
        Ok(request) => {
            let tokens = request.to_string().len() / 4;
            ok(message::KIND, Body::from(json!({"input_tokens": tokens}).to_string()))
        }
        Err(refusal) => refusal::response(&refusal),
    }
}

fn read(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Value, Refusal> {
    valid::check_key(headers)?;
    let body = body.map_err(|_| Refusal::new(413, "Request exceeds the maximum size"))?;
    match serde_json::from_slice(&body) {
        Ok(request @ Value::Object(_)) => Ok(request),
        Ok(_) | Err(_) => Err(Refusal::new(400, "The request body is not valid JSON")),
    }
}

/// The ledger line of a request that cannot be read.
fn unreadable() -> Call {
    let nothing = request::conversation(MESSAGES, &Value::Null);
    Call { scenario: "invalid".to_owned(), ..nothing.call() }
}

fn ok(kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::OK;
    refusal::set(&mut response, "content-type", kind);
    refusal::set(&mut response, "request-id", &format!("req_{}", mint::unique()));
    response
}

/// One write without a wait before it.
fn piece(bytes: impl Into<Bytes>) -> Piece {
    Piece { wait: std::time::Duration::ZERO, bytes: bytes.into() }
}
