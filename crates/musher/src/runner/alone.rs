//! The tools of a session without a runner: the process that hosts it serves them, in a folder that is gone with it.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use musher_core::RunId;
use musher_runtime::{SessionHandle, SessionSpec};
use tempfile::TempDir;
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::folder::{self, RunFolder};
use super::socket::{bridged, next_line, say};
use super::tools::{OwnTools, PreparedTools};
use crate::mcp::run::RunStory;
use musher_log::wire::{FromRunner, PROTOCOL, ToRunner};

/// Bridges at once; an agent needs one, and those of its helpers one each.
const BRIDGES: usize = 64;
/// How long a bridge may take to show the secret.
const BRIDGE_SECRET_TIMEOUT: Duration = Duration::from_secs(5);

/// The tools of a session that has not begun.
#[derive(Debug)]
pub struct Alone {
    folder: TempDir,
    listener: UnixListener,
    tools: PreparedTools,
}

impl Alone {
    /// Makes the folder, which is its owner's alone, and the secret. What the agent is told to do is its story.
    pub fn new(prompt: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("musher-run-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let listener = RunFolder::open(folder.path())?.listen()?;
        let title = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let story = RunStory {
            run: None,
            story: None,
            agent: None,
            title: title.trim().to_owned(),
            text: prompt.to_owned(),
        };
        Ok(Self { folder, listener, tools: PreparedTools::about(story)? })
    }

    /// Tells an agent of its tools: by a bridge, or in process where its loop is ours.
    pub fn offer(&self, spec: &mut SessionSpec) -> io::Result<()> {
        spec.mcp_servers.push(self.tools.endpoint(self.folder.path())?);
        spec.tools = Some(self.tools.in_process());
        Ok(())
    }

    /// Serves the tools of a session that has begun, until what is returned is dropped.
    pub fn open(self, session: SessionHandle) -> Served {
        let tools = self.tools.open(session);
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(self.listener, tools.clone()));
        Served { tools, _tasks: tasks, _folder: self.folder }
    }
}

/// Tools that are being served.
#[derive(Debug)]
pub struct Served {
    tools: OwnTools,
    _tasks: JoinSet<()>,
    _folder: TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.tools.close();
    }
}

async fn listen(listener: UnixListener, tools: OwnTools) {
    let mut bridges = JoinSet::new();
    let mut attempt = 0_u32;
    loop {
        tokio::select! {
            Some(_left) = bridges.join_next() => {}
            come = listener.accept(), if bridges.len() < BRIDGES => match come {
                Ok((stream, _)) => {
                    bridges.spawn(serve(stream, tools.clone()));
                }
                Err(error) => {
                    attempt += 1;
                    if attempt.is_power_of_two() {
                        tracing::warn!(attempt, cause = %error, "no bridge can be taken, trying again");
                    }
                    // There is no room for another; one that leaves makes some.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
}

/// Serves one bridge: it is greeted, shows the secret, and from then on the connection speaks MCP.
async fn serve(stream: UnixStream, tools: OwnTools) {
    if !folder::is_trusted(&stream) {
        return;
    }
    let (read, mut write) = stream.into_split();
    // It is no run of a server, so the number says nothing; a bridge does not look at it.
    let run = RunId::minted(1);
    let hello = FromRunner::Hello {
        protocol: PROTOCOL,
        run,
        pid: std::process::id(),
        takes_back: true,
        changes: true,
    };
    if say(&mut write, &hello).await.is_err() {
        return;
    }
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    let first = tokio::time::timeout(BRIDGE_SECRET_TIMEOUT, next_line(&mut read, &mut line)).await;
    if let Ok(Ok(true)) = first
        && let Ok(ToRunner::Tools { secret }) = serde_json::from_slice(&line)
    {
        bridged(&secret, &tools, read, write).await;
    }
}
