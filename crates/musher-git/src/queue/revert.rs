//! Takes a landed commit out of the base again, by a commit that is tested and lands like any other.
//!
//! After a revert git holds the story's branch for merged: merging it again is clean, and lacks what was reverted. So the
//! next branch of the story begins with the revert of the revert, which the same call makes.

use serde::Serialize;

use super::{BatchCommit, CommitText};
use crate::merge::{ConflictFile, MergeForecast, MergeSides, merge_tree};
use crate::name::Commit;
use crate::shadow::Shadow;
use crate::snapshot::tree_of;
use crate::{Git, GitError};

/// What became of a revert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum RevertOutcome {
    /// A commit on top of the base without the changes. No branch is moved.
    Made(BatchCommit),
    /// Later changes are in its way.
    Conflicts { files: Vec<ConflictFile> },
    /// The base has none of the changes any more.
    Unchanged,
    /// The base does not have the commit.
    NotInBase,
    /// It is the first commit of its history, before which there is nothing.
    NoParent,
}

impl Git {
    /// Makes a commit on top of `base` that undoes what `undone` brought to its first parent. Of a merge that is the
    /// whole story; of a revert it is the story again, for the branch on which its next work begins.
    pub async fn revert(
        &self,
        base: &Commit,
        undone: &Commit,
        text: &CommitText,
    ) -> Result<RevertOutcome, GitError> {
        self.check_queue().await?;
        self.check_commit(base).await?;
        self.check_commit(undone).await?;
        if !self.contains(base, undone).await? {
            return Ok(RevertOutcome::NotInBase);
        }
        let shadow = Shadow::of_objects(self).await?;
        let call = shadow.call().args(["rev-list", "--no-walk", "--parents", undone.as_str()]);
        let line = call.line().await?;
        let Some(parent) = line.split(' ').nth(1) else {
            return Ok(RevertOutcome::NoParent);
        };
        let before = Commit::new(parent)?;
        let start = Some(undone);
        let sides = MergeSides { base, tip: &before, attributes: base, start };
        let tree = match merge_tree(&shadow, &sides).await? {
            MergeForecast::Clean { tree } => tree,
            MergeForecast::Conflicts { files } => return Ok(RevertOutcome::Conflicts { files }),
        };
        if tree == tree_of(&shadow, base).await? {
            return Ok(RevertOutcome::Unchanged);
        }
        let commit = text.commit(&shadow, &tree, &[base]).await?;
        Ok(RevertOutcome::Made(BatchCommit { commit, tree }))
    }
}
