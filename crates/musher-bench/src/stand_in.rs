//! The baselines that are processes of their own, as what they are compared with is. Each ends with its input.

pub mod drive;
pub mod feed;
mod files;
mod follow;
mod greet;
mod hub;
mod naive;
mod parse;
mod relay;
pub mod rpc;
mod spin;
pub mod tick;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context as _;
use clap::Subcommand;
use tokio::io::AsyncReadExt as _;

use crate::setup::Setup;

#[derive(Debug, Subcommand)]
pub enum StandIn {
    /// Serves one file: `/static` by a file service, `/pread` as a stream of plain reads.
    Files { file: PathBuf },
    /// The pool that one would write first; its agents print a file.
    Naive { file: PathBuf },
    /// Prints a file.
    Pour {
        #[arg(long)]
        file: PathBuf,
    },
    /// Parses every line of its input.
    Parse,
    /// Keeps a processor busy.
    Spin,
    /// An agent that says what time it is.
    Tick {
        #[arg(long)]
        conductor: String,
        #[arg(long, value_enum)]
        speech: tick::Speech,
    },
    /// Copies what such an agent says to a connection.
    Relay {
        #[arg(long)]
        to: String,
        #[arg(long)]
        conductor: String,
    },
    /// Passes on what such relays send.
    Hub {
        #[arg(long)]
        to: String,
        #[arg(long)]
        relays: usize,
    },
    /// Copies what such an agent says to a file.
    Keep {
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        conductor: String,
    },
    /// Sends on what comes into such files.
    Tell {
        #[arg(long)]
        to: String,
        folders: Vec<PathBuf>,
    },
    /// Does what a runner does with a file that its agent has printed.
    Drive {
        #[arg(long)]
        file: PathBuf,
        #[arg(long)]
        folder: PathBuf,
    },
    /// Follows the logs of runs, and tells how late their lines are.
    Follow { folders: Vec<PathBuf> },
    /// An agent that speaks JSON-RPC and makes many calls.
    Rpc {
        #[arg(long, value_enum)]
        speech: rpc::RpcSpeech,
        #[arg(long)]
        calls: usize,
    },
    /// An agent that prints a file.
    Feed {
        #[arg(long)]
        file: PathBuf,
        #[arg(long)]
        folder: PathBuf,
    },
}

impl StandIn {
    pub async fn play(self) -> anyhow::Result<()> {
        match self {
            Self::Files { file } => files::serve(file).await,
            Self::Naive { file } => naive::serve(file).await,
            Self::Pour { file } => feed::pour(&file),
            Self::Parse => parse::play(),
            Self::Spin => spin::play(),
            Self::Tick { conductor, speech } => tick::play(&conductor, speech),
            Self::Relay { to, conductor } => relay::copy(&to, &conductor),
            Self::Hub { to, relays } => hub::pass_on(&to, relays),
            Self::Keep { folder, conductor } => relay::keep(&folder, &conductor),
            Self::Tell { to, folders } => relay::tell(&to, &folders),
            Self::Drive { file, folder } => drive::play(&file, &folder),
            Self::Follow { folders } => follow::play(&folders),
            Self::Rpc { speech, calls } => rpc::play(speech, calls),
            Self::Feed { file, folder } => feed::play(&file, &folder),
        }
    }
}

/// Returns when nobody holds the other end of the input any more.
async fn input_ends() {
    let mut input = tokio::io::stdin();
    let mut buffer = [0; 64];
    while let Ok(1..) = input.read(&mut buffer).await {}
}

/// A stand-in at work. It ends when this is dropped.
#[derive(Debug)]
pub struct Playing {
    child: Child,
    /// Held open while the stand-in is needed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The first line that it printed when it was ready.
    pub ready: String,
}

impl Playing {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts a stand-in and waits until it is ready.
    pub fn start<I, S>(setup: &Setup, args: I) -> anyhow::Result<Self>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        let mut child = Command::new(&setup.programs.bench)
            .arg("stand-in")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a stand-in")?;
        let out = child.stdout.take().context("the stand-in has no output")?;
        let (mut ready, mut output) = (String::new(), BufReader::new(out));
        output.read_line(&mut ready)?;
        anyhow::ensure!(!ready.is_empty(), "the stand-in ended before it was ready");
        let input = child.stdin.take();
        Ok(Self { child, input, output, ready: ready.trim_end().to_owned() })
    }

    /// Says a word to it, and waits for the line that it says to that.
    pub fn ask(&mut self, word: &str) -> anyhow::Result<String> {
        let input = self.input.as_mut().context("the stand-in is not listened to any more")?;
        input.write_all(format!("{word}\n").as_bytes())?;
        let mut said = String::new();
        self.output.read_line(&mut said)?;
        anyhow::ensure!(!said.is_empty(), "the stand-in ended before it had answered");
        Ok(said)
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        drop(self.input.take());
        // Whatever is dead already is as good.
        let _dead = self.child.kill();
        let _dead = self.child.wait();
    }
}
