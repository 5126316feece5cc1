//! What is said at the end.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::inspect::{GROWTH, RUNNER, Seen};
use super::world::World;
use crate::stage::memory::mib;

#[derive(Debug)]
pub(super) struct Report {
    began: Instant,
    took: Duration,
    counts: BTreeMap<&'static str, u64>,
    memory: Seen,
}

impl Report {
    pub(super) fn begin(began: Instant) -> Self {
        Self { began, took: Duration::ZERO, counts: BTreeMap::new(), memory: Seen::default() }
    }

    pub(super) fn fill(&mut self, world: &World) {
        self.took = self.began.elapsed();
        self.counts = world.counts();
        self.memory = world.seen();
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "after {:.0} s:", self.took.as_secs_f64())?;
        for (what, count) in &self.counts {
            writeln!(f, "{count:>9} {what}")?;
        }
        let Seen { warm, late, runner } = self.memory;
        let [warm, late, runner] = [warm, late, runner].map(mib);
        let (growth, most) = (mib(GROWTH), mib(RUNNER));
        writeln!(
            f,
            "server: {warm:.1} MiB at most after its warm-up, {late:.1} MiB late; may grow by {growth:.0} MiB"
        )?;
        write!(f, "runner: {runner:.2} MiB of its own at most; may take {most:.0} MiB")
    }
}
