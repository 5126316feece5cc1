//! A whole log of 100,000 events over HTTP, beside the same bytes from a file.

use std::time::Instant;

use anyhow::ensure;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, Spread};
use crate::row::{Needs, Rounds, Row};
use crate::stage::fetch::{body, fetch};
use crate::stage::place::Place;
use crate::stage::processor::Processor;
use crate::stage::subscriber::Subscriber;
use crate::stand_in::Playing;

pub const ROW: Row = Row {
    name: "replay",
    about: "a log of 100,000 events to one client",
    measures: &[
        Measure::beside("static", "replay", "MB/s", "static file service", Bar::RatioAtLeast(1.0)),
        Measure::beside("pread", "replay", "MB/s", "stream of plain reads", Bar::RatioAtLeast(0.7)),
        Measure::alone("events", "replay", "k events/s", Bar::None),
        Measure::alone("server", "replay, server", "ns/event", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const EVENTS: u64 = 100_000;
/// How often each is fetched in a round.
const FETCHES: usize = 7;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let events = bench.setup.effort.of(EVENTS);
    let place = Place::open(&bench.setup)?;
    let run = place.begin(&format!("[[work lines={events} size=200]]")).await?;
    let whole = Subscriber::connect(&place, &run).await?.read_all().await?;
    let written = place.last(&run);
    whole.whole(written)?;
    let stream = format!("/api/v1/runs/{run}/events/stream");
    let bytes = body(&place.address, &stream, &place.token).await?;
    let file = place.top().join("replay");
    std::fs::write(&file, &bytes)?;
    let files = Playing::start(&bench.setup, ["files".as_ref(), file.as_os_str()])?;
    bench.note(format!("{written} events, {:.1} MB", bytes.len() as f64 / 1e6));
    while bench.another_round()? {
        let (mut ours, mut file, mut pread) = (Vec::new(), Vec::new(), Vec::new());
        let before = Processor::of(place.pid())?;
        for _ in 0..FETCHES {
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        let began = Instant::now();
                        for _ in 0..bench.slow.times() {
                            let got = fetch(&place.address, &stream, &place.token).await?;
                            ensure!(got.bytes > bytes.len() as u64, "the replay was cut short");
                        }
                        ours.push(began.elapsed().as_secs_f64());
                    }
                    Side::Baseline => {
                        file.push(fetch(&files.ready, "/static", "").await?.took.as_secs_f64());
                        pread.push(fetch(&files.ready, "/pread", "").await?.took.as_secs_f64());
                    }
                }
            }
        }
        let used = Processor::used_since(before, place.pid())?;
        let median = |times: Vec<f64>| Spread::of(times).map_or(0.0, |spread| spread.median);
        let rate = |seconds: f64| bytes.len() as f64 / seconds / 1e6;
        let (ours, file, pread) = (median(ours), median(file), median(pread));
        bench.pair("static", rate(ours), rate(file))?;
        bench.pair("pread", rate(ours), rate(pread))?;
        bench.alone("events", written as f64 / ours / 1e3)?;
        let replayed = written as f64 * FETCHES as f64;
        bench.alone("server", used.as_secs_f64() * 1e9 / replayed)?;
    }
    Ok(())
}
