//! Frames of agents that speak JSON-RPC into a log, in one process on one core, beside a reader that only parses them.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use super::ingest::parse_in_memory;
use crate::bench::{Bench, Side};
use crate::measure::{Bar, Better, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::cores::on_one_core;
use crate::stage::corpus::Corpus;
use crate::stand_in::drive::{self, Protocol};

const IN_MEMORY: &str = "parse into values, in memory";
const BYTES: u64 = 20_000_000;

pub const ROW: Row = Row {
    name: "ingest-rpc",
    about: "recorded notices of other agents → translated → events and raw copy logged, one core",
    measures: &[
        Measure::beside("codex", "codex", "MB/s", IN_MEMORY, Bar::NotWorse(Better::More)),
        Measure::beside("acp", "ACP agents", "MB/s", IN_MEMORY, Bar::NotWorse(Better::More)),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let bytes = usize::try_from(bench.setup.effort.of(BYTES))?;
    let feeds = [
        ("codex", Protocol::Codex, Corpus::notices("codex", bytes)?),
        ("acp", Protocol::Acp, Corpus::notices("acp", bytes)?),
    ];
    let folder = TempDir::new_in(&bench.setup.folder)?;
    while bench.another_round()? {
        for (key, protocol, corpus) in &feeds {
            let path = corpus.write(folder.path(), key)?;
            let rate = |seconds: f64| corpus.bytes.len() as f64 / seconds / 1e6;
            let (mut ours, mut parsed) = (0.0, 0.0);
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        for _ in 0..bench.slow.times() {
                            ours += take_in(&path, *protocol, folder.path())?;
                        }
                    }
                    Side::Baseline => parsed = parse_in_memory(path.clone())?,
                }
            }
            bench.pair(key, rate(ours), rate(parsed))?;
        }
    }
    Ok(())
}

/// How long a corpus takes from its bytes to a log that is on the disk, in seconds.
fn take_in(path: &Path, protocol: Protocol, above: &Path) -> anyhow::Result<f64> {
    let log = TempDir::new_in(above).context("making a folder for the log")?;
    let (path, folder) = (path.to_owned(), log.path().to_owned());
    on_one_core(move || {
        let began = Instant::now();
        let events = drive::take_in(&path, &folder, protocol)?;
        ensure!(events > 1, "nothing of {} was logged", path.display());
        Ok(began.elapsed().as_secs_f64())
    })
}
