//! The rounds of one row: each is ours and its baseline in the same moment, and one that was disturbed is void.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::ensure;

use crate::measure::Sample;
use crate::row::Row;
use crate::setup::Setup;
use crate::slow::Slow;
use crate::steal::{MOST, Ticks};

/// For each round that counts there may be so many that do not.
const PATIENCE: usize = 3;

/// Which of the two is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Baseline,
}

/// One row at work.
#[derive(Debug)]
pub struct Bench {
    pub setup: Arc<Setup>,
    pub slow: Slow,
    /// Its first round fails, on purpose.
    pub broken: bool,
    row: &'static Row,
    wanted: usize,
    began: Option<Ticks>,
    clock: fn() -> anyhow::Result<Ticks>,
    /// What the round that runs has found.
    round: BTreeMap<&'static str, Sample>,
    found: Found,
}

/// What a row has found.
#[derive(Debug, Default)]
pub struct Found {
    pub samples: BTreeMap<&'static str, Vec<Sample>>,
    pub rounds: usize,
    pub void: usize,
    /// Why the row failed; it has no samples then.
    pub broken: Option<String>,
    /// What is worth knowing and no figure.
    pub notes: Vec<String>,
}

impl Bench {
    pub fn new(row: &'static Row, setup: Arc<Setup>, slow: Slow) -> Self {
        let wanted = row.rounds.of(setup.rounds);
        let (round, found) = (BTreeMap::new(), Found::default());
        Self {
            setup,
            slow,
            broken: false,
            row,
            wanted,
            began: None,
            clock: Ticks::read,
            round,
            found,
        }
    }

    /// Ends the round that runs, if one does, and begins the next; `false` when there have been enough.
    pub fn another_round(&mut self) -> anyhow::Result<bool> {
        let now = (self.clock)()?;
        ensure!(!self.broken || self.began.is_none(), "it was broken on purpose");
        if let Some(began) = self.began.replace(now) {
            let round = std::mem::take(&mut self.round);
            let stolen = now.stolen_since(began);
            if stolen > MOST {
                self.found.void += 1;
                let percent = stolen * 100.0;
                self.note(format!("void: {percent:.1} % of the processors' time was stolen"));
            } else {
                self.found.rounds += 1;
                for (key, sample) in round {
                    self.found.samples.entry(key).or_default().push(sample);
                }
            }
        }
        let enough = self.found.rounds >= self.wanted;
        Ok(!enough && self.found.void < self.wanted * PATIENCE)
    }

    /// In which order the two are measured: in every other round the baseline comes first.
    pub fn order(&self) -> [Side; 2] {
        match (self.found.rounds + self.found.void) % 2 {
            0 => [Side::Ours, Side::Baseline],
            _ => [Side::Baseline, Side::Ours],
        }
    }

    /// A figure of this round beside its baseline.
    pub fn pair(&mut self, key: &'static str, ours: f64, baseline: f64) -> anyhow::Result<()> {
        self.take(key, Sample { ours, baseline: Some(baseline) })
    }

    /// A figure of this round.
    pub fn alone(&mut self, key: &'static str, ours: f64) -> anyhow::Result<()> {
        self.take(key, Sample { ours, baseline: None })
    }

    fn take(&mut self, key: &'static str, sample: Sample) -> anyhow::Result<()> {
        let row = self.row;
        let known = row.measures.iter().find(|measure| measure.key == key);
        ensure!(known.is_some(), "{} measures no {key}", row.name);
        ensure!(sample.ours.is_finite(), "{}: {key} is no number", row.name);
        self.round.insert(key, sample);
        Ok(())
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.found.notes.push(note.into());
    }

    pub fn found(self) -> Found {
        self.found
    }

    /// What is left of a row that failed: a part of its rounds is no measurement.
    pub fn failed(self, why: &anyhow::Error) -> Found {
        Found { samples: BTreeMap::new(), broken: Some(format!("{why:#}")), ..self.found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Verdict;
    use crate::rows::synthetic;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn bench(clock: fn() -> anyhow::Result<Ticks>) -> Bench {
        let setup = Arc::new(Setup { rounds: 3, ..Setup::default() });
        Bench { clock, ..Bench::new(&synthetic::ROW, setup, Slow::NONE) }
    }

    #[test]
    fn a_round_in_which_time_was_stolen_does_not_count_and_is_measured_again() {
        // Between the second look and the third a tenth of the time is stolen.
        fn clock() -> anyhow::Result<Ticks> {
            static LOOKS: AtomicU64 = AtomicU64::new(0);
            let look = LOOKS.fetch_add(1, Ordering::Relaxed);
            Ok(Ticks { stolen: if look >= 2 { 10 } else { 0 }, idle: 0, all: look * 100 })
        }
        let mut bench = bench(clock);
        let mut round = 0.0;
        while bench.another_round().unwrap() {
            round += 1.0;
            bench.alone("steps", round).unwrap();
        }
        let found = bench.found();
        let ours: Vec<f64> = found.samples["steps"].iter().map(|sample| sample.ours).collect();
        assert_eq!((ours, found.rounds, found.void), (vec![1.0, 3.0, 4.0], 3, 1));
    }

    #[test]
    fn a_machine_that_is_never_quiet_gives_no_verdict() {
        fn clock() -> anyhow::Result<Ticks> {
            static LOOKS: AtomicU64 = AtomicU64::new(0);
            let look = LOOKS.fetch_add(1, Ordering::Relaxed);
            Ok(Ticks { stolen: look * 50, idle: 0, all: look * 100 })
        }
        let mut bench = bench(clock);
        while bench.another_round().unwrap() {
            bench.pair("steps", 1.0, 1.0).unwrap();
        }
        let found = bench.found();
        assert_eq!((found.rounds, found.void), (0, 9));
        let samples = found.samples.get("steps").map(Vec::as_slice).unwrap_or_default();
        assert_eq!(synthetic::ROW.measures[0].bar.judge(samples), Verdict::Void);
    }

    #[test]
    fn ours_and_the_baseline_take_turns_at_being_first() {
        let mut bench = bench(|| Ok(Ticks { stolen: 0, idle: 0, all: 0 }));
        let mut firsts = Vec::new();
        while bench.another_round().unwrap() {
            firsts.push(bench.order()[0]);
        }
        assert_eq!(firsts, [Side::Ours, Side::Baseline, Side::Ours]);
    }

    #[test]
    fn a_figure_that_the_row_does_not_name_is_refused() {
        let mut bench = bench(|| Ok(Ticks { stolen: 0, idle: 0, all: 0 }));
        assert!(bench.alone("nothing", 1.0).is_err());
        assert!(bench.alone("steps", f64::NAN).is_err());
    }
}
