//! How soon a server is ready that has many past runs.

use std::time::Instant;

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::cold::{Forgotten, forget};
use crate::stage::fetch::fetch;
use crate::stage::past::add_past;
use crate::stage::place::Place;

pub const ROW: Row = Row {
    name: "server-start",
    about: "process start → first answer, with past runs",
    measures: &[
        Measure::alone("warm", "1,000 past runs, warm", "s", Bar::AtMost(0.1)),
        Measure::alone("cold", "1,000 past runs, caches dropped", "s", Bar::AtMost(0.5)),
        Measure::alone("warm_many", "10,000 past runs, warm", "s", Bar::None),
        Measure::alone("cold_many", "10,000 past runs, caches dropped", "s", Bar::AtMost(1.0)),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

/// How many past runs there are, with how many events each.
const SOME: (u64, u64) = (1_000, 300);
const MANY: (u64, u64) = (10_000, 30);

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let mut some = past(bench, SOME).await?;
    let mut many = past(bench, MANY).await?;
    let mut told = None;
    while bench.another_round()? {
        for (place, warm, cold) in
            [(&mut some, "warm", "cold"), (&mut many, "warm_many", "cold_many")]
        {
            // The first start after a cold one is not warm yet.
            start(bench, place).await?;
            bench.alone(warm, start(bench, place).await?)?;
            told = Some(forget(&place.top().join("state"))?);
            bench.alone(cold, start(bench, place).await?)?;
        }
    }
    if told == Some(Forgotten::Contents) {
        bench.note("not root: only what is in files was forgotten, not their names");
    }
    Ok(())
}

/// A place with past runs that nobody serves.
async fn past(bench: &Bench, (runs, events): (u64, u64)) -> anyhow::Result<Place> {
    let mut place = Place::open(&bench.setup)?;
    place.kill_server()?;
    add_past(&place.top().join("state"), bench.setup.effort.of(runs), events).await?;
    Ok(place)
}

/// Starts the server and kills it when it has answered: the seconds.
async fn start(bench: &Bench, place: &mut Place) -> anyhow::Result<f64> {
    let mut took = 0.0;
    for _ in 0..bench.slow.times() {
        let began = Instant::now();
        place.serve_again()?;
        fetch(&place.address, "/readyz", &place.token).await?;
        took += began.elapsed().as_secs_f64();
        place.kill_server()?;
    }
    Ok(took)
}
