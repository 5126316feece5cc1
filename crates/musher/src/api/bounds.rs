//! How long a request may take, and how many may be at work at once.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::ProblemReply;

/// Requests at work at once, streams aside. One more is refused at once, so that nobody waits in vain.
pub const REQUESTS: usize = 512;
/// Streams that may be open at once.
pub const STREAMS: usize = 20_000;

/// The room that one kind of request has.
#[derive(Debug, Clone)]
pub(super) struct RequestRoom {
    places: Arc<Semaphore>,
    time: Duration,
}

impl RequestRoom {
    pub(super) fn new(places: usize, time: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), time }
    }
}

/// Gives a request a place and a time, or refuses it.
pub(super) async fn bounded(
    State(bounds): State<RequestRoom>,
    request: Request,
    next: Next,
) -> Response {
    let Ok(_place) = bounds.places.try_acquire() else {
        return ProblemReply::busy("too_many_requests", "too many requests are at work", 1)
            .into_response();
    };
    match tokio::time::timeout(bounds.time, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let seconds = bounds.time.as_secs();
            let detail = format!("the request was not done within {seconds} s");
            ProblemReply::busy("timed_out", detail, 5).into_response()
        }
    }
}

/// A place for one stream, which is held as long as the stream lives.
pub(super) fn place(streams: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ProblemReply> {
    let full = |_| ProblemReply::busy("too_many_streams", "too many streams are open", 10);
    Arc::clone(streams).try_acquire_owned().map_err(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_stream_is_gone() {
        let streams = Arc::new(Semaphore::new(1));
        let held = place(&streams).unwrap();
        let full = place(&streams).unwrap_err();
        assert_eq!((full.status().as_u16(), full.code()), (503, "too_many_streams"));
        drop(held);
        drop(place(&streams).unwrap());
    }
}
