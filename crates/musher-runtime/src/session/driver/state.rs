//! Where a session is on its way to its end: prompts are taken, or its work is done, or something ends it.

use musher_core::Activity;
use tokio::time::Instant;

use super::super::ending::Ending;

/// Each state holds what is true in it alone, so that no two of them can be mixed.
#[derive(Debug)]
pub(super) enum DriverState {
    /// Prompts are taken.
    Open {
        /// What the agent has last said of itself.
        agent: Activity,
        /// When waiting for more has an end: the session is closed, or an agent that says it is busy is taken to be idle.
        close_at: Option<Instant>,
    },
    /// Its work is done, and the agent was told to leave.
    Leaving,
    /// Something ends the session. The first reason stands.
    Ending(Ending),
}

impl DriverState {
    pub(super) fn new() -> Self {
        Self::Open { agent: Activity::Idle, close_at: None }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self, Self::Leaving)
    }

    pub(super) fn ending(&self) -> Option<&Ending> {
        match self {
            Self::Ending(ending) => Some(ending),
            Self::Open { .. } | Self::Leaving => None,
        }
    }

    /// Whether an agent whose session is open says that it is not idle.
    pub(super) fn agent_is_busy(&self) -> bool {
        match self {
            Self::Open { agent, .. } => *agent != Activity::Idle,
            Self::Leaving | Self::Ending(_) => false,
        }
    }

    /// The agent has said what it does.
    pub(super) fn agent_says(&mut self, now: Activity) {
        if let Self::Open { agent, .. } = self {
            *agent = now;
        }
    }

    /// Waits no longer than this. In the other states there is nothing to wait for.
    pub(super) fn wait_until(&mut self, end: Option<Instant>) {
        if let Self::Open { close_at, .. } = self {
            *close_at = end;
        }
    }

    /// Waits this long unless an end is set already.
    pub(super) fn wait_at_most_until(&mut self, end: Instant) {
        if let Self::Open { close_at, .. } = self {
            close_at.get_or_insert(end);
        }
    }

    /// When there is something to do about the state itself.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Open { close_at, .. } => *close_at,
            Self::Leaving => None,
            Self::Ending(ending) => ending.interrupting_until,
        }
    }
}
