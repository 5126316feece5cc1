//! The body of a request is whole before anything else is done for it: who sends slowly holds nothing that others need.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::Bearer;
use super::problem::ProblemReply;
use super::request::{MAX_BODY_BYTES, body_too_large, body_unread};

/// How long a body may take to come, and how long it may be, from whom a token is known and from whom none is.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);
const STRANGE_WITHIN: Duration = Duration::from_secs(5);
const STRANGE: usize = 4 * 1024;
/// A body of up to so many bytes needs no place; nearly all are shorter.
const SMALL: usize = 16 * 1024;
/// Longer bodies that may be in memory at once. One more waits.
const LARGE: usize = 64;

/// The places for long bodies.
#[derive(Debug, Clone)]
pub(super) struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LARGE)))
    }
}

/// Hands a request on when its body has come.
pub(super) async fn whole(State(bodies): State<Bodies>, request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return next.run(request).await;
    }
    let (longest, within) = match request.extensions().get::<Bearer>() {
        Some(Bearer::Owner | Bearer::Holder { .. }) => (MAX_BODY_BYTES, BODY_TIMEOUT),
        Some(Bearer::Anybody) | None => (STRANGE, STRANGE_WITHIN),
    };
    let (parts, body) = request.into_parts();
    let read = tokio::time::timeout(within, read(body, longest, &bodies)).await;
    match read.unwrap_or_else(|_| Err(late(within))) {
        Ok((bytes, _place)) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(problem) => problem.into_response(),
    }
}

async fn read(
    body: Body,
    longest: usize,
    bodies: &Bodies,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), ProblemReply> {
    let said = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if said > longest {
        return Err(body_too_large(longest));
    }
    let mut pieces = body.into_data_stream();
    let (mut whole, mut place) = (Bytes::new(), None);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| body_unread())?;
        let len = whole.len() + piece.len();
        if len > longest {
            return Err(body_too_large(longest));
        }
        if len > SMALL && place.is_none() {
            place = Arc::clone(&bodies.0).acquire_owned().await.ok();
        }
        whole = match whole.is_empty() {
            true => piece,
            false => {
                let mut longer = Vec::from(whole);
                longer.extend_from_slice(&piece);
                longer.into()
            }
        };
    }
    Ok((whole, place))
}

fn late(within: Duration) -> ProblemReply {
    ProblemReply::new(
        StatusCode::REQUEST_TIMEOUT,
        "body_late",
        format!("the body did not come within {} s", within.as_secs()),
        "send the request again, and its body with it",
    )
}
