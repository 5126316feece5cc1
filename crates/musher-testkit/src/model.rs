//! A model server on loopback whose answers are chosen by a marker in the prompt, and which keeps the bill.

mod anthropic;
mod asked;
mod body;
mod chat;
mod conversation;
mod desk;
mod format;
mod gemini;
mod ledger;
mod marker;
mod mint;
mod openai;
mod quirk;
mod reply;
mod responses;
mod scenario;
mod sse;
mod trouble;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

pub use asked::Request;
use desk::Desk;
pub use ledger::{Call, Ledger, Usage};

/// The largest request that is taken.
const LARGEST: usize = 32 * 1024 * 1024;

/// A running model server. Dropping it closes every connection, also those that it was told to leave hanging.
#[derive(Debug)]
pub struct ModelServer {
    url: String,
    desk: Arc<Desk>,
    /// The server has a runtime of its own, so that a test may pause its clock and so that a drop ends all connections.
    runtime: Option<Runtime>,
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_on(0).await
    }

    /// Starts a server on the given port of 127.0.0.1; 0 takes a free one.
    pub async fn start_on(port: u16) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("scripted-model")
            .enable_all()
            .build()
            .context("starting the runtime of the model server")?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("binding 127.0.0.1:{port}"))?;
        listener.set_nonblocking(true)?;
        let address: SocketAddr = listener.local_addr()?;
        let desk = Arc::new(Desk::default());
        let app = anthropic::routes()
            .merge(responses::routes())
            .merge(chat::routes())
            .merge(gemini::routes())
            .fallback(nothing_here)
            .layer(DefaultBodyLimit::max(LARGEST))
            .with_state(Arc::clone(&desk))
            .merge(ledger_route(Arc::clone(&desk)));
        {
            let _inside = runtime.enter();
            let listener = TcpListener::from_std(listener)?;
            runtime.spawn(serve(listener, app));
        }
        Ok(Self { url: format!("http://{address}"), desk, runtime: Some(runtime) })
    }

    /// The base URL, as `ANTHROPIC_BASE_URL` and `GOOGLE_GEMINI_BASE_URL` want it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The base URL with the version in it, as `OPENAI_BASE_URL` wants it.
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// The latest model requests as they came in, oldest first; each names its line of the ledger.
    pub fn requests(&self) -> Vec<Request> {
        self.desk.requests()
    }

    /// A snapshot of every model request so far, with what was charged for it.
    pub fn ledger(&self) -> Ledger {
        self.desk.ledger()
    }

    /// How many requests named this scenario; side requests are counted under `side`.
    pub fn calls_of(&self, scenario: &str) -> usize {
        self.ledger().calls_of(scenario)
    }

    /// The last thing the user said in each request, in the order of the ledger.
    pub fn prompts(&self) -> Vec<String> {
        self.ledger().calls.into_iter().map(|call| call.prompt).collect()
    }

    /// Forgets the ledger, the requests and every "fail n times" counter.
    pub fn reset(&self) {
        self.desk.reset();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(listener: TcpListener, app: Router) {
    use axum::serve::ListenerExt as _;
    // Without this the kernel would glue small pieces together and a slow stream would look like a fast one.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    // The accept loop never ends by itself; it is dropped with the runtime.
    let _ = axum::serve(listener, app).await;
}

/// A path that nobody serves is refused by the vendor to whose paths it is the nearest.
async fn nothing_here(uri: Uri) -> Response {
    if uri.path().starts_with("/v1beta") {
        gemini::nothing_here(&uri)
    } else {
        anthropic::nothing_here(uri).await
    }
}

fn ledger_route(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/ledger", axum::routing::get(move || async move { axum::Json(desk.ledger()) }))
}
