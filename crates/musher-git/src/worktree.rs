//! The folders in which agents work, one per story, and what becomes of them.
//!
//! A slot is a worktree that outlives its story: making one anew writes every file, recycling one writes only those that
//! differ. Before anything in a slot is reset or removed, work that is on no branch is put on a recovery ref.

mod apart;
mod check;
mod copy;
mod error;
mod prepare;
mod reconcile;
mod release;
mod remove;
mod sandboxed;

use std::path::{Path, PathBuf};

use musher_core::SlotId;
use musher_os::untrusted;

use self::apart::Lanes;
use crate::{
    Author, Branch, Checkout, CheckoutHead, CheckoutState, Commit, DiffLimits, Git, GitDiff, Hold,
    Ignored, RecoveryName, RecoveryRef, RelPath, UnreadCheckout,
};

pub use self::apart::Lane;
pub use self::check::CheckWorktreeState;
pub use self::error::WorktreeError;
pub use self::reconcile::Reconciled;
pub(crate) use self::remove::remove_tree;
pub use self::sandboxed::SandboxPlaces;

/// What a slot starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotStart {
    /// The tip of a branch.
    Base { branch: Branch },
    /// A commit, such as the snapshot of another slot.
    Commit(Commit),
    /// What is in the slot already: it holds this story's branch. If the worktree is gone, the tip of the branch.
    Keep,
}

/// A slot that is ready for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedSlot {
    pub path: PathBuf,
    pub head: Commit,
    /// Every file was written anew; nothing is left of build caches.
    pub fresh: bool,
}

/// Which files of a slot are treated in a special way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlotFiles {
    /// What survives when a slot is recycled, though git ignores it: build caches.
    pub keep: Vec<RelPath>,
    /// What is copied from the main checkout, such as `.env`. These never go into a commit of Musher.
    pub copy: Vec<RelPath>,
}

/// What keeping the work of a slot has shown.
struct Keeping<'a> {
    kept: Option<RecoveryRef>,
    found: CheckoutState<'a>,
}

/// All slots of one repository.
#[derive(Debug, Clone)]
pub struct WorktreeSlots {
    git: Git,
    folder: PathBuf,
    files: SlotFiles,
    lanes: Lanes,
    /// Absent where no agent is in a sandbox.
    sandboxes: Option<SandboxPlaces>,
}

/// No HEAD that names a branch is longer.
const MAX_SLOT_HEAD_BYTES: u64 = 4096;

impl WorktreeSlots {
    /// The slots in a folder, which is made if need be.
    pub fn new(git: Git, folder: &Path, files: SlotFiles) -> Result<Self, WorktreeError> {
        let unusable = |source| WorktreeError::Folder { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(unusable)?;
        // Git writes whole paths into its register, and compares them as text.
        let folder = folder.canonicalize().map_err(unusable)?;
        Ok(Self { git, folder, files, lanes: Lanes::default(), sandboxes: None })
    }

    /// The repository.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Where a slot is.
    pub fn path(&self, slot: SlotId) -> PathBuf {
        self.folder.join(slot.to_string())
    }

    /// Where a slot is, if its files are those of this branch. Only files are read, so it is quick.
    pub fn holding(&self, slot: SlotId, branch: &str) -> Option<PathBuf> {
        let checkout = self.checkout(slot).ok()?;
        let head = untrusted::read(&checkout.git_dir().join("HEAD"), MAX_SLOT_HEAD_BYTES).ok()?;
        let on = head.trim_ascii_end().strip_prefix(b"ref: refs/heads/")?;
        (on == branch.as_bytes()).then(|| self.path(slot))
    }

    /// Waits until nobody is at work in a slot, a git that an earlier Musher left included.
    async fn hold(&self, slot: SlotId) -> Result<Hold, WorktreeError> {
        Ok(self.git.hold(&format!("slot-{slot}")).await?)
    }

    /// The checkout in a slot. A link in its place, or on the way to it, leads to the files of somebody else.
    fn checkout(&self, slot: SlotId) -> Result<Checkout, WorktreeError> {
        let path = self.path(slot);
        match untrusted::folder(&path) {
            Ok(_) => {}
            Err(why) if why.is_missing() => return Err(WorktreeError::NoSlot { slot, path }),
            Err(why) => return Err(WorktreeError::Replaced { slot, why }),
        }
        self.git.checkout_at(&path).ok_or(WorktreeError::NoSlot { slot, path })
    }

    /// Commits what the agent left uncommitted to the story's branch; `None` if there is nothing. The agent is dead.
    /// All that the branch holds is on the disk afterwards.
    pub async fn finish(
        &self,
        slot: SlotId,
        branch: &Branch,
        message: &str,
        author: &Author,
    ) -> Result<Option<Commit>, WorktreeError> {
        let _hold = self.hold(slot).await?;
        self.bring_over(slot).await?;
        let checkout = self.checkout(slot)?;
        if self.git.is_torn(&checkout)
            && let Some(tip) = self.git.tip(branch).await?
        {
            self.git.mend_checkout(&checkout, branch, &tip).await?;
        }
        let head = self.git.head(&checkout).await?;
        let why = self.unfinished(&checkout, branch, &head);
        if let Some(why) = why {
            let kept = self.keep_work(slot, &RecoveryName::of(branch)).await?;
            let kept = kept.map(|kept| kept.name);
            return Err(WorktreeError::Unfinished { slot, branch: branch.clone(), why, kept });
        }
        let has_commits = !head.commit().is_some_and(|commit| self.git.is_main_head(commit));
        let commit =
            self.git.commit_all(&checkout, head, message, author, &self.files.copy).await?;
        // The agent's own commits are as much worth as ours. A sync of the whole disk for nothing would hold up all others.
        if commit.is_some() || has_commits {
            self.git.settle().await?;
        }
        Ok(commit)
    }

    /// Why a commit would not land where it should.
    fn unfinished(
        &self,
        checkout: &Checkout,
        branch: &Branch,
        head: &CheckoutHead,
    ) -> Option<String> {
        if let Some(operation) = self.git.operation(checkout) {
            return Some(format!("it is in the middle of a {operation}"));
        }
        match head {
            CheckoutHead::On { branch: on, .. } if on == branch => None,
            CheckoutHead::On { branch: on, .. } => Some(format!("it is on {on}")),
            CheckoutHead::Detached { .. } => Some("it is on no branch".to_owned()),
            CheckoutHead::Unborn => Some("it has no commit".to_owned()),
        }
    }

    /// Puts the work of a slot on a recovery ref, if anything in it is uncommitted or its commits are on no other
    /// branch; `None` if nothing can be lost.
    pub async fn keep_work(
        &self,
        slot: SlotId,
        name: &RecoveryName,
    ) -> Result<Option<RecoveryRef>, WorktreeError> {
        self.bring_over(slot).await?;
        let checkout = self.checkout(slot)?;
        let sight = self.git.sight(&checkout, Ignored::ByWorktree).await?;
        Ok(self.keep_all(&checkout, sight, name, None).await?.kept)
    }

    /// The same; `safe` is a commit that can be reached whatever becomes of the slot.
    async fn keep_all<'a>(
        &'a self,
        checkout: &Checkout,
        sight: UnreadCheckout<'a>,
        name: &RecoveryName,
        safe: Option<&Commit>,
    ) -> Result<Keeping<'a>, WorktreeError> {
        let found = self.git.unsaved_work(checkout, sight, &self.files.copy).await?;
        let kept = match (&found.work, found.head.commit()) {
            (Some(work), _) => Some(self.put_away(name, work).await?),
            (None, Some(commit)) if safe == Some(commit) => None,
            (None, Some(commit)) => self.keep_commit(name, commit, found.head.branch()).await?,
            (None, None) => None,
        };
        Ok(Keeping { kept, found })
    }

    /// Puts a commit on a recovery ref, if it could not be reached once its branch is gone.
    async fn keep_commit(
        &self,
        name: &RecoveryName,
        commit: &Commit,
        moving: Option<&Branch>,
    ) -> Result<Option<RecoveryRef>, WorktreeError> {
        match self.git.is_kept_without(commit, moving).await? {
            true => Ok(None),
            false => Ok(Some(self.put_away(name, commit).await?)),
        }
    }

    /// Puts a commit on a recovery ref, which is on the disk before anything else is done.
    async fn put_away(
        &self,
        name: &RecoveryName,
        commit: &Commit,
    ) -> Result<RecoveryRef, WorktreeError> {
        let kept = self.git.recovery_ref(name, commit).await?;
        self.git.settle().await?;
        Ok(kept)
    }

    /// A commit of everything in a slot, for a fork; nothing in the slot changes.
    pub async fn snapshot(&self, slot: SlotId) -> Result<Commit, WorktreeError> {
        self.bring_over(slot).await?;
        Ok(self.git.snapshot(&self.checkout(slot)?, &self.files.copy).await?)
    }

    /// What a slot changes since its branch left another, uncommitted and untracked work included.
    pub async fn diff(
        &self,
        slot: SlotId,
        base: &Branch,
        limits: DiffLimits,
    ) -> Result<GitDiff, WorktreeError> {
        self.bring_over(slot).await?;
        let checkout = self.checkout(slot)?;
        let base = self.git.resolve(base).await?;
        Ok(self.git.diff_worktree(&checkout, &base, &self.files.copy, limits).await?)
    }
}
