//! The listener: takes connections, bounds what they cost, and lets them end in peace.

mod room;
mod socket;
mod standing;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::{debug, info, warn};

use room::Room;
use socket::Socket;
use standing::OpenConnections;
pub(super) use standing::Standing;

/// A client has this long to say what it wants, and to say the next thing on the same connection. One that has not shown a
/// token has less (`standing`).
const HEADERS_WITHIN: Duration = Duration::from_secs(30);
/// Headers longer than this, together, are refused.
const MAX_HEADERS_BYTES: usize = 32 * 1024;
/// What a connection may hold of requests that were not read yet.
const READ_BUFFER: usize = 64 * 1024;
/// What the kernel may hold for a client that does not read; it would take megabytes if nobody said.
const SEND_BUFFER: usize = 256 * 1024;
/// A client that takes nothing for this long is taken for dead; it can come back where it was.
const UNREAD_CLIENT_TIMEOUT: Duration = Duration::from_secs(300);
/// Replies that are under way may take this long after the server was told to end.
const REPLY_DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait when no connection can be taken, as when every file handle is in use.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until `closing`; then takes no more connections and returns when the open ones have ended.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    closing: CancellationToken,
) -> io::Result<()> {
    let crowd = OpenConnections::new(Room::of_this_process());
    let mut connections = JoinSet::new();
    let mut attempt = 0_u32;
    loop {
        let accepted = async {
            // A place comes first: what is not taken costs no file handle.
            let place = crowd.place().await;
            (listener.accept().await, place)
        };
        tokio::select! {
            () = closing.cancelled() => break,
            accepted = accepted => match accepted {
                (Ok((stream, client)), Some(place)) => {
                    attempt = 0;
                    let standing = crowd.enter(place, client);
                    let served = connection(stream, standing, router.clone(), closing.clone());
                    connections.spawn(served);
                }
                (Ok(_), None) => {}
                (Err(error), _) if is_of_one_client(&error) => {
                    debug!(cause = %error, "connection was gone before it was taken");
                }
                (Err(error), _) => {
                    attempt += 1;
                    if attempt.is_power_of_two() {
                        warn!(attempt, cause = %error, "no connection can be taken, trying again");
                    }
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
            Some(_ended) = connections.join_next() => {}
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    // Whoever is still there after that is cut off when the set is dropped.
    if tokio::time::timeout(REPLY_DRAIN_TIMEOUT, ended).await.is_err() {
        info!(connections = connections.len(), "connections were cut off at the end");
    }
    Ok(())
}

fn is_of_one_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(
    stream: TcpStream,
    standing: Arc<Standing>,
    router: Router,
    closing: CancellationToken,
) {
    // A connection that cannot be tuned still works.
    let _untuned = stream.set_nodelay(true);
    let _untuned = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER);
    let unread = u32::try_from(UNREAD_CLIENT_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    let _untuned = rustix::net::sockopt::set_tcp_user_timeout(&stream, unread);
    let known = Arc::clone(&standing);
    let service = service_fn(move |mut request: Request<Incoming>| {
        standing.speaks();
        request.extensions_mut().insert(Arc::clone(&standing));
        router.clone().oneshot(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_header_size(MAX_HEADERS_BYTES)
        .max_buf_size(READ_BUFFER)
        .serve_connection(TokioIo::new(Socket(stream)), service);
    let mut served = pin!(served);
    tokio::select! {
        ended = served.as_mut() => {
            // What went wrong on a client's connection is the client's to know.
            if let Err(error) = ended {
                debug!(client = %known.client, cause = %error, "connection broke");
            }
            return;
        }
        () = known.unwelcome() => return,
        () = closing.cancelled() => {}
    }
    served.as_mut().graceful_shutdown();
    let _ended = served.await;
}
