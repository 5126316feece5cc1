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
use crate::stand_in::Playing;

/// As many hops as ours: agent, relay, the one process that serves all readers, reader.
const RELAYS: &str = "100 relays and a hub";
/// One hop fewer: each relay has its own reader.
const DIRECT: &str = "100 relays alone";
/// What is said can be found again, and one process serves all readers: as little as that takes.
const KEPT: &str = "100 relays through files";

pub const ROW: Row = Row {
    name: "latency",
    about: "agent's write → SSE client, 100 agents × 20 events/s",
    measures: &[
        Measure::beside("p50", "p50", "µs", RELAYS, Bar::RatioAtMost(2.5)),
        // On a noisy host this is mostly the host; it is to be read against 3×.
        Measure::beside("p99", "p99", "µs", RELAYS, Bar::None),
        Measure::beside("direct", "p50", "µs", DIRECT, Bar::None),
        Measure::beside("kept", "p50", "µs", KEPT, Bar::None),
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
    let mut hub = Relays::by_hub(&bench.setup, &conductor, agents).await?;
    let mut direct = Relays::direct(&bench.setup, &conductor, agents).await?;
    let mut kept = Relays::kept(&bench.setup, &conductor, agents).await?;
    // What each says when it starts is heard first.
    ours.wait(agents).await?;
    hub.heard.wait(agents).await?;
    direct.heard.wait(agents).await?;
    let score = Score { lines: LINES, together: 1, every: EVERY };
    let expected = agents * LINES as usize;
    while bench.another_round()? {
        let (mut found, mut floor) = (Vec::new(), Vec::new());
        let (mut fewer, mut limit) = (Vec::new(), Vec::new());
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
                    floor = hub.speak(score).await?;
                    fewer = direct.speak(score).await?;
                    limit = kept.speak(score).await?;
                }
            }
        }
        for (key, percent) in [("p50", 50.0), ("p99", 99.0)] {
            bench.pair(key, percentile(&found, percent), percentile(&floor, percent))?;
        }
        bench.pair("direct", percentile(&found, 50.0), percentile(&fewer, 50.0))?;
        bench.pair("kept", percentile(&found, 50.0), percentile(&limit, 50.0))?;
    }
    Ok(())
}

/// Where relays send what they copy.
struct Way {
    readers: TcpListener,
    /// The readers' own address, or that of what stands before them.
    to: String,
    between: Option<Playing>,
}

/// The processes that relay, and their readers.
struct Relays {
    children: Vec<Child>,
    players: Players,
    heard: Arc<Heard>,
    _reading: JoinSet<()>,
    /// Stands between them and their readers.
    _between: Option<Playing>,
    _folder: Option<TempDir>,
}

impl Relays {
    /// Relays that copy a pipe to a connection.
    async fn direct(setup: &Setup, conductor: &Conductor, count: usize) -> anyhow::Result<Self> {
        let readers = TcpListener::bind("127.0.0.1:0").await?;
        let to = readers.local_addr()?.to_string();
        Self::copying(setup, conductor, count, Way { readers, to, between: None }).await
    }

    /// The same with one process between them and their readers.
    async fn by_hub(setup: &Setup, conductor: &Conductor, count: usize) -> anyhow::Result<Self> {
        let readers = TcpListener::bind("127.0.0.1:0").await?;
        let (to, relays) = (readers.local_addr()?.to_string(), count.to_string());
        let hub = Playing::start(setup, ["hub", "--to", &to, "--relays", &relays])?;
        let way = Way { readers, to: hub.ready.clone(), between: Some(hub) };
        Self::copying(setup, conductor, count, way).await
    }

    async fn copying(
        setup: &Setup,
        conductor: &Conductor,
        count: usize,
        Way { readers, to, between }: Way,
    ) -> anyhow::Result<Self> {
        let come = conductor.address()?;
        let args = ["relay", "--to", &to, "--conductor", &come];
        let children = (0..count).map(|_| start(setup, &args)).collect::<Result<_, _>>()?;
        let (heard, reading) = read(&readers, count).await?;
        let players = conductor.gather(count).await?;
        Ok(Self { children, players, heard, _reading: reading, _between: between, _folder: None })
    }

    /// Relays that copy a pipe to a file, and one process that sends on from all the files.
    async fn kept(setup: &Setup, conductor: &Conductor, count: usize) -> anyhow::Result<Self> {
        let folder = TempDir::new_in(&setup.folder)?;
        let (mut children, mut folders) = (Vec::new(), Vec::new());
        for nth in 0..count {
            let own = folder.path().join(nth.to_string());
            std::fs::create_dir(&own)?;
            let at = own.to_str().context("a path of ours is text")?;
            let come = conductor.address()?;
            children.push(start(setup, &["keep", "--folder", at, "--conductor", &come])?);
            folders.push(own.into_os_string());
        }
        let players = conductor.gather(count).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let to = ["tell".into(), "--to".into(), listener.local_addr()?.to_string().into()];
        let telling = Playing::start(setup, to.into_iter().chain(folders))?;
        let (heard, reading) = read(&listener, count).await?;
        let (_between, _folder) = (Some(telling), Some(folder));
        Ok(Self { children, players, heard, _reading: reading, _between, _folder })
    }

    async fn speak(&mut self, score: Score) -> anyhow::Result<Vec<f64>> {
        self.players.speak(score).await?;
        self.heard.wait(self.children.len() * score.lines as usize).await
    }
}

fn start(setup: &Setup, args: &[&str]) -> anyhow::Result<Child> {
    let mut relay = Command::new(&setup.programs.bench);
    let relay = relay.arg("stand-in").args(args).stdin(Stdio::null()).spawn();
    relay.context("starting a relay")
}

/// Listens to all that is relayed.
async fn read(listener: &TcpListener, count: usize) -> anyhow::Result<(Arc<Heard>, JoinSet<()>)> {
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
    Ok((heard, reading))
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
