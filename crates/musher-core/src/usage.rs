//! What was used and what it cost: the only place where token arithmetic lives.

mod ledger;
mod usd;

use serde::{Deserialize, Serialize};

pub use ledger::Ledger;
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

/// Tokens with their cost; no cost means that nobody knows it, which is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    #[serde(flatten)]
    pub tokens: Tokens,
    pub cost_usd: Option<Usd>,
}

impl Spend {
    /// The sum; unknown plus anything is unknown.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.plus(other.tokens),
            cost_usd: self.cost_usd.zip(other.cost_usd).map(|(a, b)| a.plus(b)),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            tokens: self.tokens.minus(before.tokens),
            cost_usd: self.cost_usd.map(|now| now.minus(before.cost_usd.unwrap_or_default())),
        }
    }

    fn fell_below(self, before: Self) -> bool {
        self.tokens.fell_below(before.tokens)
            || matches!((self.cost_usd, before.cost_usd), (Some(now), Some(then)) if now < then)
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
pub struct Context {
    pub used: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// One report of usage by one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageReport {
    pub of: UsageOf,
    /// A running total of the session's whole lineage rather than an increment.
    pub cumulative: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub spend: Spend,
    pub cost_basis: CostBasis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Told while a call runs, for display; the bill comes later, so it is not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}
