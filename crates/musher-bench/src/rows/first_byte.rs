//! From the command that starts a run to the first byte of its agent.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tempfile::TempDir;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, Spread};
use crate::row::{Needs, Rounds, Row};
use crate::stage::alone::monotonic;
use crate::stage::conductor::Conductor;
use crate::stage::place::{Place, git};
use crate::stand_in::Playing;

pub const ROW: Row = Row {
    name: "first-byte",
    about: "start command → agent's first byte, with a new worktree",
    measures: &[
        Measure::beside(
            "start",
            "start to first byte",
            "ms",
            "the agent alone + git worktree add",
            Bar::OverAtMost(50.0),
        ),
        Measure::alone("agent", "of it, the agent alone", "ms", Bar::None),
        Measure::alone("worktree", "of it, git worktree add", "ms", Bar::None),
        Measure::beside(
            "busy",
            "start to first byte, every processor busy",
            "ms",
            "the agent alone + git worktree add, every processor busy",
            Bar::OverAtMost(50.0),
        ),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const STARTS: usize = 5;
const FILES: u64 = 100;

/// What stands beside a start.
#[derive(Debug, Clone, Copy)]
enum Machine {
    Quiet,
    /// One program for each processor wants all of it.
    Busy,
}

/// What a round found, in milliseconds.
struct Times {
    ours: f64,
    alone: f64,
    worktree: f64,
}

/// The project, and what the baseline is made of.
struct Stage {
    conductor: Conductor,
    folder: TempDir,
    agent: PathBuf,
    place: Place,
    trees: usize,
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let conductor = Conductor::open().await?;
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let agent = conductor.agent(&bench.setup, folder.path())?;
    let place = Place::with_files(&bench.setup, &agent, FILES)?;
    let mut stage = Stage { conductor, folder, agent, place, trees: 0 };
    while bench.another_round()? {
        let Times { ours, alone, worktree } = stage.round(bench, Machine::Quiet).await?;
        bench.pair("start", ours, alone + worktree)?;
        bench.alone("agent", alone)?;
        bench.alone("worktree", worktree)?;
        let Times { ours, alone, worktree } = stage.round(bench, Machine::Busy).await?;
        bench.pair("busy", ours, alone + worktree)?;
    }
    Ok(())
}

impl Stage {
    async fn round(&mut self, bench: &Bench, machine: Machine) -> anyhow::Result<Times> {
        let competitors = match machine {
            Machine::Quiet => 0,
            Machine::Busy => available_parallelism()?.get(),
        };
        let _competing = (0..competitors)
            .map(|_| Playing::start(&bench.setup, ["spin"]))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let (mut ours, mut alone, mut worktree) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..STARTS {
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        let mut took = 0.0;
                        for _ in 0..bench.slow.times() {
                            took += start(&self.place, &self.conductor).await?;
                        }
                        ours.push(took);
                    }
                    Side::Baseline => {
                        alone.push(start_alone(&self.agent, &self.conductor).await?);
                        self.trees += 1;
                        let path = self.folder.path().join(format!("tree-{}", self.trees));
                        worktree.push(add_worktree(&self.place.top().join("repo"), &path)?);
                    }
                }
            }
        }
        let median = |times: Vec<f64>| Spread::of(times).map_or(0.0, |spread| spread.median);
        Ok(Times { ours: median(ours), alone: median(alone), worktree: median(worktree) })
    }
}

/// Starts a run, and ends it once its agent has spoken: the milliseconds to its first byte.
pub(super) async fn start(place: &Place, conductor: &Conductor) -> anyhow::Result<f64> {
    let story = place.add("go").await?;
    let began = monotonic();
    let run = place.start(&story).await?;
    let first = conductor.gather(1).await?.first().await?;
    // What follows a run must not be at work beside what is measured next.
    place.end(&run).await?;
    Ok(first.saturating_sub(began) as f64 / 1e6)
}

/// The same program, started by hand and spoken to as the runtime does: the milliseconds.
async fn start_alone(agent: &Path, conductor: &Conductor) -> anyhow::Result<f64> {
    let began = monotonic();
    let mut child = Command::new(agent).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("the agent has no input")?;
    let hello = json!({
        "type": "control_request", "request_id": "1", "request": { "subtype": "initialize" },
    });
    writeln!(input, "{hello}\n{}", json!({ "type": "user", "message": { "content": "go" } }))?;
    let first = conductor.gather(1).await?.first().await;
    child.kill()?;
    child.wait()?;
    Ok(first?.saturating_sub(began) as f64 / 1e6)
}

fn add_worktree(repo: &Path, path: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let name = path.file_name().and_then(|name| name.to_str()).context("a tree has a name")?;
    let at = path.to_str().context("a path of ours is text")?;
    git(repo, &["worktree", "add", "-q", "-b", name, at, "main"])?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    ensure!(path.join(".git").exists(), "{at} was not made");
    Ok(took)
}
