//! What a sandbox costs a run: at its start, and as long as it lives.

use anyhow::Context as _;
use tempfile::TempDir;

use super::first_byte::start;
use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, Spread};
use crate::row::{Needs, Rounds, Row};
use crate::stage::conductor::Conductor;
use crate::stage::memory::{Memory, mib};
use crate::stage::place::Place;

pub const ROW: Row = Row {
    name: "sandbox",
    about: "start command → agent's first byte in a sandbox, with its git folder",
    measures: &[
        Measure::beside(
            "start",
            "start to first byte, confined",
            "ms",
            "the same with the rights of the user",
            Bar::OverAtMost(40.0),
        ),
        Measure::alone("memory", "what holds a sandbox, private", "MiB", Bar::AtMost(1.0)),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const STARTS: usize = 5;
const FILES: u64 = 100;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let conductor = Conductor::open().await?;
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let agent = conductor.agent(&bench.setup, folder.path())?;
    let program = bench.setup.programs.bench.display();
    let confined = format!("sandbox = {{ profile = 'workspace', read = ['{program}'] }}\n");
    let free = Place::with_files(&bench.setup, &agent, FILES)?;
    let confined = Place::with_settings(&bench.setup, &agent, FILES, &confined)?;
    while bench.another_round()? {
        let (mut ours, mut baseline) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        let mut took = 0.0;
                        for _ in 0..bench.slow.times() {
                            took += start(&confined, &conductor).await?;
                        }
                        ours.push(took);
                    }
                    Side::Baseline => baseline.push(start(&free, &conductor).await?),
                }
            }
        }
        let median = |times: Vec<f64>| Spread::of(times).map_or(0.0, |spread| spread.median);
        bench.pair("start", median(ours), median(baseline))?;
        bench.alone("memory", mib(held(&confined, &conductor).await?))?;
    }
    Ok(())
}

/// What the processes that hold a sandbox have for themselves, in KiB.
async fn held(place: &Place, conductor: &Conductor) -> anyhow::Result<u64> {
    let story = place.add("go").await?;
    let run = place.start(&story).await?;
    let _came = conductor.gather(1).await?.first().await?;
    let mut held = 0;
    let mut found = 0;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let word = |file: &str| std::fs::read_to_string(entry.path().join(file));
        // Others on this machine may have sandboxes too.
        let environment = word("environ").unwrap_or_default();
        let ours = environment.contains(&*place.top().to_string_lossy());
        if ours && word("comm").is_ok_and(|comm| comm.trim() == "bwrap") {
            held += Memory::of(pid)?.private;
            found += 1;
        }
    }
    place.end(&run).await?;
    (found > 0).then_some(held).context("no process of a sandbox was found")
}
