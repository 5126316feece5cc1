//! Subscribers that never read while much is written: what each of them costs, and that nobody else feels it.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::memory::{Memory, of_sockets};
use crate::stage::pace::Pace;
use crate::stage::place::Place;
use crate::stage::subscriber::{Got, Subscriber};

pub const ROW: Row = Row {
    name: "memory-stalled",
    about: "500 subscribers that do not read while 100,000 events are written",
    measures: &[
        Measure::alone("each", "server, for each", "KiB", Bar::AtMost(1024.0)),
        Measure::alone("sockets", "kernel, for each, both ends", "KiB", Bar::AtMost(1024.0)),
        Measure::alone("prompt", "events that a prompt reader missed", "", Bar::AtMost(0.0)),
        Measure::alone("lost", "of them lost something in the end", "", Bar::AtMost(0.0)),
        Measure::beside(
            "agent",
            "agent's own time beside them",
            "s",
            "nobody stalled",
            Bar::RatioAtMost(2.0),
        ),
        Measure::alone("rate", "when they read at last, they get", "M events/s", Bar::None),
    ],
    rounds: Rounds::Once,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const STALLED: u64 = 500;
const EVENTS: u64 = 100_000;
/// The agent beside: so many lines, one every so many milliseconds.
const LINES: u64 = 300;
const EVERY: u64 = 10;

/// What was seen while an agent wrote.
struct Seen {
    took: Duration,
    prompt: Got,
    written: u64,
    pace: Pace,
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    while bench.another_round()? {
        let events = bench.setup.effort.of(EVENTS);
        let stalled = bench.setup.effort.of(STALLED) as usize;
        let place = Place::open(&bench.setup)?;
        let (free, _) = look(&place, 0, events).await?;
        bench.note(format!("agent beside a busy run, nobody stalled: {}", free.pace));
        let before = Memory::at_rest(place.pid()).await?;
        let sockets = of_sockets()?;
        // A slowdown of memory is as many times the subscribers, counted as those.
        let (beside, subscribers) = look(&place, stalled * bench.slow.times(), events).await?;
        let after = Memory::at_rest(place.pid()).await?;
        let sockets = of_sockets()?.saturating_sub(sockets) as f64 / stalled as f64;
        bench.note(format!("agent beside it, {stalled} stalled: {}", beside.pace));
        bench.note(format!("server with them: {after}"));
        bench.alone("each", after.rss.saturating_sub(before.rss) as f64 / stalled as f64)?;
        bench.alone("sockets", sockets)?;
        let missed = beside.written - beside.prompt.last + beside.prompt.strays;
        bench.alone("prompt", missed as f64)?;
        bench.pair("agent", beside.took.as_secs_f64(), free.took.as_secs_f64())?;
        let began = Instant::now();
        let (mut reading, mut lost, count) = (JoinSet::new(), 0, subscribers.len());
        for subscriber in subscribers {
            reading.spawn(subscriber.read_all());
        }
        while let Some(read) = reading.join_next().await {
            lost += usize::from(read??.whole(beside.written).is_err());
        }
        let rate = count as f64 * beside.written as f64 / began.elapsed().as_secs_f64() / 1e6;
        bench.alone("rate", rate)?;
        bench.alone("lost", lost as f64)?;
    }
    Ok(())
}

/// One agent writes as fast as it can, another at its pace; each has one prompt reader.
async fn look(
    place: &Place,
    stalled: usize,
    events: u64,
) -> anyhow::Result<(Seen, Vec<Subscriber>)> {
    let busy = place.begin_held(&format!("[[work lines={events} size=80]]")).await?;
    let paced = place.begin_held(&format!("[[work lines={LINES} every_ms={EVERY}]]")).await?;
    let mut subscribers = Vec::new();
    for _ in 0..stalled {
        subscribers.push(Subscriber::connect(place, &busy.run).await?);
    }
    let mut reading = JoinSet::new();
    reading.spawn(Subscriber::connect(place, &busy.run).await?.read_all());
    let mut pacing = JoinSet::new();
    pacing.spawn(Pace::of(Subscriber::connect(place, &paced.run).await?));
    place.let_go(&paced).await?;
    let began = Instant::now();
    place.let_go(&busy).await?;
    place.until_logged(&busy.run, events).await?;
    let took = began.elapsed();
    let prompt = reading.join_next().await.context("nobody read")???;
    let written = place.last(&busy.run);
    let (pace, _) = pacing.join_next().await.context("nobody looked at the pace")???;
    Ok((Seen { took, prompt, written, pace }, subscribers))
}
