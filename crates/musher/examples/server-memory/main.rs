//! Measures the memory of a real server with real runners and real subscribers, and holds it to its bars.
//!
//! `scripts/memory` builds what it needs and starts it. Each part has a project and a server of its own, so that what one
//! part leaves behind in the allocator does not hide what the next one costs.

#![expect(clippy::disallowed_methods, reason = "a tool for developers starts what it measures")]
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

mod history;
mod idle;
mod live;
mod memory;
mod pace;
mod place;
mod stalled;
mod subscriber;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use place::Programs;
use table::Table;

/// Prints the memory of a server under load, and fails if a bar is missed.
#[derive(Debug, Parser)]
struct Args {
    /// The program to be measured.
    #[arg(long)]
    musher: PathBuf,
    /// The agent that does numbered work.
    #[arg(long)]
    worker: PathBuf,
    /// How many events the long run has.
    #[arg(long, default_value_t = 1_000_000)]
    events: u64,
    /// How many subscribers read the long run as it grows.
    #[arg(long, default_value_t = 100)]
    readers: usize,
    /// How many idle subscribers there are in the end.
    #[arg(long, default_value_t = 10_000)]
    idle: usize,
    /// How many subscribers never read.
    #[arg(long, default_value_t = 500)]
    stalled: usize,
    /// How many events are written while they do not.
    #[arg(long, default_value_t = 100_000)]
    stalled_events: u64,
    /// How many runs are live at once.
    #[arg(long, default_value_t = 50)]
    runs: usize,
    /// Only this part; may be given more than once.
    #[arg(long, value_enum)]
    only: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    History,
    Idle,
    Stalled,
    Live,
    Runner,
}

const PARTS: [Part; 5] = [Part::History, Part::Idle, Part::Stalled, Part::Live, Part::Runner];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let files = raise_open_files()?;
    let programs = Programs { musher: args.musher.clone(), worker: args.worker.clone() };
    let parts = if args.only.is_empty() { PARTS.to_vec() } else { args.only.clone() };
    let mut table = Table::default();
    for part in parts {
        match part {
            Part::History => {
                history::measure(&programs, args.events, args.readers, &mut table).await?;
            }
            Part::Idle => idle::measure(&programs, args.idle, files, &mut table).await?,
            Part::Stalled => {
                stalled::measure(&programs, args.stalled, args.stalled_events, &mut table).await?;
            }
            Part::Live => live::measure_runs(&programs, args.runs, &mut table).await?,
            Part::Runner => live::measure_runners(&programs, &mut table).await?,
        }
    }
    println!("\n{table}");
    Ok(if table.is_met() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Both ends of every connection need a file handle, here and in the server, which inherits the limit.
fn raise_open_files() -> anyhow::Result<usize> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(limit.maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX)))
}
