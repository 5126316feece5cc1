//! What was found once on the same machine, to see what has become worse since. A bar tells only of what is worse than
//! promised, and some figures are many times better than that.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use crate::measure::{Measure, Sample, Spread, ratio};

/// Worse by less than this may be chance.
const WORSE: f64 = 1.5;

/// The figure of each measure of each row.
#[derive(Debug, Default)]
pub struct Kept(HashMap<(String, String), f64>);

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
            // Beside its baseline a figure says more than alone.
            let middle = line.ratio.or(line.ours.spread)?;
            Some(((line.row, line.measure), middle.median))
        });
        Ok(Self(figures.collect()))
    }

    /// Whether a measure with a bar was clearly better.
    pub fn has_better(&self, row: &str, measure: &Measure, samples: &[Sample]) -> bool {
        let Some(more_is_better) = measure.bar.more_is_better() else { return false };
        let kept = self.0.get(&(row.to_owned(), measure.key.to_owned())).copied();
        let now = ratio(samples).or_else(|| Spread::of(samples.iter().map(|sample| sample.ours)));
        match (kept, now) {
            (Some(kept), Some(now)) if more_is_better => kept > WORSE * now.median,
            // Nothing cannot be compared with.
            (Some(kept), Some(now)) => kept > 0.0 && now.median > WORSE * kept,
            (None, _) | (_, None) => false,
        }
    }
}
