//! Takes the actions that the pool decided. Each is taken once, however often it is asked for, and none asks the pool for
//! more than it carries.

mod close;
mod deliver;
mod finish;
mod grant;
mod merge;
mod prepare;
mod release;
mod search;
mod spawn;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SupervisorContext;
use super::attend::Attendants;
use super::place::RunPlace;
use musher_core::pool::{Action, PoolInput};
use musher_core::{BranchRef, ErrorClass, ErrorInfo};
use musher_git::Branch;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span, debug, info_span, warn};

pub(super) use close::{TRIES, log_lost};

/// What cannot be done now is tried again after this long.
const ACTION_RETRY_DELAY: Duration = Duration::from_secs(2);
/// An action that takes longer than this is told: somebody waits for a run that begins or ends.
const SLOW_ACTION: Duration = Duration::from_secs(10);

/// Whoever takes the actions.
#[derive(Debug, Clone)]
pub(super) struct Performer {
    pub(super) ground: Arc<SupervisorContext>,
    pub(super) attendants: Attendants,
    /// Where runs are: every run is in the same place.
    pub(super) place: RunPlace,
}

impl Performer {
    /// Takes actions until the server ends; one arm for each, and one file. What is said to a run keeps its order, and
    /// everything else is done side by side.
    pub(super) async fn act(
        self,
        mut actions: mpsc::Receiver<Vec<Action>>,
        tasks: TaskTracker,
        ended: CancellationToken,
    ) {
        while let Some(Some(batch)) = ended.run_until_cancelled(actions.recv()).await {
            for action in batch {
                let (span, in_order) = (span(&action), matches!(action, Action::Deliver { .. }));
                let this = self.clone();
                let taken = async move {
                    match action {
                        Action::Prepare { run, plan, slot, branch, start, condition } => {
                            this.prepare(run, &plan, (slot, branch, condition), start).await;
                        }
                        Action::Spawn(assignment) => this.spawn(assignment).await,
                        Action::Deliver { run, command, kind } => this.deliver(run, command, kind),
                        Action::Grant { run, command, agent, story } => {
                            this.grant(run, command, agent, story).await;
                        }
                        Action::CloseLog { run } => this.close(run).await,
                        Action::Finish { run, slot, branch } => {
                            this.finish(run, slot, branch).await;
                        }
                        Action::Release { slot, branch } => this.release(slot, branch).await,
                        Action::SearchSecrets { command, branch } => {
                            this.search(command, branch).await;
                        }
                        Action::Merge { command, branch } => this.merge(command, branch).await,
                    }
                };
                let taken = timed(taken).instrument(span);
                match in_order {
                    true => taken.await,
                    false => {
                        tasks.spawn(ended.clone().run_until_cancelled_owned(taken));
                    }
                }
            }
        }
    }

    async fn tell(&self, input: PoolInput) {
        if let Err(error) = self.ground.pool.tell(input).await {
            // A pool that is gone takes the server with it.
            debug!(cause = %error, "the pool is gone and hears nothing");
        }
    }
}

/// Takes an action, and tells how long it took.
async fn timed(action: impl Future<Output = ()>) {
    let began = Instant::now();
    action.await;
    let took = began.elapsed();
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    match took > SLOW_ACTION {
        true => warn!(ms, "action was slow"),
        false => debug!(ms, "action done"),
    }
}

/// What the lines about an action have in common.
fn span(action: &Action) -> Span {
    match action {
        Action::Prepare { run, slot, branch, .. } => {
            info_span!("action", action = "prepare", run.id = %run, story.id = %branch.story, slot = slot.0)
        }
        Action::Spawn(to) => {
            info_span!("action", action = "spawn", run.id = %to.run, slot = to.slot.0)
        }
        Action::Deliver { run, command, .. } => {
            info_span!("action", action = "deliver", run.id = %run, command.id = %command)
        }
        Action::Grant { run, command, .. } => {
            info_span!("action", action = "grant", run.id = %run, command.id = %command)
        }
        Action::CloseLog { run } => info_span!("action", action = "close_log", run.id = %run),
        Action::Finish { run, slot, .. } => {
            info_span!("action", action = "finish", run.id = %run, slot = slot.0)
        }
        Action::Release { slot, branch } => {
            info_span!("action", action = "release", story.id = %branch.story, slot = slot.0)
        }
        Action::SearchSecrets { branch, .. } => {
            info_span!("action", action = "search_secrets", story.id = %branch.story)
        }
        Action::Merge { branch, .. } => {
            info_span!("action", action = "merge", story.id = %branch.story)
        }
    }
}

/// The branch by its name in git.
pub(super) fn named(branch: &BranchRef) -> Result<Branch, ErrorInfo> {
    Branch::new(branch.to_string())
        .map_err(|error| ErrorInfo::new(ErrorClass::Internal, error.to_string()))
}
