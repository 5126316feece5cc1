//! The way from a request to a scenario and back, the same for every wire format.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;

use super::asked::{Asked, BodyState, Key};
use super::body::{End, Piece, Receipt, body, halve, split};
use super::conversation::{Conversation, Wire};
use super::desk::{Desk, Line};
use super::ledger::{Call, Usage};
use super::quirk::Quirk;
use super::reply::{Answer, Ending, Reply};
use super::scenario;
use super::trouble::{Fault, Refusal, Trouble, set};

const JSON: &str = "application/json";

/// A wire format: how it reads requests, what it refuses, and how it writes answers.
pub(super) trait Format: 'static {
    fn key(asked: &Asked) -> Key;

    /// Reads a request leniently; what is invalid is judged by `check`.
    fn conversation(asked: &Asked) -> Conversation;

    /// Refuses what the vendor documents as invalid.
    fn check(asked: &Asked) -> Result<(), Refusal>;

    /// An error in the vendor's words.
    fn refuse(fault: &Fault) -> Refusal;

    /// The content type of a streamed answer.
    fn stream_kind(asked: &Asked) -> &'static str;

    fn stream(asked: &Asked, talk: &Conversation, reply: &Reply) -> Vec<Piece>;

    /// The whole answer as one JSON value.
    fn plain(asked: &Asked, talk: &Conversation, reply: &Reply) -> Value;

    /// What a stream tells about usage before it is over.
    fn told_at_start(reply: &Reply) -> Usage;

    /// What the whole answer tells about usage, in the kinds that the vendor knows.
    fn told(asked: &Asked, talk: &Conversation, reply: &Reply) -> Usage;

    /// Headers of every good answer.
    fn headers() -> Vec<(&'static str, String)>;
}

pub(super) async fn take<F: Format>(
    State(desk): State<Arc<Desk>>,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let (asked, request) = Asked::new(&uri, headers, body);
    let talk = F::conversation(&asked);
    if let Err(trouble) = readable::<F>(&asked, &talk) {
        let refusal = F::refuse(&Fault::from(trouble));
        let line = desk.open(Call { scenario: "invalid".to_owned(), ..talk.call() }, request);
        desk.answered(line, refusal.status, Usage::default());
        return refusal.response();
    }
    let line = desk.open(talk.call(), request);
    let refuse = |refusal: &Refusal| {
        if talk.wire == Wire::Chat && talk.stream && talk.quirks().has(Quirk::Error200) {
            desk.answered(line, 200, Usage::default());
            return error_inside::<F>(&asked, &refusal.body);
        }
        desk.answered(line, refusal.status, Usage::default());
        refusal.response()
    };
    if let Err(refusal) = F::check(&asked) {
        return refuse(&refusal);
    }
    match scenario::answer(&talk, &desk) {
        Answer::Hang => std::future::pending().await,
        Answer::Refuse(fault) => refuse(&F::refuse(&fault)),
        Answer::Garbage => {
            desk.answered(line, 200, Usage::default());
            let kind = if talk.stream { F::stream_kind(&asked) } else { JSON };
            ok::<F>(kind, Body::from("<html>this is neither an event stream nor JSON\0\u{fffd}\n"))
        }
        Answer::Page(status) => {
            desk.answered(line, status, Usage::default());
            page(status)
        }
        Answer::Reply(reply) => {
            tokio::time::sleep(reply.delay).await;
            deliver::<F>(&asked, &talk, &reply, &desk, line)
        }
    }
}

/// A request must carry a key and a body before it is worth a look.
fn readable<F: Format>(asked: &Asked, talk: &Conversation) -> Result<(), Trouble> {
    match F::key(asked) {
        Key::Missing if !talk.quirks().has(Quirk::Keyless) => return Err(Trouble::NoKey),
        Key::Wrong => return Err(Trouble::WrongKey),
        Key::Missing | Key::Good => {}
    }
    match asked.state {
        BodyState::Read => Ok(()),
        BodyState::TooLarge => Err(Trouble::TooLarge),
        BodyState::NotJson => Err(Trouble::NotJson),
    }
}

fn deliver<F: Format>(
    asked: &Asked,
    talk: &Conversation,
    reply: &Reply,
    desk: &Arc<Desk>,
    line: Line,
) -> Response {
    // A plain answer cannot carry an error after a 200, so there it is an error answer of its own.
    if let (false, Ending::Error(mishap)) = (talk.stream, reply.ending) {
        let refusal = F::refuse(&mishap.fault());
        desk.answered(line, refusal.status, Usage::default());
        return refusal.response();
    }
    let (kind, told, pieces) = if talk.stream {
        (F::stream_kind(asked), F::told_at_start(reply), F::stream(asked, talk, reply))
    } else {
        let text = F::plain(asked, talk, reply).to_string();
        let pieces = vec![Piece::now(text)];
        // Half a JSON text is the only way in which a plain answer can break off.
        let pieces = if reply.ending == Ending::Complete { pieces } else { halve(pieces) };
        (JSON, Usage::default(), pieces)
    };
    let half = talk.stream && reply.ending == Ending::Half;
    // Half of the first event tells nothing.
    let told = if half && pieces.len() == 1 { Usage::default() } else { told };
    let pieces = if half { halve(pieces) } else { pieces };
    desk.answered(line, 200, told);
    let receipt = (reply.ending == Ending::Complete).then(|| Receipt {
        desk: Arc::clone(desk),
        line,
        usage: F::told(asked, talk, reply),
    });
    let end = match reply.ending {
        Ending::Complete | Ending::Error(_) | Ending::Eof | Ending::Half => End::Close,
        Ending::Silence => End::Silence,
        Ending::Cut => End::Abort,
    };
    ok::<F>(kind, body(split(pieces, reply.split), end, receipt))
}

pub(super) fn ok<F: Format>(kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    set(&mut response, "content-type", kind);
    for (name, value) in F::headers() {
        set(&mut response, name, &value);
    }
    response
}

/// An error in the stream of an answer that says that all is well.
fn error_inside<F: Format>(asked: &Asked, error: &Value) -> Response {
    ok::<F>(F::stream_kind(asked), Body::from(format!("data: {error}\n\n")))
}

fn page(status: u16) -> Response {
    let page = format!(
        "<!DOCTYPE html>\n<html><head><title>{status}</title></head>\n<body><h1>{status}</h1>the proxy is unhappy</body></html>\n"
    );
    let mut response = Response::new(Body::from(page));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    set(&mut response, "content-type", "text/html; charset=utf-8");
    response
}

#[cfg(test)]
mod tests;
