//! From the command that starts a run to the first byte of its agent.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
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
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const STARTS: usize = 5;
const FILES: u64 = 100;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let conductor = Conductor::open().await?;
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let agent = conductor.agent(&bench.setup, folder.path())?;
    let place = Place::with_files(&bench.setup, &agent, FILES)?;
    let mut trees = 0;
    while bench.another_round()? {
        let (mut ours, mut alone, mut worktree) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..STARTS {
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        let mut took = 0.0;
                        for _ in 0..bench.slow.times() {
                            took += start(&place, &conductor).await?;
                        }
                        ours.push(took);
                    }
                    Side::Baseline => {
                        alone.push(start_alone(&agent, &conductor).await?);
                        trees += 1;
                        let path = folder.path().join(format!("tree-{trees}"));
                        worktree.push(add_worktree(&place.top().join("repo"), &path)?);
                    }
                }
            }
        }
        let median = |times: Vec<f64>| Spread::of(times).map_or(0.0, |spread| spread.median);
        let (ours, alone, worktree) = (median(ours), median(alone), median(worktree));
        bench.pair("start", ours, alone + worktree)?;
        bench.alone("agent", alone)?;
        bench.alone("worktree", worktree)?;
    }
    Ok(())
}

/// Starts a run, and ends it once its agent has spoken: the milliseconds to its first byte.
async fn start(place: &Place, conductor: &Conductor) -> anyhow::Result<f64> {
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
