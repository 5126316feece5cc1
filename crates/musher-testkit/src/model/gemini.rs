//! The Gemini wire: its routes, and how it reads and writes.

mod refusal;
mod request;
mod schema;
mod stream;
mod valid;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;
use serde_json::{Value, json};

use super::asked::{Asked, Key};
use super::body::Piece;
use super::conversation::Conversation;
use super::desk::Desk;
use super::format::{self, Format};
use super::ledger::Usage;
use super::reply::Reply;
use super::sse;
use super::trouble::{Fault, Refusal, Trouble};

pub(super) fn routes() -> Router<Arc<Desk>> {
    Router::new().route("/v1beta/models/{call}", post(take))
}

/// The method stands behind a colon at the end of the path.
async fn take(
    state: State<Arc<Desk>>,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match request::method(uri.path()) {
        "generateContent" | "streamGenerateContent" => {
            format::take::<Gemini>(state, uri, headers, body).await
        }
        "countTokens" => {
            let (asked, _) = Asked::new(&uri, headers, body);
            let tokens = asked.body.to_string().len() / 4;
            axum::Json(json!({"totalTokens": tokens})).into_response()
        }
        _ => nothing_here(&uri),
    }
}

pub(super) fn nothing_here(uri: &Uri) -> Response {
    refusal::refuse(&Trouble::NoPath(uri.path().to_owned()).into()).response()
}

/// The format as a type.
#[derive(Debug)]
pub(super) struct Gemini;

impl Format for Gemini {
    fn key(asked: &Asked) -> Key {
        let header = Key::judge(asked.header("x-goog-api-key"));
        if header == Key::Missing { Key::judge(asked.parameter("key")) } else { header }
    }

    fn conversation(asked: &Asked) -> Conversation {
        request::conversation(asked)
    }

    fn check(asked: &Asked) -> Result<(), Refusal> {
        schema::check(&asked.body)?;
        valid::check(request::model(&asked.path), &asked.body)
    }

    fn refuse(fault: &Fault) -> Refusal {
        refusal::refuse(fault)
    }

    fn stream_kind(asked: &Asked) -> &'static str {
        if request::is_sse(asked) { sse::KIND } else { "application/json; charset=UTF-8" }
    }

    fn stream(asked: &Asked, talk: &Conversation, reply: &Reply) -> Vec<Piece> {
        if request::is_sse(asked) {
            stream::events(&talk.model, reply)
        } else {
            stream::array(&talk.model, reply)
        }
    }

    fn plain(_: &Asked, talk: &Conversation, reply: &Reply) -> Value {
        stream::whole(&talk.model, reply)
    }

    fn kinds(usage: Usage) -> Usage {
        told(usage)
    }

    fn plain_tells(_: &Reply) -> bool {
        true
    }

    fn headers() -> Vec<(&'static str, String)> {
        vec![("server-timing", "gfet4t7; dur=12".to_owned())]
    }
}

/// The vendor knows no price for writing to the cache: what is written is plain input.
fn told(usage: Usage) -> Usage {
    Usage {
        input: usage.input + usage.cache_write_5m + usage.cache_write_1h,
        cache_write_5m: 0,
        cache_write_1h: 0,
        ..usage
    }
}

/// The usage so far. The prompt contains what was cached; thoughts are beside the candidates.
fn usage(reply: &Reply, so_far: Usage) -> Value {
    let told = told(so_far);
    let thoughts = reply.thoughts.min(told.output);
    let prompt = told.input.saturating_sub(reply.tool_prompt) + told.cache_read;
    let mut usage = json!({
        "promptTokenCount": prompt,
        "candidatesTokenCount": told.output - thoughts,
        "totalTokenCount": prompt + reply.tool_prompt + told.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    });
    // Counts of nothing are left out, as the vendor does.
    let counts = [
        ("cachedContentTokenCount", told.cache_read),
        ("thoughtsTokenCount", thoughts),
        ("toolUsePromptTokenCount", reply.tool_prompt),
    ];
    for (key, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        usage[key] = json!(count);
    }
    reply.usage_or(usage)
}
