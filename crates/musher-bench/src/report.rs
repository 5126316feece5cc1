//! The one table, for people and as JSON.

use std::fmt;

use serde_json::{Value as Json, json};

use crate::bench::Found;
use crate::kept::Kept;
use crate::machine::Machine;
use crate::measure::{Measure, Sample, Spread, Verdict, ratio};
use crate::row::Row;

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<(&'static Row, Found)>,
    /// What was found before.
    kept: Kept,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    row: &'static Row,
    measure: &'static Measure,
    samples: &'a [Sample],
    verdict: Verdict,
}

impl Report {
    /// A report in which whatever has become worse since is red.
    pub fn beside(kept: Kept) -> Self {
        Self { kept, ..Self::default() }
    }

    pub fn add(&mut self, row: &'static Row, found: Found) {
        self.rows.push((row, found));
    }

    /// Whether every bar is met.
    pub fn is_met(&self) -> bool {
        let met = |line: Line<'_>| matches!(line.verdict, Verdict::Met | Verdict::Shown);
        self.lines().all(met)
    }

    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.rows.iter().flat_map(move |(row, found)| {
            row.measures.iter().map(move |measure| {
                let samples = found.samples.get(measure.key).map(Vec::as_slice);
                let samples = samples.unwrap_or_default();
                let verdict = match (&found.broken, measure.bar.judge(samples)) {
                    (Some(_), _) => Verdict::Broken,
                    (None, Verdict::Met | Verdict::Shown)
                        if self.kept.has_better(row.name, measure, samples) =>
                    {
                        Verdict::Worse
                    }
                    (None, verdict) => verdict,
                };
                Line { row, measure, samples, verdict }
            })
        })
    }

    pub fn json(&self, machine: Option<&Machine>) -> Json {
        let measures = self.lines().map(|Line { row, measure, samples, verdict }| {
            json!({
                "row": row.name,
                "measure": measure.key,
                "what": measure.what,
                "unit": measure.unit,
                "ours": side(samples.iter().map(|sample| sample.ours)),
                "baseline": measure.baseline.map(|name| json!({
                    "name": name,
                    "found": side(samples.iter().filter_map(|sample| sample.baseline)),
                })),
                "ratio": ratio(samples),
                "bar": measure.bar.shown(measure.unit),
                "verdict": verdict,
            })
        });
        let measures: Vec<Json> = measures.collect();
        let rows = self.rows.iter().map(|(row, found)| {
            json!({
                "row": row.name, "rounds": found.rounds, "void": found.void, "notes": found.notes,
                "broken": found.broken,
            })
        });
        let rows: Vec<Json> = rows.collect();
        json!({ "machine": machine, "rows": rows, "measures": measures, "met": self.is_met() })
    }
}

fn side(values: impl Iterator<Item = f64>) -> Json {
    let values: Vec<f64> = values.collect();
    json!({ "spread": Spread::of(values.iter().copied()), "rounds": values })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["measure", "ours", "baseline", "ratio", "bar", "pass"];
        let mut lines = vec![head.map(str::to_owned), head.map(|_| "---".to_owned())];
        lines.extend(self.lines().map(cells));
        let widths: [usize; 6] = std::array::from_fn(|column| {
            lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
        });
        for line in &lines {
            for (cell, width) in line.iter().zip(widths) {
                write!(f, "| {cell:width$} ")?;
            }
            writeln!(f, "|")?;
        }
        for (row, found) in &self.rows {
            let (rounds, void) = (found.rounds, found.void);
            match &found.broken {
                Some(why) => writeln!(f, "{}: BROKEN: {why}", row.name)?,
                None => writeln!(f, "{}: {rounds} rounds, {void} void", row.name)?,
            }
            found.notes.iter().try_for_each(|note| writeln!(f, "  {note}"))?;
        }
        Ok(())
    }
}

fn cells(line: Line<'_>) -> [String; 6] {
    let Line { row, measure, samples, verdict } = line;
    let unit = measure.unit;
    let ours = Spread::of(samples.iter().map(|sample| sample.ours));
    let baseline = Spread::of(samples.iter().filter_map(|sample| sample.baseline));
    let baseline = match (measure.baseline, baseline) {
        (Some(name), Some(found)) => format!("{name}: {}", shown(found, unit)),
        (Some(_), None) | (None, _) => String::new(),
    };
    let pass = match verdict {
        Verdict::Met => "yes",
        Verdict::Missed => "NO",
        Verdict::Worse => "WORSE",
        Verdict::Shown => "",
        Verdict::Void => "VOID",
        Verdict::Broken => "BROKEN",
    };
    [
        format!("{}: {}", row.name, measure.what),
        ours.map(|ours| shown(ours, unit)).unwrap_or_default(),
        baseline,
        ratio(samples).map(|ratio| shown(ratio, "×")).unwrap_or_default(),
        measure.bar.shown(unit),
        pass.to_owned(),
    ]
}

/// The median, and in brackets the least and the most if there was more than one round.
fn shown(spread: Spread, unit: &str) -> String {
    let Spread { median, min, max } = spread;
    let gap = if unit == "×" { "" } else { " " };
    match min == max {
        true => format!("{}{gap}{unit}", number(median)),
        false => format!("{}{gap}{unit} ({}..{})", number(median), number(min), number(max)),
    }
}

/// Three digits that count.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::synthetic;

    fn report(ours: &[f64]) -> Report {
        report_beside(100.0, ours)
    }

    fn report_beside(baseline: f64, ours: &[f64]) -> Report {
        let sample = |ours: &f64| Sample { ours: *ours, baseline: Some(baseline) };
        let samples = [("steps", ours.iter().map(sample).collect())].into();
        let found = Found { samples, rounds: ours.len(), ..Found::default() };
        let mut report = Report::default();
        report.add(&synthetic::ROW, found);
        report
    }

    #[test]
    fn a_row_above_its_bar_is_told_with_its_spread() {
        let report = report(&[100.0, 90.0, 120.0]);
        assert!(report.is_met());
        let text = report.to_string();
        assert!(text.contains("| 100 steps (90.0..120)"), "{text}");
        assert!(text.contains("1.00× (0.90..1.20)") && text.contains("| yes "), "{text}");
        let json = report.json(None);
        assert_eq!(json["measures"][0]["verdict"], "met");
        assert_eq!(json["measures"][0]["ours"]["rounds"], json!([100.0, 90.0, 120.0]));
    }

    #[test]
    fn a_row_that_meets_its_bar_is_red_when_it_was_much_better_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept.json");
        std::fs::write(&file, report(&[30.0]).json(None).to_string()).unwrap();
        let beside = |baseline: f64, ours: f64| {
            let kept = Kept::read(&file).unwrap();
            Report { kept, ..report_beside(baseline, &[ours]) }
        };
        assert!(beside(100.0, 30.0).is_met() && beside(100.0, 44.0).is_met());
        assert!(beside(200.0, 60.0).is_met(), "the machine is slower");
        assert!(beside(50.0, 30.0).is_met(), "the baseline is faster");
        let worse = beside(100.0, 60.0);
        assert!(report(&[60.0]).is_met(), "its bar alone is met");
        assert!(!worse.is_met() && worse.to_string().contains("| WORSE "), "{worse}");
        std::fs::write(&file, "{}").unwrap();
        assert!(Kept::read(&file).unwrap_err().to_string().contains("is not what --json writes"));
    }

    #[test]
    fn a_row_below_its_bar_or_without_a_round_that_counts_is_red() {
        let slow = report(&[200.0, 200.0]);
        assert!(!slow.is_met() && slow.to_string().contains("| NO "), "{slow}");
        let none = report(&[]);
        assert!(!none.is_met() && none.to_string().contains("| VOID "), "{none}");
    }
}
