//! One run, read by 1,000 subscribers: what reaches them when each batch must have reached all before the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::conductor::{Conductor, Players, Score};
use crate::stage::crowd::Crowd;
use crate::stage::place::Place;
use crate::stage::processor::Processor;
use crate::stage::subscriber::Subscriber;
use crate::stand_in::tick::told;

pub const ROW: Row = Row {
    name: "fan-out",
    about: "SSE to 1,000 subscribers of one run",
    measures: &[
        Measure::alone("tens_flow", "in batches of 10", "M events/s", Bar::AtLeast(2.0)),
        Measure::alone("singles_flow", "singly", "M events/s", Bar::AtLeast(0.25)),
        // The rest is what it costs when each batch is waited for, so that nothing can be put together.
        Measure::alone("tens", "10, waited for", "M events/s", Bar::None),
        Measure::alone("singles", "1, waited for", "M events/s", Bar::None),
        Measure::alone("tens_cpu", "10, waited for, server", "ns/event", Bar::None),
        Measure::alone("singles_cpu", "1, waited for, server", "ns/event", Bar::None),
        Measure::alone("tens_read", "10, waited for, readers", "ns/event", Bar::None),
        Measure::alone("singles_read", "1, waited for, readers", "ns/event", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const SUBSCRIBERS: u64 = 1_000;
const BATCHES: u64 = 200;
/// As many batches are written without waiting for anybody, as agents do, with so much time between them.
const FLOWING: u64 = 1_000;
const FLOW: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts what all subscribers together have got.
#[derive(Debug, Default)]
struct Count {
    got: AtomicU64,
    wanted: AtomicU64,
    reached: Notify,
}

impl Count {
    fn line(&self, line: &[u8]) {
        if line.starts_with(b"data: ") && told(line).is_some() {
            let got = self.got.fetch_add(1, Ordering::AcqRel) + 1;
            if got == self.wanted.load(Ordering::Acquire) {
                self.reached.notify_one();
            }
        }
    }

    async fn reach(&self, wanted: u64) -> anyhow::Result<()> {
        self.wanted.store(wanted, Ordering::Release);
        let waiting = async {
            while self.got.load(Ordering::Acquire) < wanted {
                self.reached.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.context("not all subscribers got a batch")
    }
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let subscribers = bench.setup.effort.of(SUBSCRIBERS);
    let conductor = Conductor::open().await?;
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let place = Place::with_agent(&bench.setup, &conductor.agent(&bench.setup, folder.path())?)?;
    let run = place.begin("go").await?;
    let mut players = conductor.gather(1).await?;
    let count = Arc::new(Count::default());
    let mut crowd = Crowd::default();
    for _ in 0..subscribers {
        crowd.add(Subscriber::connect(&place, &run).await?).await?;
    }
    let counting = count.clone();
    crowd.read(move |line| counting.line(line))?;
    // The first line, which tells that the agent has started.
    let mut due = subscribers;
    count.reach(due).await?;
    while bench.another_round()? {
        for (key, cpu, read, batch) in
            [("tens", "tens_cpu", "tens_read", 10), ("singles", "singles_cpu", "singles_read", 1)]
        {
            let before = Processor::of(place.pid())?;
            let readers = Processor::of(std::process::id())?;
            let began = Instant::now();
            for _ in 0..BATCHES * bench.slow.times() as u64 {
                due += subscribers * batch;
                deliver(&mut players, &count, batch, due).await?;
            }
            let took = began.elapsed().as_secs_f64();
            let events = (subscribers * batch * BATCHES) as f64;
            let used = Processor::used_since(before, place.pid())?;
            let readers = Processor::used_since(readers, std::process::id())?;
            bench.alone(key, events / took / 1e6)?;
            bench.alone(cpu, used.as_secs_f64() * 1e9 / events)?;
            bench.alone(read, readers.as_secs_f64() * 1e9 / events)?;
        }
        for (key, together) in [("tens_flow", 10), ("singles_flow", 1)] {
            let batches = bench.setup.effort.of(FLOWING);
            let began = Instant::now();
            for _ in 0..bench.slow.times() {
                due += subscribers * batches * together;
                count.wanted.store(due, Ordering::Release);
                players.speak(Score { lines: batches * together, every: FLOW, together }).await?;
                count.reach(due).await?;
            }
            let took = began.elapsed().as_secs_f64();
            bench.alone(key, (subscribers * batches * together) as f64 / took / 1e6)?;
        }
    }
    Ok(())
}

/// Lets the agent say so much at once, and waits until everybody has got it.
async fn deliver(players: &mut Players, count: &Count, lines: u64, due: u64) -> anyhow::Result<()> {
    count.wanted.store(due, Ordering::Release);
    players.speak(Score { lines, every: Duration::ZERO, together: lines }).await?;
    count.reach(due).await
}
