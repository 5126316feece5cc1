//! Tells agents of the benchmark when to speak. They wait for a word on a connection, so that waiting costs nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::setup::Setup;

/// Nobody takes longer to come.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where agents come to.
#[derive(Debug)]
pub struct Conductor {
    listener: TcpListener,
}

/// Agents that have come.
#[derive(Debug)]
pub struct Players(Vec<TcpStream>);

/// What each of them is to say.
#[derive(Debug, Clone, Copy)]
pub struct Score {
    pub lines: u64,
    /// Lines that are one write.
    pub together: u64,
    /// Between one write and the next.
    pub every: Duration,
}

impl Conductor {
    pub async fn open() -> anyhow::Result<Self> {
        Ok(Self { listener: TcpListener::bind("127.0.0.1:0").await? })
    }

    /// Writes an agent program that comes here, and ignores the arguments that it is given.
    pub fn agent(&self, setup: &Setup, folder: &Path) -> anyhow::Result<PathBuf> {
        let (bench, address) = (setup.programs.bench.display(), self.listener.local_addr()?);
        super::place::script(
            &folder.join("ticker"),
            &format!("exec '{bench}' stand-in tick --conductor {address} --speech frames"),
        )
    }

    pub fn address(&self) -> anyhow::Result<String> {
        Ok(self.listener.local_addr()?.to_string())
    }

    /// Waits until so many have come.
    pub async fn gather(&self, count: usize) -> anyhow::Result<Players> {
        let gathering = async {
            let mut players = Vec::new();
            while players.len() < count {
                let (stream, _) = self.listener.accept().await?;
                stream.set_nodelay(true)?;
                players.push(stream);
            }
            anyhow::Ok(Players(players))
        };
        let gathered = tokio::time::timeout(PATIENCE, gathering).await;
        gathered.with_context(|| format!("fewer than {count} agents came"))?
    }
}

impl Players {
    /// When the one that has come said its first word.
    pub async fn first(&mut self) -> anyhow::Result<u64> {
        let player = self.0.first_mut().context("nobody has come")?;
        let mut word = [0; 20];
        player.read_exact(&mut word).await?;
        Ok(super::subscriber::number(&word))
    }

    /// Lets all of them speak, evenly spread over the time between two writes.
    pub async fn speak(&mut self, score: Score) -> anyhow::Result<()> {
        let every = score.every.as_micros() as u64;
        let count = self.0.len().max(1) as u64;
        for (nth, player) in (0..).zip(&mut self.0) {
            let phase = every * nth / count;
            let Score { lines, together, .. } = score;
            let words = format!("{lines} {together} {every} {phase}\n");
            player.write_all(words.as_bytes()).await?;
        }
        Ok(())
    }
}
