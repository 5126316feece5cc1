//! Live runs: what each of them costs the server.

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::memory::Memory;
use crate::stage::place::Place;

pub const ROW: Row = Row {
    name: "memory-live",
    about: "50 live runs",
    measures: &[Measure::alone("each", "server, for each live run", "KiB", Bar::AtMost(128.0))],
    rounds: Rounds::Once,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const RUNS: u64 = 50;
/// The runs that pay for what all share.
const FIRST: usize = 2;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    while bench.another_round()? {
        let runs = bench.setup.effort.of(RUNS) as usize;
        let place = Place::open(&bench.setup)?;
        start(&place, FIRST).await?;
        let before = Memory::at_rest(place.pid()).await?;
        // A slowdown of memory is as many times the runs, counted as those.
        start(&place, runs * bench.slow.times()).await?;
        let after = Memory::at_rest(place.pid()).await?;
        bench.alone("each", after.rss.saturating_sub(before.rss) as f64 / runs as f64)?;
        bench.note(format!("server with {runs} live runs: {after}"));
    }
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
