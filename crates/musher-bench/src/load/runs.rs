//! A thousand live runs at once: whether each goes on, what all of them cost, and how soon they are gone.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, stream};
use musher_client::api::Runs;
use musher_core::{Event, EventKind, ItemBody};
use musher_log::{LogRead, LogReader, lines};
use tokio::task::JoinSet;

use super::tree::{Taken, Tree};
use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::plot::{Curve, Plot};
use crate::row::{Needs, Rounds, Row};
use crate::setup::Effort;
use crate::stage::memory::{Memory, mib};
use crate::stage::place::Place;
use crate::stage::subscriber::{Got, Subscriber, number};

pub const ROW: Row = Row {
    name: "load-runs",
    about: "1,000 live runs, each of which says something twice a second",
    measures: &measures(700.0, 30.0),
    rounds: Rounds::Once,
    needs: Needs::Crowd,
    run: |bench| Box::pin(run(bench, Confined::No)),
};

pub const CONFINED_ROW: Row = Row {
    name: "load-runs-confined",
    about: "the same, each in a sandbox of its own",
    // A stop also brings the work of each sandbox over, which takes git several processes.
    measures: &measures(750.0, 120.0),
    rounds: Rounds::Once,
    needs: Needs::Crowd,
    run: |bench| Box::pin(run(bench, Confined::Workspace)),
};

/// What is measured; `memory` are the megabytes of server and runners, `stopped` the seconds in which all have to stop.
const fn measures(memory: f64, stopped: f64) -> [Measure; 13] {
    [
        Measure::alone("going", "of all runs went on", "%", Bar::AtLeast(100.0)),
        Measure::alone("cores", "server, runners and agents together", "cores", Bar::AtMost(1.0)),
        Measure::alone("server_cores", "… of it the server", "cores", Bar::None),
        Measure::alone("runner_cores", "… of it the runners", "cores", Bar::None),
        Measure::alone("memory", "server and runners, without agents", "MB", Bar::AtMost(memory)),
        Measure::alone("server", "server, for each live run", "KiB", Bar::AtMost(128.0)),
        Measure::alone("runner", "greediest runner, private", "MiB", Bar::AtMost(1.5)),
        Measure::alone("agents", "agents, which are not ours", "MB", Bar::None),
        Measure::alone("lost", "runs that lost something", "", Bar::AtMost(0.0)),
        Measure::alone("unseen", "of 50 viewers saw not all", "", Bar::AtMost(0.0)),
        Measure::alone("started", "all started within", "s", Bar::None),
        Measure::alone("stopped", "all stopped within", "s", Bar::AtMost(stopped)),
        Measure::alone("left", "processes left", "", Bar::AtMost(0.0)),
    ]
}

/// Whether the agents are in sandboxes.
#[derive(Debug, Clone, Copy)]
enum Confined {
    No,
    Workspace,
}

impl Confined {
    /// What the project file says of the agent.
    fn settings(self, bench: &Bench) -> String {
        match self {
            Self::No => AGENT.to_owned(),
            Self::Workspace => {
                let worker = bench.setup.programs.worker.display();
                format!(
                    "{AGENT}sandbox = {{ profile = 'workspace', read = ['{worker}'], write = ['@HOME@'] }}\n"
                )
            }
        }
    }
}

const RUNS: u64 = 1_000;
/// When the server's memory is looked at on the way.
const STEPS: [usize; 7] = [1, 3, 10, 30, 100, 300, 1_000];
const WORK: &str = "[[work lines=100000 every_ms=500]]";
/// Agents write down how much they have said.
const AGENT: &str = "env = { WORKER_HOME = '@HOME@' }\n";
/// A run that has so many events is well at work.
const AT_WORK: u64 = 8;
const VIEWERS: usize = 50;
/// How long all of them are watched.
const WATCHED: Duration = Duration::from_secs(30);
/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(50);
/// So many commands are under way at once.
const AT_ONCE: usize = 64;
/// How long the last ones may take to leave.
const LEAVE: Duration = Duration::from_secs(5);

async fn run(bench: &mut Bench, confined: Confined) -> anyhow::Result<()> {
    while bench.another_round()? {
        // A slowdown is as many times the runs, counted as those.
        let all = bench.setup.effort.of(RUNS) as usize;
        let count = all * bench.slow.times();
        let place = Place::open_with(&bench.setup, &confined.settings(bench))?;
        let mut runs = Vec::new();
        let mut curve = Vec::new();
        let mut started = Duration::ZERO;
        for step in STEPS.into_iter().filter(|step| *step < count).chain([count]) {
            let began = Instant::now();
            while runs.len() < step {
                runs.push(place.begin(WORK).await?);
            }
            at_work(&place, &runs).await?;
            started += began.elapsed();
            let memory = Memory::at_rest(place.pid()).await?;
            eprintln!("{step} live runs: server {memory}");
            curve.push((step, memory.rss));
        }
        bench.alone("started", started.as_secs_f64())?;
        let (first, last) = (curve[0], curve[curve.len() - 1]);
        let grown = last.1.saturating_sub(first.1) as f64;
        bench.alone("server", grown / all.saturating_sub(first.0).max(1) as f64)?;
        draw(bench, &curve)?;
        let mut viewing = JoinSet::new();
        for run in runs.iter().step_by(runs.len().div_ceil(VIEWERS)) {
            let (run, viewer) = (run.clone(), Subscriber::connect(&place, run).await?);
            viewing.spawn(async move { viewer.read_all().await.map(|got| (run, got)) });
        }
        watch(bench, &place, &runs).await?;
        let stopped = stop_all(&place, &runs).await?;
        bench.alone("stopped", stopped.as_secs_f64())?;
        bench.alone("left", left(&place).await? as f64)?;
        let mut unseen = 0;
        while let Some(viewed) = viewing.join_next().await {
            let (run, got): (String, Got) = viewed??;
            unseen += usize::from(got.whole(place.last(&run)).is_err());
        }
        bench.alone("unseen", unseen as f64)?;
        let lost = runs.iter().filter(|run| !is_whole(&place, run)).count();
        bench.alone("lost", lost as f64)?;
    }
    Ok(())
}

/// Waits until each run has said something.
async fn at_work(place: &Place, runs: &[String]) -> anyhow::Result<()> {
    let began = Instant::now();
    for run in runs {
        while place.last(run) < AT_WORK {
            let last = place.last(run);
            ensure!(began.elapsed() < PATIENCE, "{run} has not begun: it has {last} events");
            tokio::time::sleep(LOOK).await;
        }
    }
    Ok(())
}

/// Looks at all of them for a while: who goes on, and what they cost meanwhile.
async fn watch(bench: &mut Bench, place: &Place, runs: &[String]) -> anyhow::Result<()> {
    let tree = Tree::of(place, runs.len())?;
    let heads = || runs.iter().map(|run| place.last(run)).collect::<Vec<_>>();
    let (before, used, began) = (heads(), tree.used()?, Instant::now());
    let time = match bench.setup.effort {
        Effort::Whole => WATCHED,
        Effort::Quick => WATCHED / 3,
    };
    tokio::time::sleep(time).await;
    let (lasted, now) = (began.elapsed(), tree.used()?);
    let [server, runners, others] = now.cores_since(&used, lasted)?;
    let after = heads();
    // One that is slow has still said half of what it should.
    let due = lasted.as_secs();
    let went = before.iter().zip(&after).filter(|(before, after)| *after - *before >= due).count();
    let events = after.iter().sum::<u64>() - before.iter().sum::<u64>();
    bench.note(format!("{:.0} events/s in all", events as f64 / lasted.as_secs_f64()));
    bench.alone("going", 100.0 * went as f64 / runs.len() as f64)?;
    bench.alone("cores", server + runners + others)?;
    bench.alone("server_cores", server)?;
    bench.alone("runner_cores", runners)?;
    let Taken { server, runners, others, greediest } = tree.taken()?;
    let megabytes = |kib: u64| kib as f64 * 1024.0 / 1e6;
    bench.note(format!(
        "server {:.0} MB, runners {:.0} MB, {:.0} KiB each; the kernel's own is not counted",
        megabytes(server),
        megabytes(runners),
        runners as f64 / runs.len() as f64
    ));
    bench.alone("memory", megabytes(server + runners))?;
    bench.alone("agents", megabytes(others))?;
    bench.alone("runner", mib(greediest))
}

/// Stops every run, and tells how long it took until all were over.
async fn stop_all(place: &Place, runs: &[String]) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut stopping = stream::iter(runs).map(|run| place.stop(run)).buffer_unordered(AT_ONCE);
    while let Some(stopped) = stopping.next().await {
        stopped?;
    }
    loop {
        let live: Runs =
            place.client().read(&["runs"], &[("state", "live"), ("limit", "1000")]).await?;
        if live.runs.is_empty() {
            return Ok(began.elapsed());
        }
        ensure!(began.elapsed() < PATIENCE, "{} runs do not stop", live.runs.len());
        tokio::time::sleep(LOOK).await;
    }
}

/// How many processes are left a moment after all is over.
async fn left(place: &Place) -> anyhow::Result<usize> {
    let began = Instant::now();
    loop {
        let left = place.left()?;
        if left.is_empty() || began.elapsed() > LEAVE {
            return Ok(left.len());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether a log has every number, and everything that its agent knows to have said.
fn is_whole(place: &Place, run: &str) -> bool {
    let read = || -> anyhow::Result<bool> {
        let events = events(&place.folder(run))?;
        let gapless = (1..).zip(&events).all(|(n, event)| event.seq == n);
        let said = events.iter().filter_map(said).collect::<Vec<_>>();
        let in_order = (1..).zip(&said).all(|(n, line)| *line == n);
        let session = events.iter().find_map(|event| {
            let EventKind::SessionInfo(info) = &event.kind else { return None };
            Some(info.session.as_ref()?.as_str().to_owned())
        });
        let session = session.context("there was no session")?;
        let known = std::fs::read(place.worker_home().join("sessions").join(session))?;
        Ok(gapless && in_order && said.len() as u64 >= number(&known))
    };
    read().unwrap_or(false)
}

/// The number of the line that an agent said.
fn said(event: &Event) -> Option<u64> {
    let EventKind::ItemDone { body: ItemBody::Text { text }, .. } = &event.kind else {
        return None;
    };
    text.strip_prefix("line ").map(|line| number(line.as_bytes()))
}

fn events(folder: &Path) -> anyhow::Result<Vec<Event>> {
    let (mut reader, mut events) = (LogReader::open(folder, None)?, Vec::new());
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read(&mut buffer, 1 << 20)? {
            LogRead::Lines(batch) => {
                for line in lines(&buffer[batch.lines]) {
                    events.push(serde_json::from_slice(line)?);
                }
            }
            LogRead::End => return Ok(events),
            LogRead::Reset { .. } => {}
        }
    }
}

/// Draws what the server takes as there are more and more runs.
fn draw(bench: &mut Bench, curve: &[(usize, u64)]) -> anyhow::Result<()> {
    for (runs, rss) in curve {
        bench.note(format!("server with {runs} live runs: {:.1} MiB", mib(*rss)));
    }
    let Some(folder) = &bench.setup.plots else { return Ok(()) };
    std::fs::create_dir_all(folder)?;
    let points = curve.iter().map(|(runs, rss)| (*runs as f64, mib(*rss))).collect();
    let plot = Plot {
        title: "What the server takes, by the number of live runs".into(),
        x: "live runs",
        y: "MiB",
        curves: vec![Curve { name: "server, RSS", points }],
    };
    let path = folder.join("server-memory.svg");
    std::fs::write(&path, plot.svg()).with_context(|| path.display().to_string())
}
