//! The bill: every model request, what was said about its tokens, and whether the answer arrived whole.

use std::ops::Add;

use serde::{Deserialize, Serialize};

/// Tokens of one answer; the five kinds have five prices and do not overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub output: u64,
}

impl Usage {
    /// What a main request costs unless its marker says otherwise.
    pub const MAIN: Self =
        Self { input: 100, cache_read: 1000, cache_write_5m: 50, cache_write_1h: 0, output: 20 };

    /// What a side request (a title, a summary) costs.
    pub const SIDE: Self =
        Self { input: 10, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 5 };

    /// The usage that an opened answer reports before its text is known.
    pub(crate) fn at_start(self) -> Self {
        Self { output: 1.min(self.output), ..self }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            cache_read: self.cache_read + other.cache_read,
            cache_write_5m: self.cache_write_5m + other.cache_write_5m,
            cache_write_1h: self.cache_write_1h + other.cache_write_1h,
            output: self.output + other.output,
        }
    }
}

impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// How an answer came to its end, as the server saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// It is still being given, or nothing was ever said.
    #[default]
    Open,
    /// It was an error and nothing else.
    Refused,
    /// It was handed over to its last byte.
    Whole,
    /// The server broke it off.
    BrokenOff,
    /// The client went away before the end.
    Left,
}

/// One model request and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub path: String,
    pub model: String,
    /// The marker's name; `text` without a marker, `side` without tools, `invalid` when the body could not be read.
    pub scenario: String,
    pub step: usize,
    pub stream: bool,
    /// The HTTP status; 0 when the request was never answered.
    pub status: u16,
    /// What the client was told so far: nothing, the opening usage, or the final one.
    pub usage: Usage,
    /// What the call costs at most, told or not: an answer that was begun is charged even if it is cut.
    #[serde(default)]
    pub charged: Usage,
    #[serde(default)]
    pub end: CallEnd,
    /// Whether the answer was a 200 and was handed over to its last byte.
    pub counted: bool,
    /// How many messages the conversation had.
    pub messages: usize,
    /// The last thing the user said, without system reminders.
    pub prompt: String,
}

/// A snapshot of all requests, in order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub calls: Vec<Call>,
}

impl Ledger {
    /// The sum over the answers that were delivered whole.
    pub fn total(&self) -> Usage {
        self.counted().map(|call| call.usage).sum()
    }

    /// The sum of everything that was said about usage, broken answers included: some clients bill these too.
    pub fn told(&self) -> Usage {
        self.calls.iter().map(|call| call.usage).sum()
    }

    /// The sum of what all calls cost at most, told or not. A bill that says less must say that it is not all.
    pub fn charged(&self) -> Usage {
        self.calls.iter().map(|call| call.charged).sum()
    }

    /// The sum of whole answers for one model name.
    pub fn total_of_model(&self, model: &str) -> Usage {
        self.counted().filter(|call| call.model == model).map(|call| call.usage).sum()
    }

    /// How many model requests came in, whatever became of them.
    pub fn requests(&self) -> usize {
        self.calls.len()
    }

    /// How many requests named this scenario.
    pub fn calls_of(&self, scenario: &str) -> usize {
        self.calls.iter().filter(|call| call.scenario == scenario).count()
    }

    fn counted(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.counted)
    }
}
