//! Work with git and worktrees on threads of its own, so that a look at a file that hangs holds up nothing else.
//!
//! What an agent can write lies on a disk that it may have mounted itself, and such a disk may never answer. No look at
//! it is taken on a thread on which the server does anything else; each worktree has a few threads at most, so one agent
//! cannot take those of the others; and the caller is told after a while that nothing came.
//!
//! The threads are not those of the runtime's own pool, because the work itself waits for that pool: as many pieces of
//! work as it has threads would wait for each other for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use musher_core::SlotId;
use musher_os::tuning::act_promptly;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, error, warn};

use super::{WorktreeError, WorktreeSlots};
use crate::GitError;

/// How many pieces of work may be under way in one lane.
const MAX_LANE_JOBS: usize = 4;
/// How many pieces of work may be under way in all, those aside that are slow. A thousand starts at once would otherwise
/// be a thousand threads, and as many processes.
const MAX_PARALLEL_JOBS: usize = 16;
/// A piece of work that takes longer than this leaves its place to others: it may hang.
const SLOW_JOB_THRESHOLD: Duration = Duration::from_secs(2);
/// How long a piece of work may take that only looks, and one that changes files.
const READ_JOB_TIMEOUT: Duration = Duration::from_secs(120);
const WRITE_JOB_TIMEOUT: Duration = Duration::from_secs(1800);

/// Whose files a piece of work is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The repository and the person's own checkout.
    Repository,
    Slot(SlotId),
    /// A look at a slot, beside the work that changes it.
    Look(SlotId),
}

/// What is under way.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    by_lane: Arc<Mutex<HashMap<Lane, Arc<Semaphore>>>>,
    places: Arc<Semaphore>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { by_lane: Arc::default(), places: Arc::new(Semaphore::new(MAX_PARALLEL_JOBS)) }
    }
}

impl Lanes {
    fn of(&self, lane: Lane) -> Arc<Semaphore> {
        let mut all = self.by_lane.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(lane).or_insert_with(|| Arc::new(Semaphore::new(MAX_LANE_JOBS))).clone()
    }
}

impl WorktreeSlots {
    /// Does a piece of work on a thread of its own. It is ended when nobody waits for it any more.
    pub async fn apart<T, E, W, F>(&self, lane: Lane, what: &'static str, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<WorktreeError> + Send + 'static,
        W: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<T, E>>,
    {
        let after = match lane {
            Lane::Look(_) => READ_JOB_TIMEOUT,
            Lane::Repository | Lane::Slot(_) => WRITE_JOB_TIMEOUT,
        };
        let stuck = || {
            let seconds = after.as_secs();
            error!(work = what, ?lane, seconds, "work in a worktree hangs, given up");
            E::from(WorktreeError::Git(GitError::Stuck { what, after }))
        };
        let turn = timeout(after, self.lanes.of(lane).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(stuck()) };
        let place = timeout(after, Arc::clone(&self.lanes.places).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(stuck()) };
        let ended = CancellationToken::new();
        let _ends_with_us = ended.clone().drop_guard();
        let (slots, here, span) = (self.clone(), Handle::current(), Span::current());
        let (tell, told) = oneshot::channel();
        let working = move || {
            // A thread that hangs keeps its turn, so that there are never too many of them.
            let _turn = turn;
            // A start waits for it. A kernel that does not grant it gives the usual turns.
            let _usual = act_promptly();
            let done = here.block_on(async move {
                tokio::select! {
                    done = work(slots).instrument(span) => Some(done),
                    () = ended.cancelled() => None,
                }
            });
            // Nobody may be waiting any more.
            let _unheard = tell.send(done);
        };
        if let Err(error) = thread::Builder::new().name("worktree".into()).spawn(working) {
            return Err(E::from(WorktreeError::Git(GitError::io("a thread")(error))));
        }
        let told = until_slow(told, place, what);
        match timeout(after, told).await {
            Ok(Ok(Some(done))) => done,
            Ok(Ok(None) | Err(_)) | Err(_) => Err(stuck()),
        }
    }
}

/// Waits for a piece of work, which keeps its place only as long as it is not slow.
async fn until_slow<T>(
    mut told: oneshot::Receiver<T>,
    place: OwnedSemaphorePermit,
    what: &'static str,
) -> Result<T, oneshot::error::RecvError> {
    if let Ok(told) = timeout(SLOW_JOB_THRESHOLD, &mut told).await {
        return told;
    }
    drop(place);
    warn!(work = what, seconds = SLOW_JOB_THRESHOLD.as_secs(), "work in a worktree is slow");
    told.await
}
