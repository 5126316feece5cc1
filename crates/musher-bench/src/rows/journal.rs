//! Decisions of the pool: how long one takes until it is durable, and how many there are when many are wanted at once.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, percentile, sorted};
use crate::row::{Needs, Rounds, Row};
use crate::stage::pool::{Deciding, add};

const SYNC: &str = "append 300 B and sync";

pub const ROW: Row = Row {
    name: "journal",
    about: "decisions of the pool, each durable before it is answered",
    measures: &[
        Measure::beside("alone", "one at a time, p50", "µs", SYNC, Bar::None),
        Measure::beside("alone_p99", "one at a time, p99", "µs", SYNC, Bar::None),
        Measure::alone("busy", "64 at once, p50", "µs", Bar::None),
        Measure::alone("busy_p99", "64 at once, p99", "µs", Bar::None),
        Measure::beside("rate", "64 at once", "/s", SYNC, Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const ALONE: u64 = 500;
const AT_ONCE: u64 = 64;
const EACH: u64 = 100;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let alone = bench.setup.effort.of(ALONE) * bench.slow.times() as u64;
    let each = bench.setup.effort.of(EACH) * bench.slow.times() as u64;
    let mut round = 0;
    while bench.another_round()? {
        round += 1;
        let (mut found, mut floor, mut busy, mut rate) = (vec![], vec![], vec![], 0.0);
        for side in bench.order() {
            match side {
                Side::Ours => {
                    let path = folder.path().join(format!("{round}.db"));
                    let deciding = Deciding::open(&path)?;
                    for nth in 0..alone {
                        let began = Instant::now();
                        add(&deciding.handle(), &format!("alone-{nth}")).await?;
                        found.push(began.elapsed().as_secs_f64() * 1e6);
                    }
                    let began = Instant::now();
                    let mut wishing = JoinSet::new();
                    for who in 0..AT_ONCE {
                        let handle = deciding.handle();
                        wishing.spawn(async move {
                            let mut took = Vec::new();
                            for nth in 0..each {
                                let began = Instant::now();
                                add(&handle, &format!("busy-{who}-{nth}")).await?;
                                took.push(began.elapsed().as_secs_f64() * 1e6);
                            }
                            anyhow::Ok(took)
                        });
                    }
                    while let Some(took) = wishing.join_next().await {
                        busy.extend(took??);
                    }
                    rate = (AT_ONCE * each) as f64 / began.elapsed().as_secs_f64();
                    deciding.close().await?;
                }
                Side::Baseline => floor = synced(folder.path(), alone)?,
            }
        }
        let (found, floor, busy) = (sorted(found), sorted(floor), sorted(busy));
        let each_second = floor.len() as f64 / (floor.iter().sum::<f64>() / 1e6);
        bench.pair("alone", percentile(&found, 50.0), percentile(&floor, 50.0))?;
        bench.pair("alone_p99", percentile(&found, 99.0), percentile(&floor, 99.0))?;
        bench.alone("busy", percentile(&busy, 50.0))?;
        bench.alone("busy_p99", percentile(&busy, 99.0))?;
        bench.pair("rate", rate, each_second)?;
    }
    Ok(())
}

/// What the disk itself takes to keep a line: the microseconds of each.
fn synced(folder: &Path, count: u64) -> anyhow::Result<Vec<f64>> {
    let mut file = File::create(folder.join("floor"))?;
    let line = [b'x'; 300];
    let mut took = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        file.write_all(&line)?;
        file.sync_data()?;
        took.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(took)
}
