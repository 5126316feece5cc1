//! Counts instructions with valgrind: what a line costs a runner, and what an event costs a server, to be compared exactly.
//!
//! What a line costs is counted in a driver that reads, translates, writes and copies as a runner does; what an event costs,
//! in the server itself. Each is counted twice, with little work and with more, and the difference is divided by the difference of the work. So
//! what a program does to start and to end does not count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::setup::Setup;
use crate::stage::corpus::Corpus;
use crate::stage::fetch::fetch;
use crate::stage::past::add_past;
use crate::stage::place::{Place, script};

/// Counts instructions per line taken in and per event delivered.
#[derive(Debug, Args)]
pub struct Callgrind {
    /// Where the counts are kept that a later change is compared with.
    #[arg(long, value_name = "FILE", default_value = "docs/instructions.json")]
    kept: PathBuf,
    /// Keeps what is counted now.
    #[arg(long)]
    record: bool,
    /// Leaves the files of callgrind here, for callgrind_annotate.
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
}

const PATIENCE: Duration = Duration::from_secs(300);
const LITTLE: usize = 1_000_000;
const MORE: usize = 4_000_000;
const EVENTS: u64 = 5_000;

/// Instructions for one line or event, by what was done.
type Counts = BTreeMap<String, f64>;

impl Callgrind {
    pub async fn count(&self, setup: &Setup) -> anyhow::Result<()> {
        let known = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
        if !known.is_ok_and(|status| status.success()) {
            bail!("valgrind is not installed; on Debian: `apt-get install valgrind`");
        }
        let folder = TempDir::new_in(&setup.folder)?;
        let files = match &self.files {
            Some(files) => files.clone(),
            None => folder.path().to_owned(),
        };
        std::fs::create_dir_all(&files)?;
        let mut counts = Counts::new();
        for (name, make) in [
            ("ingest, mixed frames", Corpus::mixed as fn(usize) -> anyhow::Result<Corpus>),
            ("ingest, deltas only", Corpus::deltas),
        ] {
            let (little, more) = (make(LITTLE)?, make(MORE)?);
            let few = ingest(setup, &files.join("little"), &little, folder.path()).await?;
            let file = files.join(name.replace([',', ' '], "-"));
            let many = ingest(setup, &file, &more, folder.path()).await?;
            let lines = more.lines - little.lines;
            counts.insert(name.to_owned(), many.saturating_sub(few) as f64 / lines as f64);
        }
        let few = deliver(setup, &files.join("little"), 1).await?;
        let many = deliver(setup, &files.join("delivery"), 5).await?;
        let events = EVENTS * 4;
        counts.insert("SSE delivery".into(), many.saturating_sub(few) as f64 / events as f64);
        self.tell(&counts)
    }

    fn tell(&self, counts: &Counts) -> anyhow::Result<()> {
        let kept = std::fs::read(&self.kept).ok();
        let kept: Counts = match kept {
            Some(kept) => serde_json::from_slice(&kept)?,
            None => Counts::new(),
        };
        println!("| instructions | now | kept | change |\n|---|---|---|---|");
        for (name, now) in counts {
            let change = kept.get(name).map(|kept| (now / kept - 1.0) * 100.0);
            let change = change.map_or(String::new(), |change| format!("{change:+.2} %"));
            let kept = kept.get(name).map_or(String::new(), |kept| format!("{kept:.0}"));
            println!("| {name} | {now:.0} | {kept} | {change} |");
        }
        if self.record {
            let text = serde_json::to_string_pretty(counts)? + "\n";
            std::fs::write(&self.kept, text).with_context(|| self.kept.display().to_string())?;
        }
        Ok(())
    }
}

/// A program that counts the instructions of the product, without its children.
fn counting(setup: &Setup, file: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let (musher, file) = (setup.programs.musher.display(), file.display());
    let line = format!(
        "exec valgrind --quiet --tool=callgrind --callgrind-out-file='{file}' '{musher}' \"$@\""
    );
    script(&folder.join("counting"), &line)
}

/// The instructions of what a runner does with a corpus, without its processes, which valgrind cannot follow.
async fn ingest(setup: &Setup, file: &Path, corpus: &Corpus, folder: &Path) -> anyhow::Result<u64> {
    let path = corpus.write(folder, "corpus")?;
    let log = TempDir::new_in(folder)?;
    let done = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&setup.programs.bench)
        .args(["stand-in", "drive", "--file"])
        .arg(path)
        .arg("--folder")
        .arg(log.path())
        .status()?;
    ensure!(done.success(), "what takes in a corpus failed under valgrind");
    total(file).await
}

/// The instructions of a server that delivers the same log so many times.
async fn deliver(setup: &Setup, file: &Path, times: u32) -> anyhow::Result<u64> {
    let mut place = Place::open(setup)?;
    place.kill_server()?;
    let state = place.top().join("state");
    add_past(&state, 1, EVENTS).await?;
    let first = std::fs::read_dir(state.join("runs"))?.next().context("there is no run")??;
    let run = first.file_name().to_string_lossy().into_owned();
    place.serve_again_as(&counting(setup, file, place.top())?)?;
    for _ in 0..times {
        let path = format!("/api/v1/runs/{run}/events/stream");
        let got = fetch(&place.address, &path, &place.token).await?;
        ensure!(got.bytes > EVENTS * 100, "the log was cut short");
    }
    place.end_server()?;
    total(file).await
}

/// The sum that callgrind wrote down when the program ended.
async fn total(file: &Path) -> anyhow::Result<u64> {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let sum = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
        if let Some(sum) = sum.and_then(|sum| sum.trim().parse().ok()) {
            return Ok(sum);
        }
        ensure!(began.elapsed() < PATIENCE, "{} has no sum", file.display());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
