//! From an agent's pipe into the log of its run, on one core, beside a reader of the same pipe that only parses.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Better, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::setup::Setup;
use crate::stage::alone::Alone;
use crate::stage::cores::on_one_core;
use crate::stage::corpus::Corpus;

const PIPED: &str = "parse into values, piped";
const IN_MEMORY: &str = "parse into values, in memory";

pub const ROW: Row = Row {
    name: "ingest",
    about: "recorded frames → translated → events and raw copy logged with default sync, one core",
    measures: &[
        // A hundred times what a thousand agents print: what matters is that it does not become slower.
        Measure::beside("mixed", "mixed frames", "MB/s", PIPED, Bar::NotWorse(Better::More)),
        Measure::beside("deltas", "deltas only", "MB/s", PIPED, Bar::RatioAtLeast(0.9)),
        Measure::beside("mixed_memory", "mixed frames", "MB/s", IN_MEMORY, Bar::None),
        Measure::beside("deltas_memory", "deltas only", "MB/s", IN_MEMORY, Bar::None),
        Measure::beside("short", "lines of 200 B", "MB/s", PIPED, Bar::None),
        Measure::beside("middle", "lines of 2 KB", "MB/s", PIPED, Bar::None),
        Measure::beside("long", "lines of 200 KB", "MB/s", PIPED, Bar::None),
        Measure::beside("mixed_cpu", "mixed frames, processor", "µs/line", PIPED, Bar::None),
        Measure::beside("deltas_cpu", "deltas only, processor", "µs/line", PIPED, Bar::None),
        Measure::alone("unparsed", "frames that nobody understood", "", Bar::AtMost(0.0)),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const BYTES: u64 = 60_000_000;

/// What is fed, and where its figures go.
struct Feed {
    key: &'static str,
    memory: Option<&'static str>,
    processor: Option<&'static str>,
    corpus: Corpus,
}

/// What a corpus took, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    wall: f64,
    processor: f64,
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let bytes = usize::try_from(bench.setup.effort.of(BYTES))?;
    let sized = |key, size| -> anyhow::Result<Feed> {
        let corpus = Corpus::of_size(size, bytes / 2)?;
        Ok(Feed { key, memory: None, processor: None, corpus })
    };
    let feeds = [
        Feed {
            key: "mixed",
            memory: Some("mixed_memory"),
            processor: Some("mixed_cpu"),
            corpus: Corpus::mixed(bytes)?,
        },
        Feed {
            key: "deltas",
            memory: Some("deltas_memory"),
            processor: Some("deltas_cpu"),
            corpus: Corpus::deltas(bytes / 2)?,
        },
        sized("short", 200)?,
        sized("middle", 2_000)?,
        sized("long", 200_000)?,
    ];
    let folder = TempDir::new_in(&bench.setup.folder)?;
    for feed in &feeds {
        feed.corpus.write(folder.path(), feed.key)?;
    }
    while bench.another_round()? {
        let mut unparsed = 0;
        for feed in &feeds {
            let path = folder.path().join(feed.key);
            let rate = |seconds: f64| feed.corpus.bytes.len() as f64 / seconds / 1e6;
            let (mut ours, mut memory) = (Spent::default(), 0.0);
            let mut piped = Spent::default();
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        for _ in 0..bench.slow.times() {
                            let took = Alone::start(&bench.setup, &path)?.take_in().await?;
                            ours.wall += took.wall.as_secs_f64();
                            ours.processor += took.processor.as_secs_f64();
                            unparsed += took.unparsed;
                            ensure!(took.events > 1, "nothing of {} was logged", feed.key);
                        }
                    }
                    Side::Baseline => {
                        piped = parse_piped(&bench.setup, &path, feed.corpus.lines)?;
                        memory = parse_in_memory(path.clone())?;
                    }
                }
            }
            bench.pair(feed.key, rate(ours.wall), rate(piped.wall))?;
            if let Some(key) = feed.memory {
                bench.pair(key, rate(ours.wall), rate(memory))?;
            }
            if let Some(key) = feed.processor {
                let each = |spent: Spent| spent.processor * 1e6 / feed.corpus.lines as f64;
                bench.pair(key, each(ours), each(piped))?;
            }
        }
        bench.alone("unparsed", unparsed as f64)?;
    }
    Ok(())
}

/// The same lines through a pipe into a process that only parses them, on one core.
fn parse_piped(setup: &Setup, path: &Path, lines: u64) -> anyhow::Result<Spent> {
    let mut pour = Command::new(&setup.programs.bench)
        .args(["stand-in", "pour", "--file"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting what pours")?;
    let pipe = pour.stdout.take().context("what pours has no output")?;
    let bench = setup.programs.bench.clone();
    let parsed = on_one_core(move || {
        let parse = Command::new(bench).args(["stand-in", "parse"]).stdin(pipe).output();
        parse.context("starting what parses")
    })?;
    pour.wait()?;
    let said = String::from_utf8_lossy(&parsed.stdout).into_owned();
    let said: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [count, wall, processor] = said.as_slice() else { bail!("what parses said {said:?}") };
    ensure!(*count == lines, "{count} of {lines} lines were parsed");
    Ok(Spent { wall: *wall as f64 / 1e9, processor: *processor as f64 / 1e9 })
}

/// The same lines from memory, on one core: the seconds.
pub(super) fn parse_in_memory(path: PathBuf) -> anyhow::Result<f64> {
    on_one_core(move || {
        let bytes = std::fs::read(path)?;
        let began = Instant::now();
        for line in musher_log::lines(&bytes) {
            let value: Json = serde_json::from_slice(line)?;
            std::hint::black_box(&value);
        }
        Ok(began.elapsed().as_secs_f64())
    })
}
