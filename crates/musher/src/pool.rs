//! The loop around the one decider: takes inputs in one order, commits what follows, and only then acts and replies.
//!
//! [`Pool::start`] folds the journal and starts the loop on a thread of its own. [`PoolHandle`] is what everybody else
//! holds. If the journal cannot be written the loop stops at once: the state in memory would be ahead of the one on
//! disk, so nothing more is done and nobody is told that something was. Only a full disk is waited for: what was wished
//! meanwhile is refused, and what happened meanwhile is written when there is room.

mod handle;
mod log_lines;
mod round;
mod unsaid;
mod waiting;
mod wish;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, watch};

use musher_core::pool::{Action, Refusal, Team};
use musher_core::{AgentName, StoryId};

use crate::journal::{Journal, JournalError};

pub use handle::{AcceptedCommand, Idempotency, PendingCommand, PoolHandle};
pub use wish::{RunName, Wish};

use handle::{PoolEnd, PoolFailure};
use round::Rounds;

/// How many inputs may wait. Whoever sends one more waits too; nothing is dropped.
const WAITING: usize = 1024;

/// Starts the loop.
#[derive(Debug)]
pub struct Pool;

impl Pool {
    /// Folds the journal and starts the loop. It first hands out every action that is owed, and then looks at the queue.
    ///
    /// `actions` is called on the loop's own thread after each commit, so it must hand the actions on without waiting.
    pub fn start(
        mut journal: Journal,
        team: Team,
        now: impl Fn() -> i64 + Send + 'static,
        actions: impl FnMut(Vec<Action>) + Send + 'static,
    ) -> Result<(PoolHandle, JoinHandle<()>), PoolStartError> {
        let (state, last) = journal.load()?;
        let (wake, wakes) = mpsc::channel(WAITING);
        let (published, facts) = watch::channel(last);
        let end = PoolEnd { facts, broken: PoolFailure::default() };
        let (unsaid, shown) = watch::channel(Arc::new(unsaid::unsaid(&state)));
        let handle = PoolHandle::new(wake, end.clone(), shown);
        let rounds = Rounds {
            journal,
            state,
            team,
            now: Box::new(now),
            actions: Box::new(actions),
            wakes,
            published,
            unsaid,
            end,
            waiting: waiting::Waiting::default(),
            held: Vec::new(),
            no_room: None,
        };
        let thread = std::thread::Builder::new().name("pool".into()).spawn(|| rounds.run())?;
        Ok((handle, thread))
    }
}

/// The loop could not be started.
#[derive(Debug, thiserror::Error)]
pub enum PoolStartError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("could not start a thread for the pool: {0}; see how many the system allows")]
    Thread(#[from] std::io::Error),
}

/// A command was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{}", no_run(story, agent.as_ref()))]
    NoRun { story: StoryId, agent: Option<AgentName> },
    #[error("the key {key} was sent before with another request; use a new key")]
    KeyReused { key: String },
    /// Nothing of it was done, and it may be sent again.
    #[error("it was not done: {why}")]
    NoRoom { why: String },
    #[error("the server has stopped because its journal could not be written: {why}")]
    Broken { why: String },
    #[error("the server is shutting down; send it again when it is back")]
    Closed,
}

fn no_run(story: &StoryId, agent: Option<&AgentName>) -> String {
    match agent {
        Some(agent) => format!("agent {agent} has no run on story {story}"),
        None => format!("story {story} has no run"),
    }
}
