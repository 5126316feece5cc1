//! What a row measures: a figure of ours, perhaps one of a baseline beside it, and the bar.

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// Its name within its row.
    pub key: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    /// What ours is compared with.
    pub baseline: Option<&'static str>,
    pub bar: Bar,
}

/// What is asked of a measure. The ratio is ours divided by the baseline, round by round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// It is only shown.
    None,
    /// It is judged only beside what was found before, with `--than`.
    NotWorse(Better),
    RatioAtLeast(f64),
    RatioAtMost(f64),
    /// The ratio is at most this, or ours is no more than the baseline itself was in some round.
    RatioAtMostOrWithin(f64),
    AtLeast(f64),
    AtMost(f64),
    /// Ours may be greater than the baseline by so much.
    OverAtMost(f64),
}

/// Which way a figure gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    More,
    Less,
}

/// What one round found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub ours: f64,
    pub baseline: Option<f64>,
}

/// The middle of several rounds, and how far apart they were.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// Whether a bar is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Met,
    Missed,
    /// The bar is met, but not nearly as well as it was once.
    Worse,
    /// There is no bar.
    Shown,
    /// No round was quiet enough to count.
    Void,
    /// Its row failed.
    Broken,
}

impl Measure {
    /// A figure of ours without a baseline.
    pub const fn alone(
        key: &'static str,
        what: &'static str,
        unit: &'static str,
        bar: Bar,
    ) -> Self {
        Self { key, what, unit, baseline: None, bar }
    }

    /// A figure of ours beside the same figure of a baseline.
    pub const fn beside(
        key: &'static str,
        what: &'static str,
        unit: &'static str,
        baseline: &'static str,
        bar: Bar,
    ) -> Self {
        Self { key, what, unit, baseline: Some(baseline), bar }
    }
}

impl Bar {
    pub fn judge(self, samples: &[Sample]) -> Verdict {
        let ours = || Spread::of(samples.iter().map(|sample| sample.ours));
        let ratio = || ratio(samples);
        let over = || {
            let over = |sample: &Sample| sample.baseline.map(|baseline| sample.ours - baseline);
            Spread::of(samples.iter().filter_map(over))
        };
        let (found, holds): (_, fn(f64, f64) -> bool) = match self {
            Self::None | Self::NotWorse(_) if samples.is_empty() => return Verdict::Void,
            Self::None | Self::NotWorse(_) => return Verdict::Shown,
            Self::RatioAtLeast(bar) => (ratio().map(|found| (found, bar)), |a, b| a >= b),
            Self::RatioAtMost(bar) => (ratio().map(|found| (found, bar)), |a, b| a <= b),
            Self::RatioAtMostOrWithin(bar) => {
                let most = Spread::of(samples.iter().filter_map(|sample| sample.baseline));
                let within = ours().zip(most).is_some_and(|(ours, base)| ours.median <= base.max);
                let bar = if within { f64::INFINITY } else { bar };
                (ratio().map(|found| (found, bar)), |a, b| a <= b)
            }
            Self::AtLeast(bar) => (ours().map(|found| (found, bar)), |a, b| a >= b),
            Self::AtMost(bar) => (ours().map(|found| (found, bar)), |a, b| a <= b),
            Self::OverAtMost(bar) => (over().map(|found| (found, bar)), |a, b| a <= b),
        };
        match found {
            None => Verdict::Void,
            Some((found, bar)) if holds(found.median, bar) => Verdict::Met,
            Some(_) => Verdict::Missed,
        }
    }

    /// Which way is better, if anything is asked for.
    pub fn better(self) -> Option<Better> {
        match self {
            Self::None => None,
            Self::NotWorse(better) => Some(better),
            Self::RatioAtLeast(_) | Self::AtLeast(_) => Some(Better::More),
            Self::RatioAtMost(_)
            | Self::RatioAtMostOrWithin(_)
            | Self::AtMost(_)
            | Self::OverAtMost(_) => Some(Better::Less),
        }
    }

    pub fn shown(self, unit: &str) -> String {
        match self {
            Self::None => String::new(),
            Self::NotWorse(_) => "not worse than before (--than)".into(),
            Self::RatioAtLeast(bar) => format!("≥ {bar}×"),
            Self::RatioAtMost(bar) => format!("≤ {bar}×"),
            Self::RatioAtMostOrWithin(bar) => format!("≤ {bar}× or within its spread"),
            Self::AtLeast(bar) => format!("≥ {bar} {unit}"),
            Self::AtMost(bar) => format!("≤ {bar} {unit}"),
            Self::OverAtMost(bar) => format!("≤ baseline + {bar} {unit}"),
        }
    }
}

/// Ours divided by the baseline, round by round.
pub fn ratio(samples: &[Sample]) -> Option<Spread> {
    let ratio = |sample: &Sample| match sample.baseline {
        Some(baseline) if baseline > 0.0 => Some(sample.ours / baseline),
        Some(_) | None => None,
    };
    Spread::of(samples.iter().filter_map(ratio))
}

impl Spread {
    /// `None` if there is nothing to be in the middle of.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[half - 1], values[half]),
            _ => values[half],
        };
        Some(Self { median, min, max })
    }
}

/// The same values, least first.
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The value below which so many percent of the sorted ones lie.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * percent / 100.0).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(pairs: &[(f64, f64)]) -> Vec<Sample> {
        let sample =
            |(ours, baseline): &(f64, f64)| Sample { ours: *ours, baseline: Some(*baseline) };
        pairs.iter().map(sample).collect()
    }

    #[test]
    fn a_ratio_is_taken_within_each_round_and_its_median_is_judged() {
        let samples = samples(&[(10.0, 10.0), (40.0, 20.0), (300.0, 100.0)]);
        let spread = ratio(&samples).unwrap();
        assert_eq!(spread, Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Bar::RatioAtLeast(2.0).judge(&samples), Verdict::Met);
        assert_eq!(Bar::RatioAtLeast(2.1).judge(&samples), Verdict::Missed);
        assert_eq!(Bar::RatioAtMost(1.9).judge(&samples), Verdict::Missed);
        assert_eq!(Bar::OverAtMost(20.0).judge(&samples), Verdict::Met);
        assert_eq!(Bar::OverAtMost(19.0).judge(&samples), Verdict::Missed);
        assert_eq!(Bar::AtMost(40.0).judge(&samples), Verdict::Met);
        assert_eq!(Bar::AtLeast(41.0).judge(&samples), Verdict::Missed);
    }

    #[test]
    fn what_is_within_the_spread_of_its_baseline_is_met_whatever_the_ratio() {
        let noisy = samples(&[(30.0, 10.0), (30.0, 40.0), (60.0, 20.0)]);
        assert_eq!(Bar::RatioAtMostOrWithin(1.25).judge(&noisy), Verdict::Met);
        let worse = samples(&[(30.0, 10.0), (30.0, 12.0), (30.0, 20.0)]);
        assert_eq!(Bar::RatioAtMostOrWithin(1.25).judge(&worse), Verdict::Missed);
        let close = samples(&[(12.0, 10.0), (12.2, 10.0)]);
        assert_eq!(Bar::RatioAtMostOrWithin(1.25).judge(&close), Verdict::Met);
        assert_eq!(Bar::RatioAtMostOrWithin(1.25).judge(&[]), Verdict::Void);
    }

    #[test]
    fn without_a_round_that_counts_nothing_is_met() {
        let alone = Sample { ours: 1.0, baseline: None };
        for bar in [Bar::None, Bar::RatioAtLeast(1.0), Bar::AtMost(1.0), Bar::OverAtMost(1.0)] {
            assert_eq!(bar.judge(&[]), Verdict::Void, "{bar:?}");
        }
        assert_eq!(Bar::RatioAtMost(9.0).judge(&[alone]), Verdict::Void);
        assert_eq!(Bar::None.judge(&[alone]), Verdict::Shown);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let spread = Spread::of([4.0, 1.0, 2.0, 9.0]).unwrap();
        assert_eq!(spread, Spread { median: 3.0, min: 1.0, max: 9.0 });
    }
}
