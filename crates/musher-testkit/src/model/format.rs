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
use super::ledger::{Call, CallEnd, Usage};
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

    /// A usage in the kinds that the vendor knows.
    fn kinds(usage: Usage) -> Usage;

    /// Whether an answer that is not streamed tells its usage.
    fn plain_tells(reply: &Reply) -> bool;

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
    let mut talk = F::conversation(&asked);
    // Some servers do not stream, whatever they are asked.
    talk.stream &= !talk.quirks().has(Quirk::NoStream);
    if let Err(trouble) = readable::<F>(&asked, &talk) {
        let refusal = F::refuse(&Fault::from(trouble));
        let line = desk.open(Call { scenario: "invalid".to_owned(), ..talk.call() }, request);
        desk.refused(line, refusal.status);
        return refusal.response();
    }
    let line = desk.open(talk.call(), request);
    let refuse = |refusal: &Refusal| {
        if talk.wire == Wire::Chat && talk.stream && talk.quirks().has(Quirk::Error200) {
            desk.refused(line, 200);
            return error_inside::<F>(&asked, &refusal.body);
        }
        desk.refused(line, refusal.status);
        refusal.response()
    };
    if let Err(refusal) = F::check(&asked) {
        return refuse(&refusal);
    }
    match scenario::answer(&talk, &desk) {
        Answer::Hang => {
            // Nobody is told, but the model works all the same.
            desk.begun(line, 0, F::kinds(Usage::MAIN));
            std::future::pending().await
        }
        Answer::Refuse(fault) => refuse(&F::refuse(&fault)),
        Answer::Garbage => {
            desk.begun(line, 200, F::kinds(Usage::MAIN));
            desk.ended(line, CallEnd::BrokenOff);
            let kind = if talk.stream { F::stream_kind(&asked) } else { JSON };
            ok::<F>(kind, Body::from("<html>this is neither an event stream nor JSON\0\u{fffd}\n"))
        }
        Answer::Text { kind, text } => {
            desk.begun(line, 200, F::kinds(Usage::MAIN));
            desk.ended(line, CallEnd::BrokenOff);
            ok::<F>(&kind, Body::from(text))
        }
        Answer::Page(status) => {
            desk.refused(line, status);
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
        desk.refused(line, refusal.status);
        return refusal.response();
    }
    let (kind, pieces) = if talk.stream {
        (F::stream_kind(asked), F::stream(asked, talk, reply))
    } else {
        let told = reply.tells(F::kinds(reply.usage)).filter(|_| F::plain_tells(reply));
        (JSON, vec![Piece::now(F::plain(asked, talk, reply).to_string()).telling(told)])
    };
    let half = match reply.ending {
        Ending::Complete => false,
        Ending::Half => true,
        // Half a JSON text is the only way in which a plain answer can break off.
        Ending::Silence | Ending::Cut | Ending::Eof | Ending::Unmarked | Ending::Error(_) => {
            !talk.stream
        }
    };
    let pieces = if half { halve(pieces) } else { pieces };
    desk.begun(line, 200, F::kinds(reply.usage));
    let whole = reply.ending == Ending::Complete;
    let receipt = Receipt {
        desk: Arc::clone(desk),
        line,
        end: if whole { CallEnd::Whole } else { CallEnd::BrokenOff },
    };
    let end = match reply.ending {
        Ending::Complete | Ending::Error(_) | Ending::Eof | Ending::Half => End::Close,
        Ending::Silence => End::Silence,
        Ending::Cut | Ending::Unmarked => End::Abort,
    };
    let kind = reply.kind.as_deref().unwrap_or(kind);
    ok::<F>(kind, body(split(pieces, reply.split), end, receipt))
}

pub(super) fn ok<F: Format>(kind: &str, body: Body) -> Response {
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
