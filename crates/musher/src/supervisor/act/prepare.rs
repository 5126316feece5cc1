//! Makes the worktree of a run ready, and says at which commit it stands.

use super::Performer;
use crate::supervisor::place::RunPlace;
use musher_core::pool::{PoolInput, SlotCondition};
use musher_core::{BranchRef, RunId, RunPlan, SlotId, WorktreeStart};
use musher_os::fail;
use tracing::error;

impl Performer {
    pub(super) async fn prepare(
        &self,
        run: RunId,
        plan: &RunPlan,
        (slot, branch, condition): (SlotId, BranchRef, SlotCondition),
        start: WorktreeStart,
    ) {
        fail::point("before_prepare");
        let prepared = match &self.place {
            RunPlace::Here(here) => match here.prepare(plan, slot, &branch, start).await {
                Ok(head) => Ok(head),
                Err(error) => {
                    here.undo(slot, &branch, condition).await;
                    Err(error)
                }
            },
        };
        let input = match prepared {
            Ok(head) => PoolInput::Prepared { run, head },
            Err(error) => {
                error!(cause = error.message, "worktree could not be prepared");
                PoolInput::PrepareFailed { run, error }
            }
        };
        fail::point("after_prepare");
        self.tell(input).await;
    }
}
