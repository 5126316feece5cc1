//! The Anthropic Messages wire: its routes, and how it reads and writes.

mod message;
mod refusal;
mod request;
mod stream;
mod valid;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::{any, get, post};
use bytes::Bytes;
use serde_json::{Value, json};

use super::asked::{Asked, BodyState, Key};
use super::body::Piece;
use super::conversation::Conversation;
use super::desk::Desk;
use super::format::{self, Format};
use super::ledger::Usage;
use super::reply::Reply;
use super::trouble::{Fault, Refusal, Trouble};
use super::{mint, sse};

pub(super) fn routes() -> Router<Arc<Desk>> {
    Router::new()
        .route("/v1/messages", post(format::take::<Messages>).fallback(any(nothing_here)))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/", get(|| async { "" }))
}

pub(super) async fn nothing_here(uri: Uri) -> Response {
    refusal::refuse(&Trouble::NoPath(uri.path().to_owned()).into()).response()
}

/// The format as a type.
#[derive(Debug)]
pub(super) struct Messages;

impl Format for Messages {
    fn key(asked: &Asked) -> Key {
        match Key::judge(asked.header("x-api-key")) {
            Key::Missing => Key::judge(asked.bearer()),
            judged @ (Key::Wrong | Key::Good) => judged,
        }
    }

    fn conversation(asked: &Asked) -> Conversation {
        request::conversation(asked)
    }

    fn check(asked: &Asked) -> Result<(), Refusal> {
        valid::check(asked)
    }

    fn refuse(fault: &Fault) -> Refusal {
        refusal::refuse(fault)
    }

    fn stream_kind(_: &Asked) -> &'static str {
        sse::KIND
    }

    fn stream(_: &Asked, talk: &Conversation, reply: &Reply) -> Vec<Piece> {
        stream::pieces(&talk.model, reply)
    }

    fn plain(_: &Asked, talk: &Conversation, reply: &Reply) -> Value {
        message::whole(&talk.model, reply)
    }

    fn kinds(usage: Usage) -> Usage {
        usage
    }

    fn plain_tells(_: &Reply) -> bool {
        true
    }

    fn headers() -> Vec<(&'static str, String)> {
        vec![("request-id", format!("req_{}", mint::unique()))]
    }
}

async fn count_tokens(
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let (asked, _) = Asked::new(&uri, headers, body);
    let trouble = match (Messages::key(&asked), asked.state) {
        (Key::Missing, _) => Some(Trouble::NoKey),
        (Key::Wrong, _) => Some(Trouble::WrongKey),
        (Key::Good, BodyState::TooLarge) => Some(Trouble::TooLarge),
        (Key::Good, BodyState::NotJson) => Some(Trouble::NotJson),
        (Key::Good, BodyState::Read) => None,
    };
    let checked = match trouble {
        Some(trouble) => Err(refusal::refuse(&trouble.into())),
        None => valid::check_count(&asked),
    };
    match checked {
        // Four bytes a token is the usual rule of thumb; nothing in the tests may lean on the figure.
        Ok(()) => {
            let tokens = asked.body.to_string().len() / 4;
            let count = json!({"input_tokens": tokens}).to_string();
            format::ok::<Messages>("application/json", Body::from(count))
        }
        Err(refusal) => refusal.response(),
    }
}
