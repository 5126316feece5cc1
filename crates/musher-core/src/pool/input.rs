//! Everything that can wake the pool: one closed enum.

use serde::{Deserialize, Serialize};

use crate::pool::{PoolCommand, Refusal};
use crate::{
    Actor, AskId, BranchRef, ClosedBy, CommandId, ErrorInfo, LedgerEntry, Outcome, RunId,
    SessionId, SlotId, StoryId,
};

/// One thing that happened, in the order in which the pool heard of it.
#[derive(Debug, Clone, PartialEq)]
pub enum PoolInput {
    /// The server began, or the project file changed: the queue is looked at with today's team.
    Begun,
    Command {
        id: CommandId,
        by: Actor,
        command: PoolCommand,
    },
    /// The worktree of a run is ready.
    Prepared {
        run: RunId,
        /// The commit that it stands at.
        head: String,
    },
    PrepareFailed {
        run: RunId,
        error: ErrorInfo,
    },
    /// The runner answers on its socket.
    RunnerUp {
        run: RunId,
    },
    /// No runner could be started; nothing of it is left.
    SpawnFailed {
        run: RunId,
        error: ErrorInfo,
    },
    /// Something was read in the run's log.
    Heard {
        run: RunId,
        seq: u64,
        what: RunReport,
    },
    /// The runner's lock is free and its log has no end.
    RunnerGone {
        run: RunId,
    },
    /// The log of a runner that is gone cannot be closed or read; the run has no other end than this.
    LogLost {
        run: RunId,
        error: ErrorInfo,
    },
    /// The runner said what became of a command.
    Delivered {
        run: RunId,
        command: CommandId,
        result: Result<(), Undelivered>,
    },
    /// The rule of an answer was saved, or could not be.
    Granted {
        run: RunId,
        command: CommandId,
        result: Result<(), Refusal>,
    },
    /// What a run left in its worktree was committed, or there was nothing, or it could not be done.
    Finished {
        run: RunId,
        commit: Option<String>,
        error: Option<String>,
    },
    /// A slot was emptied of a branch and can serve another story.
    Released {
        slot: SlotId,
        branch: BranchRef,
    },
    /// A branch that is to be merged was searched for secrets, or could not be.
    Searched {
        command: CommandId,
        story: StoryId,
        result: Result<Vec<SecretPlace>, String>,
    },
    /// A merge made a commit, or failed and says why.
    Merged {
        command: CommandId,
        story: StoryId,
        result: Result<String, String>,
    },
}

impl PoolInput {
    /// Who causes what follows from it.
    pub fn by(&self) -> Actor {
        match self {
            Self::Command { by, .. } => by.clone(),
            Self::Heard { run, .. } | Self::Delivered { run, .. } => Actor::run(*run),
            Self::Begun
            | Self::Prepared { .. }
            | Self::PrepareFailed { .. }
            | Self::RunnerUp { .. }
            | Self::SpawnFailed { .. }
            | Self::RunnerGone { .. }
            | Self::LogLost { .. }
            | Self::Granted { .. }
            | Self::Finished { .. }
            | Self::Released { .. }
            | Self::Searched { .. }
            | Self::Merged { .. } => Actor::POOL,
        }
    }
}

/// A line that holds a secret. The value is never told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretPlace {
    pub path: String,
    /// The number of the line in the file as it is now.
    pub line: u64,
    /// The name of the secret, such as its variable.
    pub name: String,
}

impl SecretPlace {
    /// Places in one sentence; the first few are named.
    pub fn list(places: &[Self]) -> String {
        const NAMED: usize = 5;
        let place =
            |Self { path, line, name }: &Self| format!("line {line} of {path} holds {name}");
        let mut words: Vec<String> = places.iter().take(NAMED).map(place).collect();
        if places.len() > NAMED {
            words.push(format!("and {} more", places.len() - NAMED));
        }
        words.join(", ")
    }
}

/// What the pool wants to know of a run's log; the rest is for readers.
#[derive(Debug, Clone, PartialEq)]
pub enum RunReport {
    Session {
        session: SessionId,
    },
    /// The worktree's setup has been run.
    SetupDone,
    AskOpened {
        ask: AskId,
        /// Nobody need look: it is closed in the same breath.
        settled: bool,
    },
    AskClosed {
        ask: AskId,
        by: ClosedBy,
        /// The command whose answer closed it.
        command: Option<CommandId>,
    },
    /// What a person said is in the log, so the run has it, whatever becomes of the runner's own word on it.
    Taken {
        command: CommandId,
    },
    Usage {
        model: Option<String>,
        /// What this report adds to the run.
        entry: LedgerEntry,
    },
    Ended {
        outcome: Outcome,
        error: Option<ErrorInfo>,
        session: Option<SessionId>,
    },
}

/// Why a command did not take effect in the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undelivered {
    pub code: UndeliveredCode,
    pub message: String,
}

/// The kinds of [`Undelivered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndeliveredCode {
    /// The run had ended.
    RunEnded,
    /// Something else had closed the ask.
    AskClosed,
    /// The runtime cannot do it, or the answer is of the wrong kind; the ask is still open.
    Unfit,
    /// Anything else.
    Failed,
}
