//! Growth: what one event costs when a log has a thousand events, and when it has ten million.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::Args;
use musher_core::{RunId, SessionEnded};
use musher_log::{Cursor, Lock, LogRead, LogReader, Writer};
use serde_json::json;

use crate::plot::{Curve, Plot};
use crate::setup::Setup;
use crate::stage::fetch::fetch;
use crate::stage::memory::{Memory, mib};
use crate::stage::past::{add_past, end, event};
use crate::stage::place::Place;

/// Draws what an event costs as logs grow.
#[derive(Debug, Args)]
pub struct Curves {
    /// The most events, as a power of ten.
    #[arg(long, default_value_t = 7)]
    most: u32,
    /// Where the pictures go.
    #[arg(long, value_name = "DIR", default_value = "docs/plots")]
    to: PathBuf,
    /// Writes the figures into a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const BATCH: u64 = 256;
const LEAST: u32 = 3;
/// How often the end of a log is read.
const TAILS: u32 = 20;

/// What was found for a log of one length.
#[derive(Debug, Clone, Copy, serde::Serialize)]
struct Found {
    events: u64,
    append_ns: f64,
    replay_ns: f64,
    last_page_us: f64,
    server_mib: f64,
}

impl Curves {
    pub async fn draw(&self, setup: &Setup) -> anyhow::Result<()> {
        let mut found = Vec::new();
        for power in LEAST..=self.most {
            let one = measure(setup, 10_u64.pow(power)).await?;
            println!(
                "{} events: append {:.0} ns, replay {:.0} ns each; last page {:.0} µs; server {:.1} MiB",
                one.events, one.append_ns, one.replay_ns, one.last_page_us, one.server_mib
            );
            found.push(one);
        }
        std::fs::create_dir_all(&self.to)?;
        let curve = |name, of: fn(&Found) -> f64| Curve {
            name,
            points: found.iter().map(|one| (one.events as f64, of(one))).collect(),
        };
        let each = Plot {
            title: "What one event costs, by the length of its log".into(),
            x: "events in the log",
            y: "ns/event",
            curves: vec![
                curve("append", |one| one.append_ns),
                curve("replay", |one| one.replay_ns),
            ],
        };
        let whole = Plot {
            title: "What does not depend on the length of a log".into(),
            x: "events in the log",
            y: "µs, MiB",
            curves: vec![
                curve("the last page, µs", |one| one.last_page_us),
                curve("server after a replay, MiB", |one| one.server_mib),
            ],
        };
        for (name, plot) in [("cost-per-event.svg", each), ("independent.svg", whole)] {
            let path = self.to.join(name);
            std::fs::write(&path, plot.svg()).with_context(|| path.display().to_string())?;
        }
        if let Some(path) = &self.json {
            let text = serde_json::to_string_pretty(&json!({ "curves": found }))?;
            std::fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
}

async fn measure(setup: &Setup, events: u64) -> anyhow::Result<Found> {
    let mut place = Place::open(setup)?;
    place.kill_server()?;
    let state = place.top().join("state");
    add_past(&state, 1, 1).await?;
    let folder = only_run(&state)?;
    let run = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    std::fs::remove_dir_all(&folder)?;
    std::fs::create_dir(&folder)?;
    let append_ns = append(&folder, &run.parse()?, events)?;
    let last_page_us = last_page(&folder, events)?;
    place.serve_again()?;
    let path = format!("/api/v1/runs/{run}/events/stream");
    let began = Instant::now();
    let got = fetch(&place.address, &path, &place.token).await?;
    let replay_ns = began.elapsed().as_secs_f64() * 1e9 / events as f64;
    ensure!(got.bytes > events * 100, "the replay was cut short");
    let server_mib = mib(Memory::at_rest(place.pid()).await?.rss);
    Ok(Found { events, append_ns, replay_ns, last_page_us, server_mib })
}

fn only_run(state: &Path) -> anyhow::Result<PathBuf> {
    let first = std::fs::read_dir(state.join("runs"))?.next();
    Ok(first.context("there is no run")??.path())
}

/// Writes a log as a runner does, with what is not pressing synced at its end: nanoseconds for each event.
fn append(folder: &Path, run: &RunId, events: u64) -> anyhow::Result<f64> {
    let mut writer = Writer::create(Lock::take(folder)?, &run.to_string())?;
    let mut took = 0.0;
    let mut next = 1;
    while next <= events {
        let last = (next + BATCH - 1).min(events);
        let batch = (next..=last).map(|seq| event(seq, events)).collect::<Result<Vec<_>, _>>()?;
        let began = Instant::now();
        writer.append(&batch)?;
        took += began.elapsed().as_secs_f64();
        next = last + 1;
    }
    let began = Instant::now();
    writer.sync()?;
    took += began.elapsed().as_secs_f64();
    let ended: SessionEnded = serde_json::from_value::<SessionEnded>(end())?;
    writer.finish(&ended)?;
    Ok(took * 1e9 / events as f64)
}

/// Opens the log near its end and reads what is there: microseconds.
fn last_page(folder: &Path, events: u64) -> anyhow::Result<f64> {
    let began = Instant::now();
    for _ in 0..TAILS {
        let epoch = LogReader::open(folder, None)?.head()?.context("the log has no head")?.epoch;
        let from = Cursor { epoch, seq: events.saturating_sub(100) };
        let mut reader = LogReader::open(folder, Some(from))?;
        let mut buffer = Vec::new();
        let read = reader.read(&mut buffer, 1 << 20)?;
        ensure!(matches!(read, LogRead::Lines(_)), "the end of the log was not read");
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(TAILS))
}
