//! A run: one try by one agent at one story in one worktree, from assignment to outcome.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    AgentName, AskId, ClosedBy, CommandId, Outcome, RunId, RunPhaseKind, SessionId, SlotId,
    StoryId, Usd,
};

/// What a run is to be; it does not change once the run is queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlan {
    pub story: StoryId,
    pub agent: AgentName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub kind: RunKind,
    pub line: RunLine,
    pub words: FirstPrompt,
    /// The slot in which an earlier run of the same work was; the run waits for it while it is busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotId>,
}

/// Where a run comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunKind {
    /// A person started it.
    Fresh,
    /// The same prompt again, in a session of its own.
    Retry { of: RunId },
    /// The session of an ended run goes on.
    Resume { of: RunId, session: SessionId },
    /// A copy of a session goes on beside it, in a copy of its worktree.
    Fork {
        of: RunId,
        session: SessionId,
        from: SlotId,
        /// The turn at whose end the copy begins; else it is of the whole session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// The pool starts again what was lost.
    Restart { of: RunId, opening: SessionOpening },
}

impl RunKind {
    /// How the session is to be opened.
    pub fn opening(&self) -> SessionOpening {
        match self {
            Self::Fresh | Self::Retry { .. } => SessionOpening::Fresh,
            Self::Resume { session, .. } => SessionOpening::Resume { session: session.clone() },
            Self::Fork { session, turn, .. } => {
                SessionOpening::Fork { session: session.clone(), turn: *turn }
            }
            Self::Restart { opening, .. } => opening.clone(),
        }
    }

    /// The run that this one follows.
    pub fn of(&self) -> Option<RunId> {
        match self {
            Self::Fresh => None,
            Self::Retry { of }
            | Self::Resume { of, .. }
            | Self::Fork { of, .. }
            | Self::Restart { of, .. } => Some(*of),
        }
    }
}

/// How a run opens its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionOpening {
    Fresh,
    Resume {
        session: SessionId,
    },
    Fork {
        session: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
}

/// Whether a run is the one run of its agent on its story, or stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunLine {
    Main,
    Fork,
}

/// With which prompt a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FirstPrompt {
    /// What the story says.
    Story,
    /// The prompt that is kept under the run's own id.
    Own,
    /// The prompt that is kept under the id of an earlier run.
    Of { run: RunId },
    /// The agent is asked to go on.
    Continue,
}

impl FirstPrompt {
    /// The same words, as a later run says them.
    #[must_use]
    pub fn again(self, earlier: RunId) -> Self {
        match self {
            Self::Own => Self::Of { run: earlier },
            Self::Story | Self::Of { .. } | Self::Continue => self,
        }
    }
}

/// A run that is not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub plan: RunPlan,
    pub phase: RunPhase,
    /// Whether a person wants it to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wish: Option<EndRequest>,
    /// The session that its log named last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The number of the last event that became a fact.
    pub cursor: u64,
    /// The asks that waited for a person, the closed ones too, so that a late answer hears what won.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asks: BTreeMap<AskId, AskState>,
    /// What it waits for while it is queued.
    #[serde(default)]
    pub wait: Wait,
    /// What it may spend; it is reserved of the day's money when the run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// What it has spent, as far as its cost is known.
    #[serde(default)]
    pub spent: Usd,
    /// Whether that is all.
    #[serde(default, skip_serializing_if = "Doubt::is_none")]
    pub doubt: Doubt,
    /// What tells it from every other run, also from one of the same number; runs of older builds have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// When it was queued, Unix milliseconds; those that have waited long go first.
    #[serde(default)]
    pub queued_at: i64,
}

/// Whether something that a run has spent is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    #[default]
    None,
    /// A total of the session would tell it.
    Untold,
    /// Nobody will ever tell it.
    Lasting,
}

impl Doubt {
    pub fn is_none(&self) -> bool {
        match self {
            Self::None => true,
            Self::Untold | Self::Lasting => false,
        }
    }
}

/// What a queued run waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Wait {
    /// A place, or the worktree in which it is to be.
    #[default]
    Place,
    /// Money: nothing is left of what may be spent on one day.
    DayCap { cap: Usd },
    /// Another story that must be done before.
    After { story: StoryId },
    /// The same, and that story was archived before it was done.
    AfterArchived { story: StoryId },
    /// Money: nothing is left of what the runs of its story may spend.
    StoryBudget { cap: Usd },
}

impl Wait {
    /// Whether it is the story that holds the run up, which builds before specs do not know.
    pub fn is_about_the_story(&self) -> bool {
        match self {
            Self::Place | Self::DayCap { .. } => false,
            Self::After { .. } | Self::AfterArchived { .. } | Self::StoryBudget { .. } => true,
        }
    }
}

impl Run {
    /// A run that waits for its place.
    pub fn queued(plan: RunPlan, at: i64) -> Self {
        let phase = RunPhase::Queued;
        Self {
            plan,
            phase,
            wish: None,
            session: None,
            cursor: 0,
            asks: BTreeMap::new(),
            wait: Wait::default(),
            budget: None,
            spent: Usd::default(),
            doubt: Doubt::None,
            nonce: None,
            queued_at: at,
        }
    }

    /// What is to be remembered of the run when it ends with this outcome.
    pub fn past(&self, run: RunId, outcome: Outcome) -> PastRun {
        let RunPlan { story, agent, model, words, .. } = self.plan.clone();
        let (session, slot) = (self.conversation(), self.phase.slot());
        PastRun { run, story, agent, model, words, session, slot, outcome }
    }

    /// The session that a later run would resume: the one seen, or the one that this run was to resume.
    pub fn conversation(&self) -> Option<SessionId> {
        self.session.clone().or_else(|| match self.plan.kind.opening() {
            SessionOpening::Resume { session } => Some(session),
            SessionOpening::Fresh | SessionOpening::Fork { .. } => None,
        })
    }
}

/// Where a run is. How it ended is its [`Outcome`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunPhase {
    /// It waits for a place.
    Queued,
    /// Its worktree is being made.
    Preparing { slot: SlotId, start: WorktreeStart },
    /// Its runner is being started.
    Starting { slot: SlotId },
    /// Its runner is up.
    Live { slot: SlotId },
    /// Its runner is gone without an outcome; its log must be closed.
    Closing { slot: SlotId },
    /// It has ended; what it left in the worktree must be committed.
    Finishing { slot: SlotId, outcome: Outcome },
}

impl RunPhase {
    /// The slot that the run occupies, and with it a place.
    pub fn slot(&self) -> Option<SlotId> {
        match self {
            Self::Queued => None,
            Self::Preparing { slot, .. }
            | Self::Starting { slot }
            | Self::Live { slot }
            | Self::Closing { slot }
            | Self::Finishing { slot, .. } => Some(*slot),
        }
    }

    /// Whether the run is over for its agent.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Finishing { .. } => true,
            Self::Queued
            | Self::Preparing { .. }
            | Self::Starting { .. }
            | Self::Live { .. }
            | Self::Closing { .. } => false,
        }
    }

    /// The phase without what belongs to it.
    pub fn kind(&self) -> RunPhaseKind {
        match self {
            Self::Queued => RunPhaseKind::Queued,
            Self::Preparing { .. } => RunPhaseKind::Preparing,
            Self::Starting { .. } => RunPhaseKind::Starting,
            Self::Live { .. } => RunPhaseKind::Live,
            Self::Closing { .. } => RunPhaseKind::Closing,
            Self::Finishing { .. } => RunPhaseKind::Finishing,
        }
    }
}

/// What a worktree begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorktreeStart {
    /// A new branch at the project's base.
    Fresh,
    /// What is there.
    Keep,
    /// A new branch at a snapshot of another slot.
    Snapshot { of: SlotId },
}

/// That a person wants a run to end, and how; the later one is the stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndRequest {
    Stop,
    Kill,
}

/// Where an ask is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AskState {
    Open,
    /// An answer is on its way to the runner, which alone decides whether it counts.
    Offered {
        command: CommandId,
    },
    Closed {
        by: ClosedBy,
    },
}

/// What the journal knows of a run that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRun {
    pub run: RunId,
    pub story: StoryId,
    pub agent: AgentName,
    pub model: Option<String>,
    pub words: FirstPrompt,
    pub session: Option<SessionId>,
    pub slot: Option<SlotId>,
    pub outcome: Outcome,
}

/// A run that a command speaks of, as the journal found it in the same step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunRef {
    /// It is not over, or it never was.
    Live(RunId),
    Past(PastRun),
}

impl RunRef {
    /// The run's id.
    pub fn id(&self) -> RunId {
        match self {
            Self::Live(run) => *run,
            Self::Past(past) => past.run,
        }
    }
}
