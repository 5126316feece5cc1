//! Calls of a model that are told and charged one by one, with books beside them that no kill makes untrue.
//!
//! A kill can come between any two steps, so each step is booked before and after: what is booked after was told for
//! sure, and what is booked before is the most that was.

use std::io;

use serde_json::Value as Json;

use crate::agent::Agent;
use crate::home::Spent;
use crate::turn::Turn;

/// Dollars for a token.
const INPUT: f64 = 5e-6;
const OUTPUT: f64 = 25e-6;

/// What a turn is charged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charge {
    /// One sum, told at its end.
    Turn,
    /// Every call, told while it runs.
    Calls,
}

impl Agent {
    /// Says one block as a call of its own.
    pub(crate) fn call(&mut self, turn: &mut Turn, block: &Json) -> io::Result<()> {
        let id = self.wire.mint.id("msg");
        // Numbers that tell one call from the other in a sum.
        let (input, output) = (100 + turn.messages % 41, 10 + turn.messages % 7);
        let first = 1;
        self.book("begins", &id, input, first)?;
        self.wire.call_begins(&id, input, first)?;
        self.book("began", &id, input, first)?;
        self.wire.call_says(&id, block, input, first)?;
        self.book("ends", &id, input, output)?;
        let cost = input as f64 * INPUT + output as f64 * OUTPUT;
        for sum in [&mut turn.spent, self.memory.totals.entry(self.wire.model.clone()).or_default()]
        {
            *sum = Spent {
                input: sum.input + input,
                output: sum.output + output,
                cost: sum.cost + cost,
            };
        }
        self.memory.keep()?;
        self.wire.call_ends(&id, input, output)?;
        self.book("ended", &id, input, output)
    }

    fn book(&self, step: &str, call: &str, input: u64, output: u64) -> io::Result<()> {
        let session = &self.wire.session;
        self.home.append("books", &format!("{step} {session} {call} {input} {output}"))
    }
}
