//! The listener of a server's HTTP API: bound where it was asked for, and announced in the state directory.

use std::io::ErrorKind::AddrInUse;
use std::net::SocketAddr;
#[cfg(debug_assertions)]
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use musher_web::WebFiles;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::CliError;
use crate::api;
use crate::home::{AccessToken, Home, HomeError, ServerFile, TokenStore};
use crate::supervisor::Supervisor;

/// How long the port of a server that was killed may outlive it.
const PORT_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Where the web UI comes from.
#[derive(Debug, Args)]
pub(super) struct Web {
    /// Serve the web UI from a folder that its bundler writes, instead of the built-in one.
    #[cfg(debug_assertions)]
    #[arg(long, hide = true, value_name = "DIR")]
    web_dir: Option<PathBuf>,
}

impl Web {
    #[cfg(debug_assertions)]
    pub(super) fn site(&self) -> WebFiles {
        self.web_dir.clone().map_or(WebFiles::Embedded, WebFiles::Folder)
    }

    #[cfg(not(debug_assertions))]
    pub(super) fn site(&self) -> WebFiles {
        WebFiles::Embedded
    }
}

/// Takes an address before anything else is done, so that one that is in use costs nothing.
pub(super) async fn listen(at: SocketAddr) -> Result<TcpListener, CliError> {
    if !at.ip().is_loopback() {
        return Err(CliError::hinted(
            format!("{at} can be reached from other machines, and nothing would be encrypted"),
            "listen on 127.0.0.1, and come through a tunnel such as `ssh -L`",
        ));
    }
    let began = Instant::now();
    let bound = loop {
        match TcpListener::bind(at).await {
            // What a server that was killed had just forked may hold its port for a moment longer.
            Err(error) if error.kind() == AddrInUse && began.elapsed() < PORT_RELEASE_TIMEOUT => {
                tokio::time::sleep(PORT_RELEASE_TIMEOUT / 40).await;
            }
            bound => break bound,
        }
    };
    bound.map_err(|error| {
        CliError::hinted(
            format!("nothing can listen on {at}: {error}"),
            "end what listens there, or take a free port with --listen 127.0.0.1:0",
        )
    })
}

/// The port that the project had before, so that pages that are open find it again.
pub(super) struct EarlierPort {
    pub(super) listener: TcpListener,
    /// That another program has taken the port meanwhile.
    pub(super) notice: Option<String>,
}

/// Listens where the project was found before, or on any free port if that one is taken.
pub(super) async fn listen_again(at: SocketAddr, home: &Home) -> Result<EarlierPort, CliError> {
    // A server of this project that still lives is told of when its lock is tried.
    let before = home.port().filter(|_| at.port() == 0 && home.server().is_none());
    let Some(port) = before else {
        return Ok(EarlierPort { listener: listen(at).await?, notice: None });
    };
    if let Ok(listener) = listen(SocketAddr::new(at.ip(), port)).await {
        return Ok(EarlierPort { listener, notice: None });
    }
    let listener = listen(at).await?;
    let now = listener.local_addr().map_err(|error| broken(&error))?.port();
    let notice = format!(
        "Another program has taken port {port} of this project; it is {now} from now on. \
         Pages that are open do not find the server there: `musher open` opens a new one."
    );
    Ok(EarlierPort { listener, notice: Some(notice) })
}

/// A door that is announced, and lets people in once it is served.
pub(super) struct BoundPort {
    listener: TcpListener,
    context: api::ApiContext,
    closing: CancellationToken,
    home: Home,
    url: String,
    code: AccessToken,
}

/// Closes a door from elsewhere.
pub(super) struct Latch {
    closing: CancellationToken,
    home: Home,
}

impl BoundPort {
    pub(super) fn open(
        listener: TcpListener,
        supervisor: &Supervisor,
        home: &Home,
        origins: &[String],
        site: WebFiles,
    ) -> Result<Self, CliError> {
        let address = listener.local_addr().map_err(|error| broken(&error))?;
        let token = home.token().map_err(|error| refused(&error))?;
        let code = AccessToken::mint().map_err(|error| broken(&error))?;
        let tokens = Arc::new(TokenStore::open(home.path()).map_err(|error| refused(&error))?);
        let access = api::Access::new(token, tokens, address.port(), &[], origins);
        let closing = CancellationToken::new();
        let mut context = supervisor.context(access, api::Code::new(code.clone()), closing.clone());
        context.site = site;
        let url = format!("http://{address}");
        home.remember_port(address.port()).map_err(|error| refused(&error))?;
        home.announce(&ServerFile { url: url.clone(), pid: std::process::id() })
            .map_err(|error| refused(&error))?;
        Ok(Self { listener, context, closing, home: home.clone(), url, code })
    }

    /// Where programs find it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Where a browser finds it; the code in it lets one browser in.
    pub(super) fn link(&self) -> String {
        format!("{}/#{}", self.url, self.code.as_str())
    }

    pub(super) fn latch(&self) -> Latch {
        Latch { closing: self.closing.clone(), home: self.home.clone() }
    }

    /// Serves until the latch falls, and then the replies that are under way.
    pub(super) async fn serve(self) -> Result<(), CliError> {
        api::serve(self.listener, api::router(self.context), self.closing)
            .await
            .map_err(|error| broken(&error))
    }
}

impl Latch {
    pub(super) fn close(&self) {
        self.home.retract();
        self.closing.cancel();
    }
}

pub(super) fn refused(error: &HomeError) -> CliError {
    CliError::hinted(error.to_string(), error.hint())
}

pub(super) fn broken(error: &std::io::Error) -> CliError {
    CliError::Unavailable(error.to_string())
}
