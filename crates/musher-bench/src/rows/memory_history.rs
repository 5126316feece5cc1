//! One long run, read by many from its beginning as it grows: the server's memory does not depend on its length.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::memory::{Memory, mib};
use crate::stage::place::Place;
use crate::stage::subscriber::Subscriber;

pub const ROW: Row = Row {
    name: "memory-history",
    about: "100 readers of a run of 1,000,000 events as it grows",
    measures: &[
        Measure::alone("alone", "server alone", "MiB", Bar::None),
        Measure::alone("growth", "server grows after the first tenth by", "MiB", Bar::AtMost(8.0)),
        Measure::alone("missed", "readers that did not get all in order", "", Bar::AtMost(0.0)),
        Measure::alone("rate", "delivered meanwhile", "M events/s", Bar::None),
    ],
    rounds: Rounds::Once,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const EVENTS: u64 = 1_000_000;
/// Letters in each event.
const SIZE: u64 = 80;
const READERS: usize = 100;
/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(900);
/// Where to look, in thousandths of the run.
const LOOKS: [u64; 4] = [100, 250, 500, 1000];

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    while bench.another_round()? {
        let (events, readers) = (bench.setup.effort.of(EVENTS), READERS);
        let place = Place::open(&bench.setup)?;
        let alone = Memory::at_rest(place.pid()).await?;
        bench.alone("alone", mib(alone.rss))?;
        let held = place.begin_held(&format!("[[work lines={events} size={SIZE}]]")).await?;
        let mut reading = JoinSet::new();
        let mut progress = Vec::new();
        for _ in 0..readers {
            let subscriber = Subscriber::connect(&place, &held.run).await?;
            progress.push(subscriber.progress());
            reading.spawn(subscriber.read_all());
        }
        let began = Instant::now();
        place.let_go(&held).await?;
        let mut looks = Vec::new();
        for look in LOOKS {
            let goal = events / 1000 * look;
            let slowest =
                || progress.iter().map(|seq| seq.load(Ordering::Relaxed)).min().unwrap_or(0);
            while slowest() < goal {
                let read = slowest();
                ensure!(began.elapsed() < PATIENCE, "somebody has read {read} of {goal} events");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let look = Memory::of(place.pid())?;
            looks.push(look.rss);
            bench.note(format!("{goal} events read by all {readers}: {look}"));
        }
        let mut got = Vec::new();
        while let Some(read) = reading.join_next().await {
            got.push(read??);
        }
        let took = began.elapsed();
        let written = place.last(&held.run);
        let whole = got.iter().filter(|got| got.whole(written).is_ok()).count();
        let after = Memory::at_rest(place.pid()).await?;
        bench.note(format!("afterwards, nobody connected: {after}"));
        let rate = written as f64 * readers as f64 / took.as_secs_f64() / 1e6;
        bench.alone("rate", rate)?;
        bench.alone("missed", (readers - whole) as f64)?;
        let (first, most) = (looks[0], looks.iter().max().copied().unwrap_or(0));
        // What is planted here is a server that keeps what it has read, once for each time more.
        let planted = (bench.slow.times() as u64 - 1) * SIZE * (events - events / 10) / 1024;
        bench.alone("growth", mib(most.saturating_sub(first) + planted))?;
    }
    Ok(())
}
