//! The least that can stand between an agent and its reader: a process that copies a pipe to a connection. And the least
//! that can if what was said is to be found again: one that copies it to a file, and one that sends on from all the files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use musher_log::Wakes;
use rustix::event::{PollFd, PollFlags, poll};

/// What is said, and how long it is.
const LOG: &str = "log";
const HEAD: &str = "head";
pub(super) const PIECE: usize = 64 * 1024;

/// Starts a ticker and copies what it says to a connection.
pub(super) fn copy(to: &str, conductor: &str) -> anyhow::Result<()> {
    let mut stream = connected(to)?;
    relay(conductor, |said| stream.write_all(said).is_ok())
}

/// Starts a ticker and copies what it says to a file, and its length to another one.
pub(super) fn keep(folder: &Path, conductor: &str) -> anyhow::Result<()> {
    let log = File::create(folder.join(LOG))?;
    let head = File::create(folder.join(HEAD))?;
    let mut len = 0;
    relay(conductor, |said| {
        let kept = log.write_all_at(said, len);
        len += said.len() as u64;
        kept.and_then(|()| head.write_all_at(&len.to_le_bytes(), 0)).is_ok()
    })
}

/// Sends on what comes into the files of these folders, each by a connection of its own, until its input ends.
pub(super) fn tell(to: &str, folders: &[PathBuf]) -> anyhow::Result<()> {
    let mut wakes = Wakes::new()?;
    let mut files = HashMap::new();
    for folder in folders {
        let open = |name| File::open(folder.join(name));
        let (head, log) = (open(HEAD)?, open(LOG)?);
        // What was said before anybody listened is not told.
        let sent = log.metadata()?.len();
        files.insert(wakes.watch(folder)?, (head, log, sent, connected(to)?));
    }
    println!("ready");
    let mut buffer = vec![0; PIECE];
    loop {
        let input = std::io::stdin();
        let mut polled = [PollFd::new(&wakes, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
        poll(&mut polled, None)?;
        if !polled[1].revents().is_empty() {
            return Ok(());
        }
        let mut changed = Vec::new();
        wakes.poll(&mut changed)?;
        for id in changed {
            let Some((head, log, sent, stream)) = files.get_mut(&id) else { continue };
            let mut len = [0; 8];
            head.read_exact_at(&mut len, 0)?;
            while *sent < u64::from_le_bytes(len) {
                let count = log.read_at(&mut buffer, *sent)?;
                stream.write_all(&buffer[..count])?;
                *sent += count as u64;
            }
        }
    }
}

pub(super) fn connected(to: &str) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Starts a ticker, and passes on what it says as long as that is wanted.
fn relay(conductor: &str, mut pass_on: impl FnMut(&[u8]) -> bool) -> anyhow::Result<()> {
    let mut ticker = Command::new(std::env::current_exe()?)
        .args(["stand-in", "tick", "--speech", "plain", "--conductor", conductor])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut pipe = ticker.stdout.take().context("the ticker has no output")?;
    let mut buffer = vec![0; PIECE];
    loop {
        let count = pipe.read(&mut buffer)?;
        if count == 0 || !pass_on(&buffer[..count]) {
            break;
        }
    }
    ticker.wait()?;
    Ok(())
}
