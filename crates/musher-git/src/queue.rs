//! The git half of the merge queue: every step by code, each with a typed result.
//!
//! What lands is the commit that was tested: nothing is built after the test, and branches move by compare-and-swap
//! alone. Merges are made without a worktree, under the attributes of the base, so that a candidate decides neither how
//! it is merged nor which programs run. Whether something has landed is read from the branch and never remembered.

mod batch;
mod blame;
mod forecast;
mod land;
mod notes;
mod remote;
mod repair;
mod revert;

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::name::{Author, Commit, TreeId};
use crate::shadow::Shadow;
use crate::snapshot::commit_tree_by;
use crate::{Git, GitError};

pub use self::batch::{Batch, BatchCommit, BatchEntry, BatchMember};
pub use self::blame::LineOrigin;
pub use self::forecast::{Collision, QueueForecast};
pub use self::land::{LandOutcome, LandRefusal, Landing};
pub use self::remote::{RemoteAddress, RemoteBase};
pub use self::repair::{BothChanged, RepairFault, RepairReport};
pub use self::revert::RevertOutcome;

/// A moment in whole seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixSeconds(pub u64);

/// What a commit says. The date is the caller's, so that the same commit is made when it is made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitText {
    /// With its trailers.
    pub message: String,
    pub author: Author,
    pub date: UnixSeconds,
}

impl CommitText {
    /// Makes a commit of a tree, the same one each time.
    async fn commit(
        &self,
        shadow: &Shadow<'_>,
        tree: &TreeId,
        parents: &[&Commit],
    ) -> Result<Commit, GitError> {
        let date = format!("@{} +0000", self.date.0);
        let call = shadow.call().env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        // The user's own setting would go into the commit.
        let call = call.setting("i18n.commitEncoding=UTF-8");
        commit_tree_by(call, tree, parents, &self.message, &self.author).await
    }
}

impl Git {
    /// The lines that a call prints about commits.
    async fn commit_lines(&self, call: Call) -> Result<Vec<String>, GitError> {
        let list = call.run().await?.stdout;
        Ok(String::from_utf8_lossy(&list).lines().map(str::to_owned).collect())
    }
}
