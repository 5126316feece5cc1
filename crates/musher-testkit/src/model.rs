//! A model server on loopback whose answers are chosen by a marker in the prompt, and which keeps the bill.
//!
//! It speaks four wire formats, each streaming and not, and shares no code with any client of them:
//!
//! | format | path |
//! |---|---|
//! | Anthropic Messages | `POST /v1/messages`, `/v1/messages/count_tokens` |
//! | OpenAI Responses | `POST /v1/responses` |
//! | Chat Completions | `POST /v1/chat/completions` |
//! | Gemini | `POST /v1beta/models/{model}:generateContent`, `:streamGenerateContent` (with `?alt=sse` or as one array), `:countTokens` |
//!
//! # Scenarios
//!
//! The last marker `[[scn:NAME key=value …]]` in what the user said chooses the scenario. In a value `_` means a blank;
//! quoted values are taken as they are, with `\"` and `\n`; so are `path`, `file`, `tool` and `args`. The step of a
//! scenario is read off the tool-call ids in the conversation, or off the number of messages with calls where the client
//! had to make up the ids. So the server remembers no conversation, and resuming, forking and replaying just work.
//! A request without tools is a side request: it gets a title, or what `side` says.
//!
//! | scenarios | what they do |
//! |---|---|
//! | `text` `echo` `think` `long` `utf8` | Talk. `say` is the text, `about` the thought; `redacted=true` hides it. `echo` tells how much history it was shown. |
//! | `slow` `drip` | Talk slowly: `n` pieces, or byte by byte, every `ms`. |
//! | `maxtok` `ctxstop` `refusal` `filter` `blocked` `finish` `pause` `empty` | End in another way. `finish` ends in the very words of the format: `reason`, `status` and `event`, `none` for none, with the call of `tool` if there is one; `blocked reason=SAFETY` names why; `empty n=1` is empty once; `pause` goes on when the model's words are handed back. |
//! | `bash` `bash_fail` `bash_sleep` `bash_big` `write` `edit` `par` `seq` `endless` `ask` `plan` `agent` `todo` `badtool` | Use tools, under the names and with the arguments that the request's own tools have. |
//! | `agent` | Calls a helper, in the background with `bg`; `does` is what the helper is told to play. |
//! | `call` | Calls `tool` with `args` (JSON, or anything for arguments that cannot be read), `n` times at once. |
//! | `coder` | Runs `test`, reads `path`, replaces `old` by `new`, runs `test` again, and calls `finish` or says `say`. |
//! | `script` | Does what the JSON list of steps in `file` says. |
//! | `err` `rate` | Fail `n` times (0: always), then all is well. `status`, `retry_after`, `retry_after_ms`, `retry`; `error` replaces the message. |
//! | `limit` `credit` `auth` `forbidden` `ctxfull` `nomodel` | Fail always, in the vendor's words. |
//! | `hang` `hang_mid` `cut` `eof` `half` `garbage` `html` `body` `inline_err` | Never answer, fall silent, break off (by an abort, at an event, in an event; in the call of `tool` if there is one; `cut at=end` leaves out only the mark of the end), send no JSON, send the text `say` as the type `as`, report an error in the stream (`kind=overloaded`, `server`, `rate`, `context`). |
//!
//! Every scenario takes `in`, `cr`, `cw`, `cw1h`, `out`, `thoughts`, `toolin` (tokens), `delay` (ms before the answer),
//! `split=byte` (one write for each byte), `served` (the model that answers), `usage` (JSON in the place of the usage), `as` (the
//! content type), `window` (more messages than this overflow the context) and `quirk`; those that
//! use tools also `think` and `first`, a thought and a word before the calls.
//!
//! # Quirks
//!
//! `quirk=a,b` makes the server odd, as compatible servers are. On Chat Completions: `no-index`, `null-index`, `zero-index`,
//! `no-id`, `null-id`, `empty-id`, `args-object`, `args-whole`, `args-empty`, `args-missing`, `name-repeated`,
//! `finish-stop`, `no-finish`, `reasoning`, `think-tags`, `usage-every`, `usage-never`, `usage-last`, `usage-unasked`,
//! `no-stream-options`, `error-200`, `no-done`. On Responses: `failed-response`, `nested-error`, `raw-reasoning`. On Gemini:
//! `no-id`, `args-missing`, `bare-signature`. On Messages: `usage-nulls`. Anywhere: `keyless`, `unknown`, `no-stream`, and in streams
//! `crlf`, `comments`, `multiline`, `tight`, `bom`.
//!
//! # What it refuses
//!
//! What the vendor documents as invalid, with the vendor's status and body: no key, or one that begins with `wrong`; calls
//! without results and results without calls; roles and orders that do not fit; thoughts that are missing or were changed;
//! bad ids, names and schemas. [`ModelServer::requests`] shows what was sent, [`ModelServer::ledger`] what was told, what was
//! charged, and how each answer ended.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! let server = musher_testkit::model::ModelServer::start().await?;
//! let base = server.openai_url(); // Give this to the client, with any key.
//! // … prompt it with "[[scn:par n=3 think=Hm]] do three things" …
//! assert_eq!(server.calls_of("par"), 2);
//! assert_eq!(server.requests()[0].json()["model"], "gpt-test");
//! # Ok(())
//! # }
//! ```

mod anthropic;
mod asked;
mod body;
mod chat;
mod conversation;
mod desk;
mod format;
mod gemini;
mod image;
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
pub use image::Image;
pub use ledger::{Call, CallEnd, Ledger, Usage};

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
        Self::start_at((Ipv4Addr::LOCALHOST, port).into()).await
    }

    /// Starts a server on 127.0.0.2, which programs behind a proxy do not take for their own machine.
    pub async fn start_beside() -> anyhow::Result<Self> {
        Self::start_at((Ipv4Addr::new(127, 0, 0, 2), 0).into()).await
    }

    async fn start_at(address: SocketAddr) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("scripted-model")
            .enable_all()
            .build()
            .context("starting the runtime of the model server")?;
        let listener =
            std::net::TcpListener::bind(address).with_context(|| format!("binding {address}"))?;
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
