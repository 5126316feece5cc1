//! The other side of a run's control socket: for the server, and for a command line without one.

use std::io;
use std::path::Path;
use std::time::Duration;

use musher_core::CommandId;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::folder::{self, RunFolder};
use super::socket::next_line;
use musher_log::wire::{CommandRefused, FromRunner, RunCommand, ToRunner};

/// How long a runner may take to say who it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a runner could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the runner in {0} does not answer: {1}")]
    Unreachable(std::path::PathBuf, io::Error),
    #[error("what listens in {0} is not this user's runner")]
    Stranger(std::path::PathBuf),
}

/// A connection to a runner.
#[derive(Debug)]
pub struct Link {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    line: Vec<u8>,
    /// The runner's process.
    pub pid: u32,
    /// A newer runner can be told to end, and nothing else.
    pub protocol: u32,
    /// Whether it can take a prompt back.
    pub takes_back: bool,
    /// Whether it can change the model and the mode of its session.
    pub changes: bool,
}

impl Link {
    pub async fn open(path: &Path) -> Result<Self, LinkError> {
        let unreachable = |error| LinkError::Unreachable(path.to_owned(), error);
        let folder = RunFolder::open(path).map_err(unreachable)?;
        let stream = folder.connect().await.map_err(unreachable)?;
        if !folder::is_trusted(&stream) {
            return Err(LinkError::Stranger(path.to_owned()));
        }
        let (read, write) = stream.into_split();
        let mut link = Self {
            read: BufReader::new(read),
            write,
            line: Vec::new(),
            pid: 0,
            protocol: 0,
            takes_back: false,
            changes: false,
        };
        let hello = tokio::time::timeout(HELLO_TIMEOUT, link.next()).await;
        match hello.map_err(|_| io::ErrorKind::TimedOut.into()).and_then(|said| said) {
            Ok(Some(FromRunner::Hello { protocol, pid, takes_back, changes, .. })) => {
                link.pid = pid;
                link.takes_back = takes_back;
                link.changes = changes;
                link.protocol = protocol;
                if let Some(secret) = folder.demanded().map_err(unreachable)? {
                    link.say(&ToRunner::Control { secret }).await.map_err(unreachable)?;
                }
                Ok(link)
            }
            Ok(_) => Err(unreachable(io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(unreachable(error)),
        }
    }

    /// Sends a command; its reply comes among what the runner says.
    pub async fn send(&mut self, id: CommandId, command: RunCommand) -> io::Result<()> {
        self.say(&ToRunner::Command { id, command }).await
    }

    /// Asks for text in flight.
    pub async fn watch(&mut self) -> io::Result<()> {
        self.say(&ToRunner::Watch).await
    }

    /// Sends a command and waits for its reply.
    pub async fn ask(
        &mut self,
        id: CommandId,
        command: RunCommand,
    ) -> io::Result<Result<(), CommandRefused>> {
        self.send(id.clone(), command).await?;
        loop {
            match self.next().await? {
                Some(FromRunner::Reply { id: replied, refused }) if replied == id => {
                    return Ok(refused.map_or(Ok(()), Err));
                }
                Some(_) => {}
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Makes this a connection to the run's own tools, for whoever knows the run's secret.
    pub(super) async fn tools(
        mut self,
        secret: &str,
    ) -> io::Result<Result<std::os::unix::net::UnixStream, CommandRefused>> {
        self.say(&ToRunner::Tools { secret: secret.to_owned() }).await?;
        let replied = async {
            loop {
                match self.next().await? {
                    Some(FromRunner::Tools { refused }) => return io::Result::Ok(refused),
                    Some(_) => {}
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
        };
        let replied = tokio::time::timeout(HELLO_TIMEOUT, replied).await;
        if let Some(refused) = replied.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
            return Ok(Err(refused));
        }
        // We have said nothing in the new language yet, so nothing in it can have come.
        let stream = self.read.into_inner().reunite(self.write).map_err(io::Error::other)?;
        Ok(Ok(stream.into_std()?))
    }

    /// The next thing said; `None` when the runner is gone. Nothing is lost when a call is given up.
    pub async fn next(&mut self) -> io::Result<Option<FromRunner>> {
        loop {
            if !next_line(&mut self.read, &mut self.line).await? {
                return Ok(None);
            }
            let said = serde_json::from_slice(&self.line);
            self.line.clear();
            if let Ok(said) = said {
                return Ok(Some(said));
            }
        }
    }

    async fn say(&mut self, message: &ToRunner) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.write.write_all(&line).await
    }
}
