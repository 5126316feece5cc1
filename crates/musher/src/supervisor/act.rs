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
    /// Whether an action is done at once and in its place among others: what is said to a run keeps its order.
    pub(super) fn keeps_order(action: &Action) -> bool {
        matches!(action, Action::Deliver { .. })
    }

    /// Takes an action; one arm for each, and one file.
    pub(super) async fn act(&self, action: Action) {
        let (span, began) = (span(&action), Instant::now());
        let done = async {
            match action {
                Action::Prepare { run, plan, slot, branch, start, condition } => {
                    self.prepare(run, &plan, (slot, branch, condition), start).await;
                }
                Action::Spawn(assignment) => self.spawn(assignment).await,
                Action::Deliver { run, command, kind } => self.deliver(run, command, kind),
                Action::Grant { run, command, agent, story } => {
                    self.grant(run, command, agent, story).await;
                }
                Action::CloseLog { run } => self.close(run).await,
                Action::Finish { run, slot, branch } => self.finish(run, slot, branch).await,
                Action::Release { slot, branch } => self.release(slot, branch).await,
                Action::SearchSecrets { command, branch } => self.search(command, branch).await,
                Action::Merge { command, branch } => self.merge(command, branch).await,
            }
        };
        done.instrument(span.clone()).await;
        let took = began.elapsed();
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        span.in_scope(|| match took > SLOW_ACTION {
            true => warn!(ms, "action was slow"),
            false => debug!(ms, "action done"),
        });
    }

    async fn tell(&self, input: PoolInput) {
        if let Err(error) = self.ground.pool.tell(input).await {
            // A pool that is gone takes the server with it.
            debug!(cause = %error, "the pool is gone and hears nothing");
        }
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
