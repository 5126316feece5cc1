//! A row that counts steps instead of time, so that the way from a slowdown to a red row can be tested anywhere.

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};

pub const ROW: Row = Row {
    name: "synthetic",
    about: "counts steps; shows how rows are judged",
    measures: &[Measure::beside(
        "steps",
        "steps of a walk",
        "steps",
        "the same walk",
        Bar::RatioAtMost(1.5),
    )],
    rounds: Rounds::Many,
    needs: Needs::Nothing,
    run: |bench| Box::pin(run(bench)),
};

const STEPS: u32 = 100;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    while bench.another_round()? {
        let (mut ours, mut baseline) = (0, 0);
        for side in bench.order() {
            match side {
                Side::Ours => (0..bench.slow.times()).for_each(|_| walk(&mut ours)),
                Side::Baseline => walk(&mut baseline),
            }
        }
        bench.pair("steps", f64::from(ours), f64::from(baseline))?;
    }
    Ok(())
}

fn walk(steps: &mut u32) {
    (0..STEPS).for_each(|_| *steps += 1);
}
