//! Work with git and worktrees on threads of its own, so that a look at a file that hangs holds up nothing else.
//!
//! What an agent can write lies on a disk that it may have mounted itself, and such a disk may never answer. No look at
//! it is taken on a thread on which the server does anything else; each worktree has a few threads at most, so one agent
//! cannot take those of the others; and whoever waits is told after a while that nothing came.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use musher_core::SlotId;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Slots, WorktreeError};
use crate::git::GitError;

/// How many pieces of work may be under way in one lane.
const WIDTH: usize = 4;
/// How long a piece of work may take that only looks, and one that changes files.
const LOOK: Duration = Duration::from_secs(120);
const CHANGE: Duration = Duration::from_secs(1800);

/// Whose files a piece of work is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The repository and the person's own checkout.
    Repository,
    Slot(SlotId),
    /// A look at a slot, beside the work that changes it.
    Look(SlotId),
}

/// What is under way, by lane.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes(Arc<Mutex<HashMap<Lane, Arc<Semaphore>>>>);

impl Lanes {
    fn of(&self, lane: Lane) -> Arc<Semaphore> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(lane).or_insert_with(|| Arc::new(Semaphore::new(WIDTH))).clone()
    }
}

impl Slots {
    /// Does a piece of work on a thread of its own. It is ended when nobody waits for it any more.
    pub async fn apart<T, E, W, F>(&self, lane: Lane, what: &'static str, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<WorktreeError> + Send + 'static,
        W: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<T, E>>,
    {
        let after = match lane {
            Lane::Look(_) => LOOK,
            Lane::Repository | Lane::Slot(_) => CHANGE,
        };
        let stuck = || E::from(WorktreeError::Git(GitError::Stuck { what, after }));
        let turn = timeout(after, self.lanes.of(lane).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(stuck()) };
        let ended = CancellationToken::new();
        let _ends_with_us = ended.clone().drop_guard();
        let (slots, here) = (self.clone(), Handle::current());
        let working = tokio::task::spawn_blocking(move || {
            // A thread that hangs keeps its turn, so that there are never too many of them.
            let _turn = turn;
            here.block_on(async move {
                tokio::select! {
                    done = work(slots) => Some(done),
                    () = ended.cancelled() => None,
                }
            })
        });
        match timeout(after, working).await {
            Ok(Ok(Some(done))) => done,
            Ok(Ok(None) | Err(_)) | Err(_) => Err(stuck()),
        }
    }
}
