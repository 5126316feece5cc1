//! The pool's words and rules: what may happen to stories and runs, and what follows from it.
//!
//! [`decide`] is the only place where the pool decides. It is given the [`State`], one [`PoolInput`] and the time, and gives
//! back a [`PoolDecision`]: the facts to commit, and then the actions to take. [`State::apply`] folds a committed fact.
//! After a restart the facts are folded again and [`State::owed`] names every action that is still to be taken. All
//! actions are idempotent, so that taking one twice does it once.

mod action;
mod apply;
mod command;
mod decide;
mod fact;
mod input;
mod money;
mod owed;
mod refusal;
mod state;
#[cfg(test)]
mod tests;

use crate::{AgentName, Usd};

pub use action::{Action, Assignment, PoolDecision, TextKey};
pub use command::{PoolCommand, WholeStory};
pub use decide::decide;
pub use fact::{Fact, JOURNAL_FORMAT};
pub use input::{PoolInput, RunReport, SecretPlace, Undelivered, UndeliveredCode};
pub use money::{DAY_MS, DaySpending, UnknownSpending};
pub use refusal::{CommandReply, Refusal, RefusalClass};
pub use state::{
    Delivery, DeliveryKind, GrantStep, KnownSession, Pair, Parked, PendingMerge, STATE_VERSION,
    SecretScan, SessionKey, Slot, SlotCondition, State,
};

/// The ask of a run that was lost too often: may it be started again?
pub const RESTART_ASK: &str = "restart";

/// How often the pool restarts the lost runs of one agent on one story by itself, within [`RESTART_WINDOW_MS`].
pub const RESTART_LIMIT: usize = 3;

/// How far back restarts are counted, in milliseconds.
pub const RESTART_WINDOW_MS: i64 = 10 * 60 * 1000;

/// How long a run waits until it counts as one priority higher, in milliseconds.
pub const PRIORITY_AGE_MS: i64 = 4 * 60 * 60 * 1000;

/// How many stories are taken at once.
pub const MAX_STORIES_PUT: usize = 1000;

/// How many stories one story may come after, and how many labels it may have.
pub const MAX_STORY_LINKS: usize = 64;

/// The team as the project file has it today. It is configuration, so no fact holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// The first is the one that is meant when no agent is named.
    pub agents: Vec<Seat>,
    pub limits: PoolLimits,
}

impl Team {
    /// The seat of this name.
    pub fn seat(&self, agent: &AgentName) -> Option<&Seat> {
        self.agents.iter().find(|seat| seat.name == *agent)
    }
}

/// One agent of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub name: AgentName,
    pub model: Option<String>,
    /// What one run of it may spend.
    pub budget: Option<Usd>,
    /// Whether its sessions can be gone on with from the end of any turn.
    pub turns: bool,
}

/// How many runs may have a place at once, and what they may spend. Nothing starts while a limit is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    pub runs: u32,
    pub runs_per_agent: u32,
    pub runs_per_story: u32,
    /// What all runs together may spend on one day (UTC).
    pub day_usd: Option<Usd>,
}
