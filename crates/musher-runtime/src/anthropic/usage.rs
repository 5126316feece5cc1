//! The usage of a message, which is told at its start and again at its end.

use musher_core::Tokens;
use serde_json::Value as Json;

use crate::model::told::{Told, UsageNumbers};

/// What was told so far. The numbers are running totals of the message; what is left out is unchanged.
#[derive(Debug, Default)]
pub(super) struct UsageTotals {
    numbers: UsageNumbers,
    tokens: Tokens,
    input: bool,
    output: bool,
    /// What was written to the cache in all; how long it is kept there may be told apart.
    written: Option<u64>,
}

impl UsageTotals {
    /// Takes in what is told at the start, when the output is still a guess.
    pub(super) fn so_far(&mut self, usage: &Json) {
        self.count(usage);
        self.output = false;
    }

    /// Takes in the last word.
    pub(super) fn last(&mut self, usage: &Json) {
        self.count(usage);
    }

    pub(super) fn told(&self) -> Told {
        if !self.input && self.tokens == Tokens::default() {
            return Told::Nothing;
        }
        match self.input && self.output {
            true => self.numbers.all(self.tokens),
            false => Told::Part(self.tokens),
        }
    }

    fn count(&mut self, usage: &Json) {
        let (numbers, tokens) = (&mut self.numbers, &mut self.tokens);
        let mut set = |count: &mut u64, json: &Json| {
            let given = numbers.given(json);
            *count = given.unwrap_or(*count);
            given.is_some()
        };
        self.input |= set(&mut tokens.input, &usage["input_tokens"]);
        self.output |= set(&mut tokens.output, &usage["output_tokens"]);
        // These may be null, which says that there was none.
        set(&mut tokens.cache_read, &usage["cache_read_input_tokens"]);
        set(&mut tokens.reasoning, &usage["output_tokens_details"]["thinking_tokens"]);
        let split = &usage["cache_creation"];
        set(&mut tokens.cache_write_5m, &split["ephemeral_5m_input_tokens"]);
        set(&mut tokens.cache_write_1h, &split["ephemeral_1h_input_tokens"]);
        let mut written = self.written.unwrap_or(0);
        if set(&mut written, &usage["cache_creation_input_tokens"]) {
            self.written = Some(written);
        }
        if let Some(written) = self.written {
            let known = tokens.cache_write_5m.saturating_add(tokens.cache_write_1h);
            tokens.cache_write_other = written.saturating_sub(known);
        }
    }
}
