//! What the log tells of requests: the refused, the failed and the slow ones, and at `debug` each of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Level, debug, info, warn};

use super::problem::Reason;
use super::serve::Standing;

/// A look that takes longer than this is told.
const SLOW_READ_THRESHOLD: Duration = Duration::from_secs(2);
/// The same for a command, whose sender waits up to 10 seconds for the last word of its run.
const SLOW_COMMAND: Duration = Duration::from_secs(12);

/// Where assistants wait for runs for as long as they like.
const ASSISTANTS: &str = "/mcp";

/// Stands around everything else, so that what is refused before it is looked at is told too.
pub(super) async fn logged(request: Request, next: Next) -> Response {
    if !tracing::enabled!(Level::WARN) {
        return next.run(request).await;
    }
    // The query is left out, because it may hold a secret that must not end up in a log file.
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let client = request.extensions().get::<Arc<Standing>>().map(|standing| standing.client);
    let began = Instant::now();
    let response = next.run(request).await;
    let took = began.elapsed();
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let status = response.status();
    let reason = response.extensions().get::<Reason>();
    let (code, cause) = reason.map(|reason| (reason.code, reason.detail.as_str())).unzip();
    /// The same fields at the level of what became of it.
    macro_rules! tell {
        ($level:ident, $text:literal) => {
            $level!(
                %method,
                path,
                status = status.as_u16(),
                ms,
                client = client.map(display),
                code,
                cause,
                $text
            )
        };
    }
    let patience = match method {
        Method::GET | Method::HEAD => SLOW_READ_THRESHOLD,
        _ => SLOW_COMMAND,
    };
    match became(status, took > patience && path != ASSISTANTS) {
        Became::Failed => tell!(warn, "request failed"),
        Became::Refused => tell!(info, "request refused"),
        Became::Slow => tell!(warn, "request was slow"),
        Became::Done => tell!(debug, "request"),
    }
    response
}

/// What became of a request, as far as somebody who reads the log wants to know.
enum Became {
    Failed,
    /// At the door. What the pool refuses it tells itself, with the ids that it is about.
    Refused,
    Slow,
    Done,
}

fn became(status: StatusCode, slow: bool) -> Became {
    match status {
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::MISDIRECTED_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE => Became::Refused,
        StatusCode::INSUFFICIENT_STORAGE => Became::Done,
        status if status.is_server_error() => Became::Failed,
        _ if slow => Became::Slow,
        _ => Became::Done,
    }
}
