//! What the host of this virtual machine takes of its processors for others.

use anyhow::Context as _;

/// A round in which more was taken than this does not count.
pub const MOST: f64 = 0.02;

/// The processors' time so far, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    pub stolen: u64,
    pub idle: u64,
    pub all: u64,
}

impl Ticks {
    pub fn read() -> anyhow::Result<Self> {
        let text = std::fs::read_to_string("/proc/stat").context("/proc/stat")?;
        Self::parse(&text).context("/proc/stat has no line `cpu`")
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        // The first eight are disjoint; guests, which follow, are counted among them.
        let all = ticks.get(..8)?.iter().sum();
        Some(Self { stolen: ticks[7], idle: ticks[3] + ticks[4], all })
    }

    /// The part of all time since then that was stolen.
    pub fn stolen_since(self, earlier: Self) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        self.stolen.saturating_sub(earlier.stolen) as f64 / all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_part_of_all_time() {
        let before = Ticks::parse("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3\n").unwrap();
        let after = Ticks::parse("cpu  130 0 110 750 105 0 0 5 60 0\n").unwrap();
        assert_eq!(before, Ticks { stolen: 0, idle: 800, all: 1000 });
        assert!((after.stolen_since(before) - 0.05).abs() < 1e-9);
        assert_eq!(Ticks::parse("intr 1 2 3\n"), None);
    }
}
