//! Worktrees in which only checks run: turned from commit to commit, and looked over after each check run.
//!
//! No agent works in one, so what is found there is no work and is not kept. What a check run leaves goes when the
//! worktree is turned, save for the paths that slots keep, such as build caches.

use musher_os::untrusted;
use serde::Serialize;

use super::{PreparedSlot, SlotId, SlotStart, WorktreeError, WorktreeSlots};
use crate::error::FirstFiles;
use crate::{Checkout, CheckoutHead, Commit, GitError, Hold, Ignored, RecoveryName};

/// What a look at a check worktree has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CheckWorktreeState {
    /// HEAD and all known files are those of the commit: it is what was tested.
    Clean,
    /// Something was changed. HEAD is told if it is another one, on a branch, or in the middle of something.
    Unclean { head: Option<Commit>, files: FirstFiles },
}

impl WorktreeSlots {
    /// Turns a slot to a commit, on no branch, for a check run. Known files are exactly those of the commit; all others
    /// go, save for the paths that slots keep. The same call after a crash in its middle succeeds. A slot that an agent
    /// had is emptied only after its work was kept.
    pub async fn prepare_check(
        &self,
        slot: SlotId,
        to: &Commit,
    ) -> Result<PreparedSlot, WorktreeError> {
        let hold = self.hold(slot).await?;
        self.close_sandbox(slot).await?;
        let replaced = |why| WorktreeError::Replaced { slot, why };
        untrusted::folder(&self.folder).map_err(replaced)?;
        self.git.check_commit(to).await?;
        let checkout = self.checkout(slot).ok();
        if let Some(checkout) = &checkout {
            self.clear(checkout, &SlotStart::Commit(to.clone())).await?;
        }
        match checkout {
            Some(checkout) if self.git.is_half_made(&checkout) => self.discard(slot).await?,
            Some(checkout) if self.keep_if_held(slot, &checkout).await? => {
                let turned = match self.turn_check(slot, &checkout, &hold, to).await {
                    // What holds up git there holds no work.
                    Err(WorktreeError::Git(GitError::Unfit(_))) => {
                        self.git.clear_odd(&checkout).await?;
                        self.turn_check(slot, &checkout, &hold, to).await
                    }
                    turned => turned,
                };
                if self.turned(slot, turned).await? {
                    let path = self.path(slot);
                    return Ok(PreparedSlot { path, head: to.clone(), fresh: false });
                }
            }
            Some(_) | None => {}
        }
        self.make_check(slot, &hold, to).await
    }

    /// Looks whether HEAD and all known files of a check worktree are still exactly those of a commit. Nothing may run
    /// in it any more.
    pub async fn inspect_check(
        &self,
        slot: SlotId,
        commit: &Commit,
    ) -> Result<CheckWorktreeState, WorktreeError> {
        let _hold = self.hold(slot).await?;
        let checkout = self.checkout(slot)?;
        let found = self.git.head(&checkout).await?;
        let same = matches!(&found, CheckoutHead::Detached { commit: at } if at == commit)
            && self.git.operation(&checkout).is_none();
        let files = self.git.differences(&checkout, commit, &index_name(slot)).await?;
        Ok(match same && files.is_empty() {
            true => CheckWorktreeState::Clean,
            false => CheckWorktreeState::Unclean {
                head: found.commit().filter(|_| !same).cloned(),
                files: files.into_iter().collect(),
            },
        })
    }

    /// Keeps the work of a slot that is on a branch, and so was an agent's. Says whether the slot can be turned; one
    /// that git cannot make sense of is set aside with its files.
    async fn keep_if_held(&self, slot: SlotId, checkout: &Checkout) -> Result<bool, WorktreeError> {
        let branch = match self.git.head(checkout).await {
            Ok(CheckoutHead::On { branch, .. }) => branch,
            Ok(CheckoutHead::Detached { .. } | CheckoutHead::Unborn) => return Ok(true),
            // A HEAD that is none leads to no branch.
            Err(GitError::Failed { .. } | GitError::Unexpected { .. }) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let kept = async {
            let sight = self.git.sight(checkout, Ignored::ByWorktree).await?;
            self.keep_all(checkout, sight, &RecoveryName::of(&branch), None).await
        };
        match kept.await.map(|keeping| keeping.kept) {
            Ok(None) => Ok(true),
            Ok(Some(kept)) => {
                tracing::info!(slot = slot.0, kept = kept.name, "kept work before a check run");
                Ok(true)
            }
            Err(WorktreeError::Git(
                GitError::Failed { .. } | GitError::Unexpected { .. } | GitError::Unfit(_),
            )) => {
                self.set_aside(slot).await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn turn_check(
        &self,
        slot: SlotId,
        checkout: &Checkout,
        hold: &Hold,
        to: &Commit,
    ) -> Result<(), WorktreeError> {
        self.git.point(checkout)?;
        let (keep, name) = (&self.files.keep, index_name(slot));
        self.git.turn_exactly(checkout, hold, to, keep, &name).await?;
        self.git.sync_links(checkout).await?;
        Ok(self.git.sync_checkout(checkout).await?)
    }

    /// Writes a check worktree anew.
    async fn make_check(
        &self,
        slot: SlotId,
        hold: &Hold,
        to: &Commit,
    ) -> Result<PreparedSlot, WorktreeError> {
        let path = self.path(slot);
        self.set_aside(slot).await?;
        let made = async {
            let checkout = self.git.add_worktree(&path, to).await?;
            self.git.populate(&checkout, hold, to).await?;
            self.git.sync_links(&checkout).await?;
            self.git.sync_checkout(&checkout).await?;
            self.git.keep_index(&checkout, &index_name(slot))?;
            self.git.finish_worktree(&checkout)
        };
        let made: Result<(), GitError> = made.await;
        if let Err(error) = made {
            // The first failure is the one to tell.
            if let Err(error) = self.discard(slot).await {
                tracing::warn!(slot = slot.0, cause = %error, "half-made worktree is left");
            }
            return Err(error.into());
        }
        Ok(PreparedSlot { path, head: to.clone(), fresh: true })
    }
}

/// The name of the index that is kept for a slot.
fn index_name(slot: SlotId) -> String {
    format!("check-{slot}")
}
