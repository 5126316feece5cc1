//! A whole log of 100,000 events over HTTP, beside the same bytes from a file.

use std::time::Instant;

use anyhow::ensure;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, Spread};
use crate::row::{Needs, Rounds, Row};
use crate::stage::cold::forget_contents;
use crate::stage::fetch::{body, fetch};
use crate::stage::place::Place;
use crate::stage::processor::Processor;
use crate::stage::subscriber::Subscriber;
use crate::stand_in::Playing;

pub const ROW: Row = Row {
    name: "replay",
    about: "a log of 100,000 events to one client, from the disk's cache",
    measures: &[
        Measure::beside("static", "replay", "MB/s", "static file service", Bar::RatioAtLeast(1.0)),
        Measure::beside("pread", "replay", "MB/s", "stream of plain reads", Bar::RatioAtLeast(0.7)),
        Measure::beside("fresh", FRESH, "MB/s", "stream of plain reads", Bar::None),
        Measure::alone("events", "replay", "k events/s", Bar::None),
        Measure::alone("server", "replay, server", "ns/event", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

/// A log that was written bit by bit lies in memory in small pages, and costs the kernel more to read than a file that was
/// written in one go, until both have been read from the disk again.
const FRESH: &str = "replay, just written";
const EVENTS: u64 = 100_000;
/// How often each is fetched in a round.
const FETCHES: usize = 7;

/// A log, and the same bytes in a file.
struct Replayed {
    stream: String,
    events: u64,
    bytes: u64,
    files: Playing,
}

/// How long a fetch took, in seconds.
struct Took {
    ours: f64,
    file: f64,
    pread: f64,
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let place = Place::open(&bench.setup)?;
    let read = Replayed::write(bench, &place, "read").await?;
    forget_contents(place.top())?;
    let fresh = Replayed::write(bench, &place, "fresh").await?;
    bench.note(format!("{} events, {:.1} MB", read.events, read.bytes as f64 / 1e6));
    read.fetch(bench, &place, 1).await?;
    while bench.another_round()? {
        let before = Processor::of(place.pid())?;
        let took = read.fetch(bench, &place, FETCHES).await?;
        let used = Processor::used_since(before, place.pid())?;
        let rate = |seconds: f64| read.bytes as f64 / seconds / 1e6;
        bench.pair("static", rate(took.ours), rate(took.file))?;
        bench.pair("pread", rate(took.ours), rate(took.pread))?;
        bench.alone("events", read.events as f64 / took.ours / 1e3)?;
        let replayed = read.events as f64 * FETCHES as f64;
        bench.alone("server", used.as_secs_f64() * 1e9 / replayed)?;
        let took = fresh.fetch(bench, &place, FETCHES).await?;
        bench.pair("fresh", rate(took.ours), rate(took.pread))?;
    }
    Ok(())
}

impl Replayed {
    /// Lets an agent say much, and copies what a reader gets of it.
    async fn write(bench: &Bench, place: &Place, name: &str) -> anyhow::Result<Self> {
        let events = bench.setup.effort.of(EVENTS);
        let run = place.begin(&format!("[[work lines={events} size=200]]")).await?;
        let whole = Subscriber::connect(place, &run).await?.read_all().await?;
        let events = place.last(&run);
        whole.whole(events)?;
        let stream = format!("/api/v1/runs/{run}/events/stream");
        let body = body(&place.address, &stream, &place.token).await?;
        let file = place.top().join(name);
        std::fs::write(&file, &body)?;
        let files = Playing::start(&bench.setup, ["files".as_ref(), file.as_os_str()])?;
        Ok(Self { stream, events, bytes: body.len() as u64, files })
    }

    /// The median of so many fetches.
    async fn fetch(&self, bench: &Bench, place: &Place, times: usize) -> anyhow::Result<Took> {
        let (mut ours, mut file, mut pread) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..times {
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        let began = Instant::now();
                        for _ in 0..bench.slow.times() {
                            let got = fetch(&place.address, &self.stream, &place.token).await?;
                            ensure!(got.bytes > self.bytes, "the replay was cut short");
                        }
                        ours.push(began.elapsed().as_secs_f64());
                    }
                    Side::Baseline => {
                        let ready = &self.files.ready;
                        file.push(fetch(ready, "/static", "").await?.took.as_secs_f64());
                        pread.push(fetch(ready, "/pread", "").await?.took.as_secs_f64());
                    }
                }
            }
        }
        let median = |times: Vec<f64>| Spread::of(times).map_or(0.0, |spread| spread.median);
        Ok(Took { ours: median(ours), file: median(file), pread: median(pread) })
    }
}
