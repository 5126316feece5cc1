//! What a sandbox costs a whole turn of a real agent: from the start of its run until the run is over and its work is kept.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use musher_testkit::model::ModelServer;
use musher_testkit::real::RealProgram;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, Spread};
use crate::row::{Needs, Rounds, Row};
use crate::stage::place::Place;

pub const ROW: Row = Row {
    name: "sandbox-turn",
    about: "a whole turn of the real Claude Code on a scripted model, in a sandbox",
    measures: &[Measure::beside(
        "turn",
        "start to end of the run, confined",
        "ms",
        "the same with the rights of the user",
        Bar::RatioAtMost(1.15),
    )],
    rounds: Rounds::Many,
    needs: Needs::Crowd,
    run: |bench| Box::pin(run(bench)),
};

const TURNS: usize = 5;
const FILES: u64 = 100;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let claude = RealProgram::Claude.find();
    let claude = claude.context("Claude Code is not installed; run `scripts/install-clis`")?;
    let model = ModelServer::start().await?;
    let place = |profile: &str| {
        let url = model.url();
        let env = format!(
            "env = {{ ANTHROPIC_BASE_URL = '{url}', ANTHROPIC_API_KEY = 'dummy-key-for-tests', \
             CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = '1', IS_SANDBOX = '1' }}\n\
             sandbox = {{ profile = '{profile}' }}\n"
        );
        Place::with_settings(&bench.setup, Path::new(&claude), FILES, &env)
    };
    let (confined, free) = (place("workspace")?, place("off")?);
    while bench.another_round()? {
        let (mut ours, mut baseline) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            for side in bench.order() {
                match side {
                    Side::Ours => {
                        let mut took = 0.0;
                        for _ in 0..bench.slow.times() {
                            took += turn(&confined).await?;
                        }
                        ours.push(took);
                    }
                    Side::Baseline => baseline.push(turn(&free).await?),
                }
            }
        }
        let median = |times: Vec<f64>| Spread::of(times).map_or(0.0, |spread| spread.median);
        bench.pair("turn", median(ours), median(baseline))?;
    }
    Ok(())
}

/// How long a turn takes, in milliseconds.
async fn turn(place: &Place) -> anyhow::Result<f64> {
    let story = place.add("[[scn:text]] go").await?;
    let began = Instant::now();
    let run = place.start(&story).await?;
    let ended = place.until_over(&run).await?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    ensure!(ended.outcome.as_deref() == Some("completed"), "the turn failed: {ended:?}");
    Ok(took)
}
