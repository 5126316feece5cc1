//! Keeps the work of a slot on a recovery ref, and makes the slot ready for the next story before that one waits for it.

use super::{ACTION_RETRY_DELAY, Performer, named};
use crate::supervisor::place::RunPlace;
use musher_core::pool::PoolInput;
use musher_core::{BranchRef, SlotId};
use musher_os::fail;
use tracing::{error, warn};

impl Performer {
    pub(super) async fn release(&self, slot: SlotId, branch: BranchRef) {
        fail::point("before_release");
        let name = match named(&branch) {
            Ok(name) => name,
            Err(error) => return error!(cause = error.message, "worktree is not cleared"),
        };
        let mut attempt = 0_u32;
        loop {
            let released = match &self.place {
                RunPlace::Here(here) => here.release(slot, &name).await,
            };
            let Err(error) = released else { break };
            attempt += 1;
            if attempt.is_power_of_two() {
                let cause = error.to_string();
                warn!(attempt, cause, "worktree could not be cleared, trying again");
            }
            tokio::time::sleep(ACTION_RETRY_DELAY).await;
        }
        fail::point("after_release");
        self.tell(PoolInput::Released { slot, branch }).await;
    }
}
