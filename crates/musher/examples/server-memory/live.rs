//! Live runs: what each of them costs the server, and what its runner costs.

use crate::memory::{Memory, mib};
use crate::place::{Place, Programs};
use crate::table::Table;

/// What a live run may cost the server, in KiB.
const EACH: f64 = 128.0;
/// What a runner may take for itself after many events, in MiB, and after a long line.
const RUNNER: f64 = 1.5;
const RUNNER_AFTER_A_LONG_LINE: f64 = 3.0;
/// Runners of which the greediest counts; more than one, so that what they share is not counted as private.
const RUNNERS: usize = 3;
/// The runs that pay for what all share.
const FIRST: usize = 2;

pub(crate) async fn measure_runs(
    programs: &Programs,
    runs: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let place = Place::open(programs).await?;
    start(&place, FIRST).await?;
    let before = Memory::at_rest(place.pid()).await?;
    start(&place, runs).await?;
    let after = Memory::at_rest(place.pid()).await?;
    let each = after.rss.saturating_sub(before.rss) as f64 / runs as f64;
    table.at_most(format!("server, for each of {runs} live runs"), each, EACH, "KiB");
    table.note(format!("server with {runs} live runs"), format!("RSS {:.1} MiB", mib(after.rss)));
    Ok(())
}

/// Starts agents that say something twice a second, and waits until each has said something.
async fn start(place: &Place, runs: usize) -> anyhow::Result<()> {
    let mut started = Vec::new();
    for _ in 0..runs {
        started.push(place.begin("[[work lines=100000 every_ms=500]]").await?);
    }
    for run in started {
        place.until_logged(&run, 10).await?;
    }
    Ok(())
}

pub(crate) async fn measure_runners(programs: &Programs, table: &mut Table) -> anyhow::Result<()> {
    let place = Place::open(programs).await?;
    let work = "[[work lines=10000]] [[work hang=1]]";
    let many = greediest(&place, work, 10_000).await?;
    table.at_most("runner, private, after 10000 events", many, RUNNER, "MiB");
    let work = "[[work lines=100]] [[work lines=1 size=1048576]] [[work lines=1]] [[work hang=1]]";
    let long = greediest(&place, work, 102).await?;
    let bar = RUNNER_AFTER_A_LONG_LINE;
    table.at_most("runner, private, after a line of 1 MiB", long, bar, "MiB");
    Ok(())
}

async fn greediest(place: &Place, work: &str, events: u64) -> anyhow::Result<f64> {
    let mut runs = Vec::new();
    for _ in 0..RUNNERS {
        runs.push(place.begin(work).await?);
    }
    let mut most = 0;
    for run in &runs {
        place.until_logged(run, events).await?;
    }
    for run in &runs {
        most = most.max(Memory::at_rest(place.runner(run)?).await?.private);
    }
    Ok(mib(most))
}
