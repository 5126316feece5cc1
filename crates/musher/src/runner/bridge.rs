//! The bridge from an agent's program to the tools of its run: bytes in, bytes out.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::link::{Link, LinkError};

/// Why a bridge could not be built, or fell.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("the run in {0} is over or not under way, and its tools went with it")]
    Gone(std::path::PathBuf),
    #[error(transparent)]
    Link(LinkError),
    #[error("the run refuses its tools: {0}")]
    Refused(String),
    #[error("the connection to the run broke: {0}")]
    Broken(#[from] io::Error),
}

/// Connects our standard input and output to the tools of the run in this folder, until either side ends.
pub async fn bridge(folder: &Path, secret: &str) -> Result<(), BridgeError> {
    let link = Link::open(folder).await.map_err(|error| match error {
        LinkError::Unreachable(path, _) => BridgeError::Gone(path),
        LinkError::Stranger(_) => BridgeError::Link(error),
    })?;
    let stream =
        link.tools(secret).await?.map_err(|refused| BridgeError::Refused(refused.message))?;
    tokio::task::spawn_blocking(move || carry(&stream)).await.map_err(io::Error::other)??;
    Ok(())
}

/// Carries bytes both ways. A thread that waits for input cannot be stopped, so it is left to the end of the process.
fn carry(stream: &UnixStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let to_run = stream.try_clone()?;
    std::thread::spawn(move || {
        let _gone = pump(io::stdin(), &to_run);
        // The run sees that nothing more comes, and closes.
        let _gone = to_run.shutdown(Shutdown::Write);
    });
    pump(stream, io::stdout())
}

/// Passes on each piece at once, since its reader waits for it.
fn pump(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut piece = [0; 64 * 1024];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&piece[..count]).and_then(|()| to.flush())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
