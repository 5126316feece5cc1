//! What was spent today, and what the runs that have begun may still spend.

use serde::{Deserialize, Serialize};

use crate::pool::State;
use crate::{Run, Usd};

/// A day in milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was spent on the last day on which anything was, as far as its cost is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Days since 1970, in UTC.
    pub n: i64,
    pub spent: Usd,
}

impl Day {
    /// Counts a cost at a moment (Unix milliseconds). A clock that was set back does not make a day begin again.
    pub(super) fn count(&mut self, at: i64, cost: Usd) {
        let n = at.div_euclid(DAY_MS);
        if n > self.n {
            *self = Self { n, spent: Usd::default() };
        }
        self.spent = self.spent.plus(cost);
    }
}

impl State {
    /// What was spent on the day of this moment (Unix milliseconds), as far as its cost is known.
    pub fn spent_today(&self, now: i64) -> Usd {
        match now.div_euclid(DAY_MS) > self.day.n {
            true => Usd::default(),
            false => self.day.spent,
        }
    }

    /// What the runs that have begun may still spend.
    pub fn reserved(&self) -> Usd {
        let running =
            self.runs.values().filter(|run| run.phase.slot().is_some() && !run.phase.has_ended());
        running.fold(Usd::default(), |sum, run| sum.plus(outstanding(run)))
    }
}

fn outstanding(run: &Run) -> Usd {
    run.budget.unwrap_or_default().minus(run.spent)
}

/// The day's money while runs are started.
#[derive(Debug)]
pub(super) struct Purse {
    cap: Option<Usd>,
    /// What is spent or reserved.
    gone: Usd,
}

/// What a run that is to start gets of the day's money.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// It may spend so much; nobody bounds it if there is no amount.
    Budget(Option<Usd>),
    /// Nothing is left of this cap.
    Nothing { cap: Usd },
}

impl Purse {
    pub(super) fn of(state: &State, cap: Option<Usd>, now: i64) -> Self {
        Self { cap, gone: state.spent_today(now).plus(state.reserved()) }
    }

    /// What is left, up to what the run may spend at all.
    pub(super) fn share(&self, own: Option<Usd>) -> Share {
        let Some(cap) = self.cap else { return Share::Budget(own) };
        match cap.minus(self.gone) {
            left if left == Usd::default() => Share::Nothing { cap },
            left => Share::Budget(Some(own.map_or(left, |own| own.min(left)))),
        }
    }

    pub(super) fn take(&mut self, budget: Option<Usd>) {
        self.gone = self.gone.plus(budget.unwrap_or_default());
    }
}
