//! How soon the API answers while agents work, others watch and people decide.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::measure::{Bar, Measure, percentile, sorted};
use crate::row::{Needs, Rounds, Row};
use crate::slow::Slow;
use crate::stage::conductor::{Conductor, Score};
use crate::stage::fetch::fetch;
use crate::stage::place::Place;
use crate::stage::subscriber::Subscriber;

const HEALTH: &str = "a request that asks for nothing";

pub const ROW: Row = Row {
    name: "api",
    about: "requests beside 20 agents × 20 events/s, 100 subscribers and 4 clients",
    measures: &[
        Measure::beside("reads", "reads, p50", "µs", HEALTH, Bar::None),
        Measure::beside("reads_p99", "reads, p99", "µs", HEALTH, Bar::None),
        Measure::alone("commands", "commands, p50", "µs", Bar::None),
        Measure::alone("commands_p99", "commands, p99", "µs", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const AGENTS: usize = 20;
const WATCHERS: usize = 5;
const CLIENTS: usize = 4;
const REQUESTS: u64 = 200;
const EVERY: Duration = Duration::from_millis(50);
/// More than a round takes.
const LINES: u64 = 100_000;

/// What clients read in turn.
const READS: [&str; 5] = [
    "/api/v1/runs",
    "/api/v1/runs/{run}",
    "/api/v1/stories",
    "/api/v1/asks",
    "/api/v1/runs/{run}/events",
];

/// Microseconds of each request.
#[derive(Debug, Default)]
struct Took {
    /// With its place among `READS`.
    reads: Vec<(usize, f64)>,
    commands: Vec<f64>,
    health: Vec<f64>,
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let conductor = Conductor::open().await?;
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let agent = conductor.agent(&bench.setup, folder.path())?;
    let place = Arc::new(Place::with_agent(&bench.setup, &agent)?);
    let (mut runs, mut reading) = (Vec::new(), JoinSet::new());
    for _ in 0..AGENTS {
        let run = place.begin("go").await?;
        for _ in 0..WATCHERS {
            reading.spawn(Subscriber::connect(&place, &run).await?.read_all());
        }
        runs.push(run);
    }
    let mut players = conductor.gather(AGENTS).await?;
    players.speak(Score { lines: LINES, together: 1, every: EVERY }).await?;
    let requests = bench.setup.effort.of(REQUESTS);
    while bench.another_round()? {
        let mut asking = JoinSet::new();
        for client in 0..CLIENTS {
            let (place, run) = (place.clone(), runs[client % runs.len()].clone());
            asking.spawn(ask(place, run, requests, bench.slow));
        }
        let mut took = Took::default();
        while let Some(asked) = asking.join_next().await {
            let Took { reads, commands, health } = asked??;
            took.reads.extend(reads);
            took.commands.extend(commands);
            took.health.extend(health);
        }
        let Took { reads, commands, health } = took;
        for (kind, path) in READS.iter().enumerate() {
            let of_kind = reads.iter().filter(|(of, _)| *of == kind).map(|(_, took)| *took);
            let of_kind = sorted(of_kind.collect());
            let (p50, p99) = (percentile(&of_kind, 50.0), percentile(&of_kind, 99.0));
            bench.note(format!("{path}: p50 {p50:.0} p99 {p99:.0} µs"));
        }
        let reads = sorted(reads.into_iter().map(|(_, took)| took).collect());
        let (commands, health) = (sorted(commands), sorted(health));
        bench.pair("reads", percentile(&reads, 50.0), percentile(&health, 50.0))?;
        bench.pair("reads_p99", percentile(&reads, 99.0), percentile(&health, 99.0))?;
        bench.alone("commands", percentile(&commands, 50.0))?;
        bench.alone("commands_p99", percentile(&commands, 99.0))?;
    }
    Ok(())
}

/// One client: reads of every kind in turn, each beside one of nothing, and a command now and then.
async fn ask(place: Arc<Place>, run: String, requests: u64, slow: Slow) -> anyhow::Result<Took> {
    let mut took = Took::default();
    for nth in 0..requests {
        let kind = nth as usize % READS.len();
        let path = READS[kind].replace("{run}", &run);
        let began = Instant::now();
        fetch(&place.address, &path, &place.token).await?;
        took.reads.push((kind, slow.lengthen(began).as_secs_f64() * 1e6));
        let began = Instant::now();
        fetch(&place.address, "/healthz", "").await?;
        took.health.push(began.elapsed().as_secs_f64() * 1e6);
        if nth % 5 == 0 {
            let began = Instant::now();
            let story = json!({ "title": "One more", "text": "Something." });
            let _added: Json = place.client().post(&["stories"], &story).await?.read()?;
            took.commands.push(slow.lengthen(began).as_secs_f64() * 1e6);
        }
    }
    Ok(took)
}
