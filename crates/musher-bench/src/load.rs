//! Many at once: a thousand runs that all live, and ten thousand subscribers of which half never read.

pub mod runs;
pub mod subscribers;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::row::Row;
use crate::setup::Setup;

/// What there are many of.
#[derive(Debug, Clone, Subcommand)]
pub enum Load {
    /// 1,000 runs that live at once, each of which says something twice a second.
    Runs(Runs),
    /// 10,000 subscribers of which half never read, beside agents at work.
    Subscribers(Subscribers),
}

#[derive(Debug, Clone, Args)]
pub struct Runs {
    /// Where the picture of the server's memory goes.
    #[arg(long, value_name = "DIR", default_value = "docs/plots")]
    to: PathBuf,
    /// Each run in a sandbox of its own; no picture is drawn.
    #[arg(long)]
    confined: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Subscribers {
    /// Times nothing: 500 subscribers, and only that no agent is held up and that nobody loses anything.
    #[arg(long)]
    untimed: bool,
}

impl Load {
    pub fn row(&self) -> &'static Row {
        match self {
            Self::Runs(runs) if runs.confined => &runs::CONFINED_ROW,
            Self::Runs(_) => &runs::ROW,
            Self::Subscribers(_) => &subscribers::ROW,
        }
    }

    /// Where pictures go.
    pub fn plots(&self) -> Option<PathBuf> {
        match self {
            Self::Runs(runs) => Some(runs.to.clone()).filter(|_| !runs.confined),
            Self::Subscribers(_) => None,
        }
    }

    pub fn is_timed(&self) -> bool {
        match self {
            Self::Runs(_) => true,
            Self::Subscribers(subscribers) => !subscribers.untimed,
        }
    }
}

/// Whether agents go on and nobody loses anything beside subscribers that never read, with whatever build there is.
pub async fn untimed(folder: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let seen = subscribers::untimed(&Setup::unmeasured(folder)?).await?;
    println!("{seen}");
    Ok(if seen.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
