//! What was found once on the same machine, to see what has become worse since. A bar tells only of what is worse than
//! promised, and some figures are many times better than that.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use crate::measure::{Bar, Better, Measure, Sample, Spread, ratio};

/// Worse by less than this may be chance.
const WORSE: f64 = 1.5;

/// A figure below this part of its bar is nearly nothing, and twice nothing is still nothing.
const NOTHING: f64 = 0.1;

/// The figures of each measure of each row.
#[derive(Debug, Default)]
pub struct Kept(HashMap<(String, String), Figures>);

#[derive(Debug, Clone, Copy)]
struct Figures {
    ours: f64,
    ratio: Option<f64>,
}

/// As much of a report as is needed.
#[derive(Debug, Deserialize)]
struct Report {
    measures: Vec<Line>,
}

#[derive(Debug, Deserialize)]
struct Line {
    row: String,
    measure: String,
    ours: Side,
    ratio: Option<Middle>,
}

#[derive(Debug, Deserialize)]
struct Side {
    spread: Option<Middle>,
}

#[derive(Debug, Deserialize)]
struct Middle {
    median: f64,
}

impl Kept {
    /// Reads what `--json` wrote.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(path).with_context(|| path.display().to_string())?;
        let report: Report = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not what --json writes", path.display()))?;
        let figures = report.measures.into_iter().filter_map(|line| {
            let ours = line.ours.spread?.median;
            let ratio = line.ratio.map(|ratio| ratio.median);
            Some(((line.row, line.measure), Figures { ours, ratio }))
        });
        Ok(Self(figures.collect()))
    }

    /// Whether a measure with a bar was clearly better. Ours must have been so alone, lest a baseline that varies be taken
    /// for it, and beside its baseline, lest the machine be.
    pub fn has_better(&self, row: &str, measure: &Measure, samples: &[Sample]) -> bool {
        let kept = self.0.get(&(row.to_owned(), measure.key.to_owned()));
        let ours = Spread::of(samples.iter().map(|sample| sample.ours));
        let (Some(better), Some(kept), Some(ours)) = (measure.bar.better(), kept, ours) else {
            return false;
        };
        let was_better = |kept: f64, now: f64| match better {
            Better::More => kept > WORSE * now,
            Better::Less => now > WORSE * kept,
        };
        let nothing = matches!(measure.bar, Bar::AtMost(bar) if kept.ours <= NOTHING * bar);
        let beside = match (kept.ratio, ratio(samples)) {
            (Some(kept), Some(now)) => was_better(kept, now.median),
            (None, _) | (_, None) => true,
        };
        !nothing && was_better(kept.ours, ours.median) && beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_nothing_is_not_worse_when_it_doubles() {
        let memory = Measure::alone("growth", "grows by", "MiB", Bar::AtMost(8.0));
        let beside = |kept: f64, now: f64| {
            let figures = Figures { ours: kept, ratio: None };
            let kept = Kept([(("memory".to_owned(), "growth".to_owned()), figures)].into());
            kept.has_better("memory", &memory, &[Sample { ours: now, baseline: None }])
        };
        assert!(!beside(0.5, 2.0), "a sixteenth of the bar");
        assert!(beside(2.0, 4.0) && !beside(2.0, 2.5));
    }

    #[test]
    fn a_measure_without_a_bar_of_its_own_is_still_worse_than_before() {
        let rate = Measure::alone("mixed", "frames", "MB/s", Bar::NotWorse(Better::More));
        let figures = Figures { ours: 140.0, ratio: None };
        let kept = Kept([(("ingest".to_owned(), "mixed".to_owned()), figures)].into());
        let now = |ours| kept.has_better("ingest", &rate, &[Sample { ours, baseline: None }]);
        assert!(now(70.0) && !now(120.0) && !now(280.0));
    }
}
