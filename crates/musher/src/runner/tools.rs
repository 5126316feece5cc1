//! The run's own tools: who may use them, and how an agent's program reaches them.
//!
//! The runner serves them itself, so they work while the server is away. An agent's program starts a bridge, `musher mcp
//! --run`, which connects to the control socket and shows the run's secret; from then on the connection speaks MCP.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use musher_runtime::tools::{Hosts, RunTools, ToolHost};
use musher_runtime::{McpServer, McpTransport, SessionHandle};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::secret::Secret;
use super::spec::RunSpec;
use crate::mcp::run::{INSTRUCTIONS, Own, RunStory};
use crate::mcp::{self, ToolServer};

/// The variable in which a bridge is given the run's secret. Arguments can be seen by everybody, so it is not one.
pub const SECRET: &str = "MUSHER_RUN_SECRET";

/// What the server of these tools is called; agents show it before the name of each tool.
const NAME: &str = "musher";

/// The tools before their session has begun.
#[derive(Debug)]
pub(super) struct PreparedTools {
    /// Never written down.
    secret: Secret,
    story: RunStory,
}

impl PreparedTools {
    pub(super) fn new(spec: &RunSpec) -> std::io::Result<Self> {
        Self::about(RunStory {
            run: Some(spec.run.to_string()),
            story: Some(spec.story.to_string()),
            agent: Some(spec.agent.to_string()),
            title: spec.title.clone(),
            text: spec.text.clone(),
        })
    }

    pub(super) fn about(story: RunStory) -> std::io::Result<Self> {
        Ok(Self { secret: Secret::mint()?, story })
    }

    /// How an agent's program reaches them.
    pub(super) fn endpoint(&self, folder: &Path) -> std::io::Result<McpServer> {
        let program = std::env::current_exe()?;
        let args =
            ["mcp".into(), "--run".into(), std::path::absolute(folder)?.display().to_string()];
        Ok(McpServer {
            name: NAME.into(),
            own: true,
            transport: McpTransport::Stdio {
                command: program.display().to_string(),
                args: args.to_vec(),
                env: [(SECRET.to_owned(), self.secret.reveal().to_owned())].into(),
            },
        })
    }

    /// What a runtime that carries out tools itself offers beside its own, without a detour.
    pub(super) fn in_process(&self) -> Arc<dyn ToolHost> {
        Arc::new(self.story.clone())
    }

    /// The tools of a session that has begun.
    pub(super) fn open(self, session: SessionHandle) -> OwnTools {
        let door = Arc::new(ToolDoor { story: self.story, session, server: OnceLock::new() });
        OwnTools { secret: self.secret, door, closing: CancellationToken::new() }
    }
}

/// The server of the tools. It is made for the first who comes: many agents never use one, and what it tells of its tools
/// takes room in every runner.
#[derive(Debug)]
struct ToolDoor {
    story: RunStory,
    session: SessionHandle,
    server: OnceLock<ToolServer>,
}

impl ToolDoor {
    fn server(&self) -> ToolServer {
        let make = || {
            let tools = Hosts::default().and(self.story.clone()).and(RunTools::default());
            ToolServer::new(Own::new(tools, self.session.clone()), INSTRUCTIONS)
        };
        self.server.get_or_init(make).clone()
    }
}

/// The tools of a run that is under way.
#[derive(Debug, Clone)]
pub(super) struct OwnTools {
    secret: Secret,
    door: Arc<ToolDoor>,
    closing: CancellationToken,
}

impl OwnTools {
    /// Whether somebody who shows this may use them, found out in a time that tells nothing.
    pub(super) fn admits(&self, secret: &str) -> bool {
        self.secret.is(secret) && !self.closing.is_cancelled()
    }

    /// Serves one bridge until it leaves or the run is over.
    pub(super) async fn serve<R, W>(&self, read: R, write: W)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        mcp::serve(self.door.server(), read, write, &self.closing).await;
    }

    /// What comes of this, unless the run is over first.
    pub(super) async fn until_closed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.closing.run_until_cancelled(work).await
    }

    /// The run is over: whoever is connected is let go, and nobody comes in any more.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }
}
