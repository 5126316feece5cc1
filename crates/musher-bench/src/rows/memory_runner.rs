//! Runners: what each takes for itself after many events, and after one long line.

use tempfile::TempDir;

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::memory::{Memory, mib};
use crate::stage::place::{Place, script};

pub const ROW: Row = Row {
    name: "memory-runner",
    about: "the greediest of three runners",
    measures: &[
        Measure::alone("many", "runner, private, after 10,000 events", "MiB", Bar::AtMost(1.5)),
        Measure::alone("codex", "… with codex", "MiB", Bar::AtMost(1.5)),
        Measure::alone("acp", "… with an ACP agent", "MiB", Bar::AtMost(1.5)),
        Measure::alone("long", "runner, private, after a line of 1 MiB", "MiB", Bar::AtMost(3.0)),
    ],
    rounds: Rounds::Once,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

/// More than one, so that what they share is not counted as private.
const RUNNERS: usize = 3;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    while bench.another_round()? {
        let place = Place::open(&bench.setup)?;
        let times = bench.slow.times();
        let many = "[[work lines=10000]] [[work hang=1]]";
        let many = greediest(&place, many, 10_000, times).await?;
        let long =
            "[[work lines=100]] [[work lines=1 size=1048576]] [[work lines=1]] [[work hang=1]]";
        let long = greediest(&place, long, 102, times).await?;
        bench.alone("many", many)?;
        let folder = TempDir::new_in(&bench.setup.folder)?;
        for runtime in ["codex", "acp"] {
            let program = bench.setup.programs.bench.display();
            // What the runtime adds to its program's arguments is not for this one.
            let line = format!("exec '{program}' stand-in rpc --speech={runtime} --calls=5000");
            let agent = script(&folder.path().join(runtime), &line)?;
            let place = Place::with_runtime(&bench.setup, runtime, &agent)?;
            bench.alone(runtime, greediest(&place, "go", 10_000, times).await?)?;
        }
        bench.alone("long", long)?;
    }
    Ok(())
}

/// What the greediest runner takes. A slowdown of memory is that so many runners count as one.
async fn greediest(
    place: &Place,
    work: &str,
    events: u64,
    count_as_one: usize,
) -> anyhow::Result<f64> {
    let mut runs = Vec::new();
    for _ in 0..RUNNERS {
        runs.push(place.begin(work).await?);
    }
    for run in &runs {
        place.until_logged(run, events).await?;
    }
    let mut taken = Vec::new();
    for run in &runs {
        taken.push(Memory::at_rest(place.runner(run)?).await?.private);
    }
    taken.sort_unstable_by(|a, b| b.cmp(a));
    Ok(mib(taken.iter().take(count_as_one).sum()))
}
