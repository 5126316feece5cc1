//! What was spent today, what may have been, and what the runs that have begun may still spend.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pool::State;
use crate::{Run, RunId, StoryId, Usd};

/// A day in milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was spent on the last day on which anything was, as far as its cost is known, and what may have been.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaySpending {
    /// Days since 1970, in UTC.
    pub n: i64,
    pub spent: Usd,
    /// What runs that are over could have spent beyond what is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<RunId, UnknownSpending>,
}

/// What a run could have spent beyond what is known: nobody knows that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownSpending {
    pub usd: Usd,
    /// When the run ended, Unix milliseconds.
    pub at: i64,
    /// The run of which it resumed or forked the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<RunId>,
    /// A total of the session cannot tell what the run has spent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasting: bool,
}

impl DaySpending {
    /// Counts a cost at a moment (Unix milliseconds). A clock that was set back does not make a day begin again.
    pub(super) fn count(&mut self, at: i64, cost: Usd) {
        self.begin(at);
        self.spent = self.spent.plus(cost);
    }

    fn begin(&mut self, at: i64) {
        let n = at.div_euclid(DAY_MS);
        if n > self.n {
            *self = Self { n, ..Self::default() };
        }
    }

    pub(super) fn hold(&mut self, run: RunId, held: &UnknownSpending) {
        self.begin(held.at);
        self.held.insert(run, *held);
    }

    pub(super) fn settle(&mut self, run: Option<RunId>) {
        settle(&mut self.held, run);
    }
}

/// A total has told what this run and those before it have spent.
pub(super) fn settle(all: &mut BTreeMap<RunId, UnknownSpending>, mut run: Option<RunId>) {
    while let Some((id, held)) = run.and_then(|id| Some((id, *all.get(&id)?))) {
        if !held.lasting {
            all.remove(&id);
        }
        // A run follows an older one.
        run = held.of.filter(|of| *of < id);
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

    /// What runs that ended on the day of this moment could have spent beyond what is known.
    pub fn held_today(&self, now: i64) -> Usd {
        match now.div_euclid(DAY_MS) > self.day.n {
            true => Usd::default(),
            false => self.day.held.values().fold(Usd::default(), |sum, held| sum.plus(held.usd)),
        }
    }

    /// What the runs that have begun may still spend.
    pub fn reserved(&self) -> Usd {
        reserved(self.runs.values())
    }

    /// What is left of the budget of a story, beside what its runs that have begun may still spend; nothing if it has none.
    pub fn left_of_story(&self, id: &StoryId) -> Option<Usd> {
        let story = self.stories.get(id)?;
        let cap = story.spec.budget?;
        let held = story.held.values().fold(Usd::default(), |sum, held| sum.plus(held.usd));
        let promised = reserved(self.runs_of(id).map(|(_, run)| run));
        Some(cap.minus(story.spent.plus(held).plus(promised)))
    }
}

/// What those of these runs that have begun may still spend.
fn reserved<'a>(runs: impl Iterator<Item = &'a Run>) -> Usd {
    let running = runs.filter(|run| run.phase.slot().is_some() && !run.phase.has_ended());
    running.fold(Usd::default(), |sum, run| sum.plus(outstanding(run)))
}

/// What a run may still spend; nothing if nobody bounds it.
pub(super) fn outstanding(run: &Run) -> Usd {
    run.budget.unwrap_or_default().minus(run.spent)
}

/// The day's money while runs are started.
#[derive(Debug)]
pub(super) struct RunBudget {
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

impl RunBudget {
    pub(super) fn of(state: &State, cap: Option<Usd>, now: i64) -> Self {
        let spent = state.spent_today(now).plus(state.held_today(now));
        Self { cap, gone: spent.plus(state.reserved()) }
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
