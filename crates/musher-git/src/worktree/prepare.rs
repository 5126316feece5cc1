//! Makes a slot ready for an agent: whole or not at all, and again after any crash.
//!
//! HEAD is put on the story's branch last. Until then a worktree that is being made is locked, and one that is being
//! recycled has HEAD on no branch; so a slot whose HEAD is on the branch is whole, and any other is begun anew.

use musher_os::untrusted;

use super::{PreparedSlot, SlotId, SlotStart, WorktreeError, WorktreeSlots};
use crate::{
    Branch, Checkout, CheckoutHead, CheckoutState, Commit, Expected, GitError, Hold, Ignored,
    RecoveryName, UnreadCheckout,
};

impl WorktreeSlots {
    /// Makes a slot ready: at the start, on the branch. The same call after a crash in its middle succeeds and loses
    /// nothing; a call that fails leaves no branch, no folder and no entry behind.
    pub async fn prepare(
        &self,
        slot: SlotId,
        branch: &Branch,
        start: &SlotStart,
    ) -> Result<PreparedSlot, WorktreeError> {
        let hold = self.hold(slot).await?;
        if *start == SlotStart::Keep {
            self.bring_over(slot).await?;
            return self.keep(slot, &hold, branch).await;
        }
        self.close_sandbox(slot).await?;
        // What stands in the place of the slot is set aside; in the place of all slots it cannot be.
        let replaced = |why| WorktreeError::Replaced { slot, why };
        untrusted::folder(&self.folder).map_err(replaced)?;
        let checkout = self.checkout(slot).ok();
        if let Some(checkout) = &checkout {
            self.clear(checkout, start).await?;
        }
        let half_made = checkout.as_ref().is_some_and(|it| self.git.is_half_made(it));
        let used = checkout.filter(|_| !half_made);
        let sight = async {
            match &used {
                Some(checkout) => {
                    Some((checkout, self.git.sight(checkout, Ignored::ByWorktree).await))
                }
                None => None,
            }
        };
        // Nothing hangs on the order of these but which refusal is told.
        let (target, free, sight) =
            tokio::join!(self.aim(branch, start), self.check_free(slot, branch), sight);
        let target = target?;
        free?;
        if half_made {
            self.discard(slot).await?;
        }
        if let Some((checkout, sight)) = sight
            && let Some(prepared) = self.recycle(slot, checkout, sight, &hold, &target).await?
        {
            return Ok(prepared);
        }
        self.make(slot, &hold, &target).await
    }

    /// Takes away what would hold up git in a slot that is about to be cleared.
    pub(super) async fn clear(
        &self,
        checkout: &Checkout,
        start: &SlotStart,
    ) -> Result<(), WorktreeError> {
        self.git.clear_odd_own(checkout)?;
        if untrusted::kind(&checkout.git_dir().join("HEAD")).is_ok_and(|kind| kind.is_none()) {
            let base = match start {
                SlotStart::Base { branch } => self.git.resolve(branch).await?,
                SlotStart::Commit(commit) => commit.clone(),
                SlotStart::Keep => return Ok(()),
            };
            self.git.give_head(checkout, &base)?;
        }
        Ok(())
    }

    /// Where a slot is to stand, and where its branch is now.
    async fn aim<'a>(
        &self,
        branch: &'a Branch,
        start: &SlotStart,
    ) -> Result<Target<'a>, WorktreeError> {
        let base = matches!(start, SlotStart::Base { branch: base } if base != branch);
        let (to, had) = match start {
            SlotStart::Base { branch: base } => self.git.resolve_with(base, branch).await?,
            SlotStart::Commit(commit) => {
                (commit.clone(), self.git.check_commit_with(commit, branch).await?)
            }
            SlotStart::Keep => self.git.resolve_with(branch, branch).await?,
        };
        Ok(Target { branch, to, had, base })
    }

    /// The slot as it is.
    async fn keep(
        &self,
        slot: SlotId,
        hold: &Hold,
        branch: &Branch,
    ) -> Result<PreparedSlot, WorktreeError> {
        let found = match self.checkout(slot) {
            // Whoever was led elsewhere did not work there, and must not go on there.
            Err(error @ WorktreeError::Replaced { .. }) => return Err(error),
            found => found.ok().filter(|found| !self.git.is_half_made(found)),
        };
        let checkout = match (found, self.git.tip(branch).await?) {
            (Some(checkout), Some(tip)) => {
                self.git.mend_checkout(&checkout, branch, &tip).await?;
                checkout
            }
            (Some(checkout), None) => checkout,
            // Somebody removed the worktree, or a loss of power did; what the branch holds is still there.
            (None, Some(tip)) => {
                self.check_free(slot, branch).await?;
                let target = Target { branch, to: tip.clone(), had: Some(tip), base: false };
                return self.make(slot, hold, &target).await;
            }
            (None, None) => self.checkout(slot)?,
        };
        let on = match self.git.head(&checkout).await? {
            CheckoutHead::On { branch: on, commit } if on == *branch => {
                // A killed agent's lock would make the next one fail.
                self.git.break_index_lock(&checkout)?;
                return Ok(PreparedSlot { path: self.path(slot), head: commit, fresh: false });
            }
            CheckoutHead::On { branch: on, .. } => format!("it is on {on}"),
            CheckoutHead::Detached { .. } | CheckoutHead::Unborn => "it is on no branch".to_owned(),
        };
        Err(WorktreeError::NotHolding { slot, branch: branch.clone(), why: on })
    }

    /// Refuses a branch that another checkout is on: two would move it under each other.
    async fn check_free(&self, slot: SlotId, branch: &Branch) -> Result<(), WorktreeError> {
        match self.git.holder(branch).await? {
            Some(path) if path != self.path(slot) => {
                Err(GitError::CheckedOut { branch: branch.clone(), path }.into())
            }
            _ => Ok(()),
        }
    }

    /// Turns a used slot to a new start; `None` if it is beyond that and its place is free for a new one.
    async fn recycle<'a>(
        &'a self,
        slot: SlotId,
        checkout: &Checkout,
        sight: Result<UnreadCheckout<'a>, GitError>,
        hold: &Hold,
        target: &Target<'_>,
    ) -> Result<Option<PreparedSlot>, WorktreeError> {
        let Target { to, base, .. } = target;
        let kept = async {
            let sight = sight?;
            let name = match sight.head.branch() {
                Some(branch) => RecoveryName::of(branch),
                None => self.slot_name(slot)?,
            };
            // The branch that the slot starts from has it.
            let safe = base.then_some(to);
            self.keep_all(checkout, sight, &name, safe).await.map(|keeping| keeping.found)
        };
        let found = match kept.await {
            Ok(found) => found,
            // Git cannot make sense of the worktree. Its files are all that can be saved.
            Err(WorktreeError::Git(
                GitError::Failed { .. } | GitError::Unexpected { .. } | GitError::Unfit(_),
            )) => {
                self.set_aside(slot).await?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let turned = async {
            self.detach(checkout, &found, to).await?;
            // The branch is set while the files are written: a process takes as long for the one as for many files.
            self.git.point(checkout)?;
            let reset = async { Ok(self.reset(checkout, found, hold, to).await?) };
            let links = async { Ok(self.git.sync_links(checkout).await?) };
            let (reset, set, links) = tokio::join!(reset, self.set_branch(target), links);
            reset.and(set).and(links)?;
            self.attach(checkout, target).await
        };
        match self.turned(slot, turned.await).await? {
            true => {
                Ok(Some(PreparedSlot { path: self.path(slot), head: to.clone(), fresh: false }))
            }
            false => Ok(None),
        }
    }

    /// Makes the files of a slot those of a commit; the work in it is kept. HEAD is on no branch afterwards.
    pub(super) async fn turn(
        &self,
        checkout: &Checkout,
        found: CheckoutState<'_>,
        hold: &Hold,
        to: &Commit,
    ) -> Result<(), WorktreeError> {
        self.detach(checkout, &found, to).await?;
        Ok(self.reset(checkout, found, hold, to).await?)
    }

    /// Takes a slot off its branch before its files change.
    async fn detach(
        &self,
        checkout: &Checkout,
        found: &CheckoutState<'_>,
        to: &Commit,
    ) -> Result<(), GitError> {
        match found.head {
            CheckoutHead::Detached { .. } => Ok(()),
            CheckoutHead::On { .. } | CheckoutHead::Unborn => {
                self.git.detach(checkout, found.head.commit().unwrap_or(to)).await
            }
        }
    }

    async fn reset(
        &self,
        checkout: &Checkout,
        found: CheckoutState<'_>,
        hold: &Hold,
        to: &Commit,
    ) -> Result<(), GitError> {
        self.git.reset(found, checkout, hold, to, &self.files.keep).await
    }

    /// Whether a slot could be turned; one that is beyond it is removed, because what was worth keeping is kept.
    pub(super) async fn turned(
        &self,
        slot: SlotId,
        turned: Result<(), WorktreeError>,
    ) -> Result<bool, WorktreeError> {
        match turned {
            Ok(()) => Ok(true),
            Err(WorktreeError::Git(GitError::Failed { .. } | GitError::Unexpected { .. })) => {
                self.discard(slot).await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a slot anew. What a failure leaves is taken away again.
    async fn make(
        &self,
        slot: SlotId,
        hold: &Hold,
        target: &Target<'_>,
    ) -> Result<PreparedSlot, WorktreeError> {
        let Target { branch, to, had, .. } = target;
        let path = self.path(slot);
        self.set_aside(slot).await?;
        let made = async {
            let checkout = self.git.add_worktree(&path, to).await?;
            let populated = async { Ok(self.git.populate(&checkout, hold, to).await?) };
            let links = async { Ok(self.git.sync_links(&checkout).await?) };
            let (populated, set, links) = tokio::join!(populated, self.set_branch(target), links);
            populated.and(set).and(links)?;
            self.attach(&checkout, target).await?;
            Ok(self.git.finish_worktree(&checkout)?)
        };
        let made: Result<(), WorktreeError> = made.await;
        if let Err(error) = made {
            // The first failure is the one to tell.
            if let Err(error) = self.discard(slot).await {
                tracing::warn!(slot = slot.0, cause = %error, "half-made worktree is left");
            }
            if had.is_none()
                && let Err(error) = self.git.delete_branch(branch, to).await
            {
                tracing::warn!(slot = slot.0, cause = %error, "branch of a failed start is left");
            }
            return Err(error);
        }
        Ok(PreparedSlot { path, head: to.clone(), fresh: true })
    }

    /// Puts the branch where it is to be; where it was before is kept.
    async fn set_branch(&self, target: &Target<'_>) -> Result<(), WorktreeError> {
        let Target { branch, to, had, .. } = target;
        if let Some(old) = had {
            self.keep_commit(&RecoveryName::of(branch), old, Some(branch)).await?;
        }
        let expected = had.as_ref().map_or(Expected::Absent, Expected::At);
        match self.git.set_branch(branch, to, expected).await {
            // Somebody moved it meanwhile, and what it holds now is kept as well.
            Err(GitError::Moved { .. }) => {
                if let Some(old) = self.git.tip(branch).await? {
                    self.keep_commit(&RecoveryName::of(branch), &old, Some(branch)).await?;
                }
                self.git.set_branch(branch, to, Expected::Anything).await?;
            }
            set => set?,
        }
        Ok(())
    }

    /// Puts the slot on its branch, which ends the preparation.
    async fn attach(&self, checkout: &Checkout, target: &Target<'_>) -> Result<(), WorktreeError> {
        self.git.attach(checkout, target.branch)?;
        Ok(self.git.sync_checkout(checkout).await?)
    }
}

/// Where a slot is to stand.
struct Target<'a> {
    branch: &'a Branch,
    to: Commit,
    /// Where the branch was before, if there was one.
    had: Option<Commit>,
    /// Another branch is there.
    base: bool,
}
