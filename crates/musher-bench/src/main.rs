//! The command line of the benchmark.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

use musher_bench::bench::Bench;
use musher_bench::callgrind::Callgrind;
use musher_bench::curves::Curves;
use musher_bench::downgrade::Downgrade;
use musher_bench::kept::Kept;
use musher_bench::load::{self, Load};
use musher_bench::machine::Machine;
use musher_bench::report::Report;
use musher_bench::row::{Needs, Row};
use musher_bench::rows;
use musher_bench::setup::{self, Build, Effort, Programs, Setup};
use musher_bench::slow::Slow;
use musher_bench::soak::Soak;
use musher_bench::stand_in::StandIn;

/// Prints what Musher costs beside its baselines, and fails below a bar.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Args {
    /// Only these rows.
    names: Vec<String>,
    /// Names the rows and what they measure.
    #[arg(long)]
    list: bool,
    /// How many rounds count for each row.
    #[arg(long, default_value_t = 5, global = true)]
    rounds: usize,
    /// A tenth of the work, and three rounds at most: to see that it works.
    #[arg(long, global = true)]
    quick: bool,
    /// Writes everything that was found into a file.
    #[arg(long, value_name = "FILE", global = true)]
    json: Option<PathBuf>,
    /// Fails also where it is much worse than it was: what `--json` wrote once on the same machine.
    #[arg(long, value_name = "FILE", global = true)]
    than: Option<PathBuf>,
    /// Where projects and state are made; it must be on a real disk. By default beside this program.
    #[arg(long, value_name = "DIR", global = true)]
    folder: Option<PathBuf>,
    /// Measures the programs beside this one as they are.
    #[arg(long, global = true)]
    no_build: bool,
    /// Makes ours so many times as slow, to see that its row turns red.
    #[arg(long, value_name = "NAME=FACTOR", hide = true, global = true)]
    slow: Vec<String>,
    /// Makes a row fail, the first of this name, to see that the others are still measured.
    #[arg(long, value_name = "NAME", hide = true, global = true)]
    broken: Vec<String>,
    #[command(subcommand)]
    other: Option<Other>,
}

#[derive(Debug, Subcommand)]
enum Other {
    Curves(Curves),
    Callgrind(Callgrind),
    /// Plays a baseline.
    #[command(subcommand, hide = true)]
    StandIn(StandIn),
    /// Very many of something at once.
    #[command(subcommand)]
    Load(Load),
    /// Many agents and viewers at work for a while, under faults, with the promises checked all along.
    Soak(Soak),
    Downgrade(Downgrade),
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    match args.other {
        Some(Other::StandIn(stand_in)) => stand_in.play().await.map(|()| ExitCode::SUCCESS),
        Some(Other::Soak(soak)) => soak.run().await,
        Some(Other::Downgrade(downgrade)) => downgrade.run().await,
        Some(Other::Curves(ref curves)) => {
            curves.draw(&ready(&args)?.0).await.map(|()| ExitCode::SUCCESS)
        }
        Some(Other::Callgrind(ref callgrind)) => {
            callgrind.count(&ready(&args)?.0).await.map(|()| ExitCode::SUCCESS)
        }
        Some(Other::Load(ref load)) if !load.is_timed() => load::untimed(args.folder.clone()).await,
        Some(Other::Load(ref load)) => measure(&args, vec![load.row()], load.plots()).await,
        None if args.list => say(&list()?).map(|()| ExitCode::SUCCESS),
        None => measure(&args, rows::chosen(&args.names)?, None).await,
    }
}

fn list() -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for row in rows::ROWS {
        writeln!(text, "{}: {}", row.name, row.about)?;
        for measure in row.measures {
            let baseline = measure.baseline.map(|name| format!(", beside {name}"));
            let bar = measure.bar.shown(measure.unit);
            writeln!(text, "    {}{}  {bar}", measure.what, baseline.unwrap_or_default())?;
        }
    }
    Ok(text)
}

/// Prints what was found. Whoever has read enough may go away.
fn say(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What was asked for, without anything that is measured.
fn asked(args: &Args) -> Setup {
    Setup {
        rounds: if args.quick { args.rounds.min(3) } else { args.rounds }.max(1),
        effort: if args.quick { Effort::Quick } else { Effort::Whole },
        ..Setup::default()
    }
}

/// Finds the programs and the disk, and names the machine.
fn ready(args: &Args) -> anyhow::Result<(Setup, Machine)> {
    let build = if args.no_build { Build::Before } else { Build::Now };
    let programs = Programs::find(build)?;
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => programs.bench.with_file_name("bench-state"),
    };
    std::fs::create_dir_all(&folder)?;
    let machine = Machine::look(&folder)?;
    say(&format!("{machine}\n\n"))?;
    let files = setup::open_many_files()?;
    Ok((Setup { programs, folder, files, ..asked(args) }, machine))
}

async fn measure(
    args: &Args,
    chosen: Vec<&'static Row>,
    plots: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let slowed = args.slow.iter().map(|text| rows::slowed(text)).collect::<Result<Vec<_>, _>>()?;
    let broken = args.broken.iter().map(|name| rows::named(name)).collect::<Result<Vec<_>, _>>();
    let mut broken = broken?;
    let (setup, machine) = match chosen.iter().any(|row| row.needs != Needs::Nothing) {
        true => {
            let (setup, machine) = ready(args)?;
            (setup, Some(machine))
        }
        false => (asked(args), None),
    };
    let setup = Arc::new(Setup { plots, ..setup });
    let kept = args.than.as_deref().map(Kept::read).transpose()?;
    let mut report = Report::beside(kept.unwrap_or_default());
    for row in chosen {
        let factor = slowed.iter().find(|(slowed, _)| slowed.name == row.name);
        let slow = factor.map_or(Slow::NONE, |(_, factor)| Slow::planted(*factor));
        eprintln!("{}: {}", row.name, row.about);
        let mut bench = Bench::new(row, setup.clone(), slow);
        if let Some(at) = broken.iter().position(|broken| broken.name == row.name) {
            broken.remove(at);
            bench.broken = true;
        }
        let found = match (row.run)(&mut bench).await {
            Ok(()) => bench.found(),
            Err(why) => bench.failed(&why),
        };
        report.add(row, found);
    }
    // What took minutes to find is kept before anything can go wrong in showing it.
    if let Some(path) = &args.json {
        let mut found = report.json(machine.as_ref());
        found["quick"] = args.quick.into();
        let text = serde_json::to_string_pretty(&found)?;
        std::fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    say(&format!("{report}\n"))?;
    if args.quick {
        say("quick: a tenth of the work that the rows name; only a whole run tells of the bars\n")?;
    }
    Ok(if report.is_met() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
