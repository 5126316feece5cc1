//! From an agent's write to its reader, with 100 agents at work, beside 100 processes that only relay.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, percentile};
use crate::row::{Needs, Rounds, Row};
use crate::setup::Setup;
use crate::slow::Slow;
use crate::stage::conductor::{Conductor, Players, Score};
use crate::stage::heard::Heard;
use crate::stage::place::Place;
use crate::stage::processor::Processor;
use crate::stage::subscriber::Subscriber;

const RELAYS: &str = "100 relays";

pub const ROW: Row = Row {
    name: "latency",
    about: "agent's write → SSE client, 100 agents × 20 events/s",
    measures: &[
        Measure::beside("p50", "p50", "µs", RELAYS, Bar::RatioAtMost(2.5)),
        // On a noisy host this is mostly the host; it is to be read against 3×.
        Measure::beside("p99", "p99", "µs", RELAYS, Bar::None),
        Measure::alone("server", "server's processor", "cores", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const AGENTS: u64 = 100;
const EVERY: Duration = Duration::from_millis(50);
const LINES: u64 = 80;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let agents = bench.setup.effort.of(AGENTS) as usize;
    let conductor = Conductor::open().await?;
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let place = Place::with_agent(&bench.setup, &conductor.agent(&bench.setup, folder.path())?)?;
    let ours = Arc::new(Heard::new(bench.slow));
    let mut reading = JoinSet::new();
    for _ in 0..agents {
        let run = place.begin("go").await?;
        let subscriber = Subscriber::connect(&place, &run).await?;
        let heard = ours.clone();
        reading.spawn(subscriber.watch(move |line| heard.line(line)));
    }
    let mut players = conductor.gather(agents).await?;
    let mut relays = Relays::start(&bench.setup, &conductor, agents).await?;
    // What each says when it starts is heard first.
    ours.wait(agents).await?;
    relays.heard.wait(agents).await?;
    let score = Score { lines: LINES, together: 1, every: EVERY };
    let expected = agents * LINES as usize;
    while bench.another_round()? {
        let (mut found, mut floor) = (Vec::new(), Vec::new());
        for side in bench.order() {
            match side {
                Side::Ours => {
                    let before = Processor::of(place.pid())?;
                    players.speak(score).await?;
                    found = ours.wait(expected).await?;
                    let used = Processor::used_since(before, place.pid())?;
                    let lasted = EVERY.as_secs_f64() * LINES as f64;
                    bench.alone("server", used.as_secs_f64() / lasted)?;
                }
                Side::Baseline => {
                    relays.players.speak(score).await?;
                    floor = relays.heard.wait(expected).await?;
                }
            }
        }
        for (key, percent) in [("p50", 50.0), ("p99", 99.0)] {
            bench.pair(key, percentile(&found, percent), percentile(&floor, percent))?;
        }
    }
    Ok(())
}

/// The processes that relay, and their readers.
struct Relays {
    children: Vec<Child>,
    players: Players,
    heard: Arc<Heard>,
    _reading: JoinSet<()>,
}

impl Relays {
    async fn start(setup: &Setup, conductor: &Conductor, count: usize) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (to, come) = (listener.local_addr()?.to_string(), conductor.address()?);
        let mut children = Vec::new();
        for _ in 0..count {
            let relay = Command::new(&setup.programs.bench)
                .args(["stand-in", "relay", "--to", &to, "--conductor", &come])
                .stdin(Stdio::null())
                .spawn();
            children.push(relay.context("starting a relay")?);
        }
        let heard = Arc::new(Heard::new(Slow::NONE));
        let mut reading = JoinSet::new();
        for _ in 0..count {
            let (stream, _) = listener.accept().await?;
            let heard = heard.clone();
            reading.spawn(async move {
                let mut lines = BufReader::with_capacity(64 * 1024, stream);
                let mut line = Vec::new();
                while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
                    heard.line(&line);
                    line.clear();
                }
            });
        }
        let players = conductor.gather(count).await?;
        Ok(Self { children, players, heard, _reading: reading })
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Their tickers end when the conductor's connections do.
            let _dead = child.kill();
            let _dead = child.wait();
        }
    }
}
