//! What was used and what it cost: the only place where token arithmetic lives.

mod ledger;
mod report;
mod usd;

use serde::{Deserialize, Serialize};

pub use ledger::{Ledger, LedgerEntry, Lineage};
pub use report::UsageReport;
pub use usd::Usd;

/// Tokens in disjoint buckets: their sum is what was billed. `reasoning` is a part of `output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Input that was neither read from nor written to a cache.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    /// Cache writes whose lifetime nobody told.
    pub cache_write_other: u64,
    pub output: u64,
    /// Already counted in `output`.
    pub reasoning: u64,
}

impl Tokens {
    /// All billed tokens.
    pub fn total(&self) -> u64 {
        self.context() + self.output
    }

    /// What the model was shown: every kind of input.
    pub fn context(&self) -> u64 {
        self.input
            + self.cache_read
            + self.cache_write_5m
            + self.cache_write_1h
            + self.cache_write_other
    }

    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: f(self.input, other.input),
            cache_read: f(self.cache_read, other.cache_read),
            cache_write_5m: f(self.cache_write_5m, other.cache_write_5m),
            cache_write_1h: f(self.cache_write_1h, other.cache_write_1h),
            cache_write_other: f(self.cache_write_other, other.cache_write_other),
            output: f(self.output, other.output),
            reasoning: f(self.reasoning, other.reasoning),
        }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_sub)
    }

    /// Whether any billed bucket is smaller than in `before`, which a running total never is.
    fn fell_below(self, before: Self) -> bool {
        self.input < before.input
            || self.cache_read < before.cache_read
            || self.cache_write_5m < before.cache_write_5m
            || self.cache_write_1h < before.cache_write_1h
            || self.cache_write_other < before.cache_write_other
            || self.output < before.output
    }
}

/// Tokens with their cost; no cost means that nobody knows it, which is not zero. The default is nothing at all, at no cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    #[serde(flatten)]
    pub tokens: Tokens,
    pub cost_usd: Option<Usd>,
    /// The part of an unknown cost that is known: the least that it can be. It says nothing where the cost is known.
    #[serde(rename = "known_cost_usd", default, skip_serializing_if = "Usd::is_zero")]
    known: Usd,
    /// Some of it was not told but worked out, and is the least that it can be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Default for Spend {
    fn default() -> Self {
        Self::costing(Tokens::default(), Some(Usd::default()))
    }
}

impl Spend {
    /// Tokens as they were told, with a cost that is known or not.
    pub fn costing(tokens: Tokens, cost_usd: Option<Usd>) -> Self {
        Self { tokens, cost_usd, known: Usd::default(), estimated: false }
    }

    /// Tokens of which nobody knows what they cost.
    pub fn unpriced(tokens: Tokens) -> Self {
        Self::costing(tokens, None)
    }

    /// The same, as the least that it can be.
    #[must_use]
    pub fn as_estimate(self) -> Self {
        Self { estimated: true, ..self }
    }

    /// The same at an unknown cost, of which this much is known.
    #[must_use]
    pub fn at_least(self, known: Usd) -> Self {
        Self { cost_usd: None, known, ..self }
    }

    /// What it has cost as far as anybody knows; the least that it can be.
    pub fn known_cost(&self) -> Usd {
        self.cost_usd.unwrap_or(self.known)
    }

    /// The sum; unknown plus anything is unknown, and estimated plus anything is estimated.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let cost_usd = self.cost_usd.zip(other.cost_usd).map(|(a, b)| a.plus(b));
        let known = self.known_cost().plus(other.known_cost());
        Self {
            tokens: self.tokens.plus(other.tokens),
            cost_usd,
            known: if cost_usd.is_some() { Usd::default() } else { known },
            estimated: self.estimated || other.estimated,
        }
    }

    /// What was added since an earlier total. What the earlier one did not know is known now, if this one knows it.
    fn since(self, before: Self) -> Self {
        let known = self.known_cost().minus(before.known_cost());
        Self {
            tokens: self.tokens.minus(before.tokens),
            cost_usd: self.cost_usd.map(|_| known),
            known: if self.cost_usd.is_some() { Usd::default() } else { known },
            estimated: self.estimated,
        }
    }

    fn fell_below(self, before: Self) -> bool {
        self.tokens.fell_below(before.tokens)
            || matches!(self.cost_usd, Some(now) if now < before.known_cost())
    }
}

/// What the numbers of a report cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageOf {
    ModelCall,
    Turn,
    Session,
}

/// Where a cost comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// The agent program's own figure.
    Reported,
    /// Our price table.
    PriceTable,
    Unknown,
}

/// How full the model's window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWindow {
    pub used: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}
