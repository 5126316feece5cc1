//! The least that can stand between an agent and its reader: a process that copies a pipe to a connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// Starts a ticker and copies what it says.
pub(super) fn play(to: &str, conductor: &str) -> anyhow::Result<()> {
    let mut ticker = Command::new(std::env::current_exe()?)
        .args(["stand-in", "tick", "--speech", "plain", "--conductor", conductor])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut pipe = ticker.stdout.take().context("the ticker has no output")?;
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = pipe.read(&mut buffer)?;
        if count == 0 || stream.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    ticker.wait()?;
    Ok(())
}
