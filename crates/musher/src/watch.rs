//! Read models between the logs and the doors: what people and programs look at, made once for all who look.
//!
//! | part | what it shows |
//! |---|---|
//! | `tail`, `position`, `frames` | The end of a run's log, read and framed once for everybody who follows it. |
//! | `news`, `touched` | The newest facts, and what they touched. |
//! | `activity` | What live runs are at. |
//! | `changes`, `lines`, `conflicts` | What runs have changed, how much of it, and whether it would merge. |
//! | `outline`, `network` | The shape of a run, and the hosts that it spoke to. |
//! | `programs`, `memory` | What was last seen of programs and processes. |
//!
//! They only read, hold no rules and know no requests. What they make is forgotten when the server ends.

pub(crate) mod activity;
pub(crate) mod changes;
mod conflicts;
pub(crate) mod frames;
pub(crate) mod lines;
mod memory;
mod network;
pub(crate) mod news;
pub(crate) mod outline;
pub(crate) mod position;
pub(crate) mod programs;
pub(crate) mod tail;
pub(crate) mod touched;

use std::ops::Deref;
use std::sync::Arc;

use musher_core::RunId;
use musher_git::worktree::WorktreeSlots;
use musher_git::{Branch, Git};
use musher_log::LogError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bus::Bus;
use crate::diagnostics::DiagnosticContext;
use crate::journal::{JournalError, Views};
use crate::pool::{PoolError, PoolHandle};

/// What the read models are made from.
#[derive(Debug)]
pub struct WatchContext {
    pub pool: PoolHandle,
    pub views: Views,
    pub bus: Bus,
    pub git: Git,
    pub slots: WorktreeSlots,
    /// The branch that stories start from and are merged into.
    pub base_branch: Branch,
    /// What is looked at for the checks.
    pub checked: DiagnosticContext,
    /// Unix milliseconds.
    pub clock: fn() -> i64,
    /// Whatever is under way ends with this.
    pub closing: CancellationToken,
}

/// The read models of one server. It is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Watch(Arc<ReadModels>);

#[derive(Debug)]
pub(crate) struct ReadModels {
    context: WatchContext,
    pub(crate) tails: tail::Tails,
    news: news::SharedNews,
    programs: programs::Programs,
    memory: memory::Memory,
    lines: lines::LineCounts,
    conflicts: conflicts::Conflicts,
    pub(crate) activities: activity::Activities,
    outlines: outline::Outlines,
    /// What goes on when the one who asked has left.
    pub(crate) tasks: TaskTracker,
}

impl Deref for Watch {
    type Target = ReadModels;

    fn deref(&self) -> &ReadModels {
        &self.0
    }
}

impl Deref for ReadModels {
    type Target = WatchContext;

    fn deref(&self) -> &WatchContext {
        &self.context
    }
}

/// Why something cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error("a look at the state of the server was cut short")]
    CutShort,
}

impl Watch {
    pub(crate) fn new(context: WatchContext) -> Self {
        Self(Arc::new(ReadModels {
            context,
            tails: tail::Tails::default(),
            news: news::SharedNews::default(),
            programs: programs::Programs::default(),
            memory: memory::Memory::default(),
            lines: lines::LineCounts::default(),
            conflicts: conflicts::Conflicts::default(),
            activities: activity::Activities::default(),
            outlines: outline::Outlines::default(),
            tasks: TaskTracker::new(),
        }))
    }

    /// Does something that blocks, on a thread that may.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WatchError> {
        tokio::task::spawn_blocking(work).await.map_err(|_| WatchError::CutShort)
    }

    /// Reads a view.
    pub(crate) async fn view<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Views) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, WatchError> {
        let views = self.views.clone();
        Ok(self.blocking(move || read(&views)).await??)
    }

    /// Whether a run is over; one that does not exist is not waited for.
    pub(crate) async fn is_over(&self, run: RunId) -> bool {
        match self.view(move |views| views.run(run)).await {
            Ok(found) => found.is_none_or(|run| run.ended_at.is_some()),
            // It will be looked at again.
            Err(_) => false,
        }
    }
}
