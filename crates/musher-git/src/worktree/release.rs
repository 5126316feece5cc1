//! Takes a slot from a story that is archived, so that the next one waits for as little as can be.

use super::{Keeping, SlotId, WorktreeError, WorktreeSlots};
use crate::{Branch, Checkout, Commit, GitError, Ignored, RecoveryName, RecoveryRef};

impl WorktreeSlots {
    /// Keeps the work of a slot, as `keep_work` does, and turns its files to the tip of a branch, from which the next
    /// story is likely to start. HEAD is on no branch then. Whatever is not done here is done by the next `prepare`.
    pub async fn release(
        &self,
        slot: SlotId,
        name: &RecoveryName,
        base: &Branch,
    ) -> Result<Option<RecoveryRef>, WorktreeError> {
        let hold = self.hold(slot).await?;
        self.close_sandbox(slot).await?;
        let checkout = self.checkout(slot)?;
        if self.git.is_half_made(&checkout) {
            return Ok(None);
        }
        self.git.clear_odd_own(&checkout)?;
        let to = self.git.tip(base).await?;
        if let Some(to) = &to {
            self.git.give_head(&checkout, to)?;
        }
        let keeping = match self.keep_for_good(&checkout, name, to.as_ref()).await {
            // What holds up git in a worktree whose agent is gone holds no work, and there may be more than one.
            Err(WorktreeError::Git(GitError::Unfit(_))) => {
                self.git.clear_odd(&checkout).await?;
                self.keep_for_good(&checkout, name, to.as_ref()).await?
            }
            keeping => keeping?,
        };
        if let Some(to) = to {
            let turned = async {
                self.turn(&checkout, keeping.found, &hold, &to).await?;
                self.git.detach(&checkout, &to).await?;
                Ok(self.git.sync_checkout(&checkout).await?)
            };
            // With the work kept nothing can be lost, and whoever takes the slot is told what is wrong with it.
            if let Err(error) = self.turned(slot, turned.await).await {
                tracing::warn!(slot = slot.0, cause = %error, "worktree is kept, but not cleared");
            }
        }
        Ok(keeping.kept)
    }

    async fn keep_for_good<'a>(
        &'a self,
        checkout: &Checkout,
        name: &RecoveryName,
        safe: Option<&Commit>,
    ) -> Result<Keeping<'a>, WorktreeError> {
        let sight = self.git.sight(checkout, Ignored::ByWorktree).await?;
        self.keep_all(checkout, sight, name, safe).await
    }
}
