//! Lands a tested commit on a local branch by compare-and-swap, and brings along the files of a checkout on it.
//!
//! Files first, then the branch, as in a merge: what a death in between has left is noted, and undone by the next
//! landing or the next server (`merge::pending`). A person's other changes in the checkout stay, staged or not.

use std::collections::BTreeSet;
use std::path::PathBuf;

use musher_os::fail;
use musher_os::untrusted::{self, Kind};
use serde::Serialize;
use tracing::debug;

use crate::call::WRITE_CALL_TIMEOUT;
use crate::error::FirstFiles;
use crate::head::Operation;
use crate::hold::Hold;
use crate::merge::files::NameChanges;
use crate::name::{Branch, Commit, TreeId};
use crate::refs::Expected;
use crate::shadow::Shadow;
use crate::snapshot::known_changes;
use crate::status::StatusEntry;
use crate::{Checkout, Git, GitError};

/// How often a landing is begun anew because its branch was locked for a moment.
const MAX_LAND_TRIES: u32 = 5;

/// What is to land, and what was known of it when it was tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    pub branch: Branch,
    /// Where the branch is expected to be.
    pub base: Commit,
    pub commit: Commit,
    /// The tree that was tested.
    pub tree: TreeId,
}

/// What became of a landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum LandOutcome {
    /// The branch was moved to the commit.
    Landed,
    /// The branch already was at the commit, or has it in its history: an earlier landing died before it was told.
    AlreadyLanded { tip: Commit },
    /// The branch is somewhere else; nothing was changed.
    BaseMoved { tip: Commit },
    /// Nothing was changed.
    Refused(LandRefusal),
}

/// Why a landing is refused although the branch is where it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum LandRefusal {
    /// A person has changed files in the checkout that the commit changes too.
    Overlap { path: PathBuf, files: FirstFiles },
    /// Files that git does not know stand where the commit brings something.
    InTheWay { path: PathBuf, files: FirstFiles },
    /// The checkout is in the middle of something.
    Busy { path: PathBuf, operation: Operation },
    /// The commit does not have the tree that was tested.
    WrongTree { found: TreeId },
    /// The base is not on the first-parent line of the commit.
    NotOnBase,
    /// The remote does not take it, in its own words: the branch is protected, or a hook of the remote refuses.
    Rejected { said: String },
}

impl Git {
    /// Moves a branch from the base to the tested commit, and brings along the files of the checkout that is on it. The
    /// same call after a death in its middle finishes it, or tells that it was done.
    pub async fn land(&self, landing: &Landing) -> Result<LandOutcome, GitError> {
        self.check_queue().await?;
        let _turn = self.inner.merging.acquire().await;
        let hold = self.hold("merge").await?;
        self.undo_held(&hold).await?;
        let mut attempt = 1;
        loop {
            match self.try_land(&hold, landing).await {
                Err(error @ GitError::Moved { .. }) if attempt < MAX_LAND_TRIES => {
                    debug!(attempt, branch = %landing.branch, cause = %error, "landing again");
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    /// Moves a branch forward to a commit that contains its tip, such as one that its remote has; one that went another
    /// way is told as moved.
    pub async fn fast_forward(
        &self,
        branch: &Branch,
        to: &Commit,
    ) -> Result<LandOutcome, GitError> {
        let _turn = self.inner.merging.acquire().await;
        let hold = self.hold("merge").await?;
        self.undo_held(&hold).await?;
        self.check_commit(to).await?;
        let tip = self.resolve(branch).await?;
        if self.contains(&tip, to).await? {
            return Ok(LandOutcome::AlreadyLanded { tip });
        }
        match self.contains(to, &tip).await? {
            true => self.advance(&hold, branch, &tip, to).await,
            false => Ok(LandOutcome::BaseMoved { tip }),
        }
    }

    async fn try_land(&self, hold: &Hold, landing: &Landing) -> Result<LandOutcome, GitError> {
        let Landing { branch, base, commit, .. } = landing;
        let tip = match self.check_commit_with(commit, branch).await? {
            Some(tip) => tip,
            None => self.resolve(branch).await?,
        };
        if tip != *base || tip == *commit {
            return Ok(match self.contains(&tip, commit).await? {
                true => LandOutcome::AlreadyLanded { tip },
                false => LandOutcome::BaseMoved { tip },
            });
        }
        match self.unfit_to_land(landing).await? {
            Some(refusal) => Ok(LandOutcome::Refused(refusal)),
            None => self.advance(hold, branch, base, commit).await,
        }
    }

    /// Looks again at what was tested: the tree of the commit, and that its first-parent line reaches the base.
    pub(super) async fn unfit_to_land(
        &self,
        landing: &Landing,
    ) -> Result<Option<LandRefusal>, GitError> {
        let Landing { base, commit, tree, .. } = landing;
        let shadow = Shadow::of_objects(self).await?;
        let call = shadow.call().args(["rev-list", "--first-parent", "--no-commit-header"]);
        let call = call.args(["--format=%T %P", &format!("^{base}"), commit.as_str()]);
        let lines = self.commit_lines(call.limit(WRITE_CALL_TIMEOUT)).await?;
        // The first line is the commit. The last is the first on its line that the base does not have, and it must stand
        // on the base itself; there is none if the base has them all.
        let word = |line: Option<&String>, at: usize| {
            line.and_then(|line| line.split(' ').nth(at)).map(str::to_owned)
        };
        if word(lines.last(), 1).as_deref() != Some(base.as_str()) {
            return Ok(Some(LandRefusal::NotOnBase));
        }
        let found = TreeId::new(word(lines.first(), 0).unwrap_or_default())?;
        Ok((found != *tree).then_some(LandRefusal::WrongTree { found }))
    }

    /// Brings along the files of the checkout on a branch, and moves the branch.
    async fn advance(
        &self,
        hold: &Hold,
        branch: &Branch,
        from: &Commit,
        to: &Commit,
    ) -> Result<LandOutcome, GitError> {
        let is_there =
            |checkout: &Checkout| matches!(untrusted::kind(&checkout.root), Ok(Some(Kind::Folder)));
        // One whose folder was removed by hand is nowhere.
        let holder = self.checkout_on(branch).await?.filter(is_there);
        if let Some(checkout) = &holder
            && let Some(refusal) = self.bring_along(checkout, hold, branch, from, to).await?
        {
            return Ok(LandOutcome::Refused(refusal));
        }
        fail::point("merge_files");
        let at = holder.clone().unwrap_or_else(|| self.main());
        let why = format!("musher: land {}", to.short());
        let moved = self.move_ref(&at, &branch.full(), to, Expected::At(from), &why).await;
        if let Err(error) = moved {
            if let Some(checkout) = &holder {
                self.take_files_back(checkout, hold, from, to).await?;
                self.forget_merge()?;
            }
            return Err(error);
        }
        fail::point("merge_moved");
        self.forget_merge()?;
        let now = self.resolve(branch).await?;
        if !self.contains(&now, to).await? {
            let why = format!("the branch is at {now}");
            return Err(GitError::Unverified { branch: branch.clone(), tip: to.clone(), why });
        }
        self.settle().await?;
        Ok(LandOutcome::Landed)
    }

    /// Makes the files of a checkout those of a commit where it differs from the last one; tells what is against it.
    async fn bring_along(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        branch: &Branch,
        from: &Commit,
        to: &Commit,
    ) -> Result<Option<LandRefusal>, GitError> {
        let path = checkout.root.clone();
        if let Some(operation) = self.operation(checkout) {
            return Ok(Some(LandRefusal::Busy { path, operation }));
        }
        let shadow = self.around(checkout, from).await?;
        let status = known_changes(&shadow).await?;
        let changes = NameChanges::of(&shadow, from, to).await?;
        let paths: BTreeSet<&[u8]> = changes.paths().collect();
        let overlapping = |entry: &&StatusEntry| match entry {
            StatusEntry::Unmerged { .. } => true,
            StatusEntry::Changed { path, .. } => overlaps(path.as_bytes(), &paths),
            StatusEntry::Untracked { .. } => false,
        };
        let files: FirstFiles =
            status.entries.iter().filter(overlapping).map(|entry| entry.path().clone()).collect();
        if !files.named.is_empty() {
            return Ok(Some(LandRefusal::Overlap { path, files }));
        }
        match self.carry_files(checkout, hold, branch, (from, to), &changes).await {
            Ok(()) => Ok(None),
            // Somebody saved a file since the look at it.
            Err(GitError::Dirty { path, files }) => Ok(Some(LandRefusal::Overlap { path, files })),
            Err(GitError::InTheWay { path, files }) => {
                Ok(Some(LandRefusal::InTheWay { path, files }))
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether a path is among others, lies beneath one of them, or has one of them beneath it.
fn overlaps(path: &[u8], changes: &BTreeSet<&[u8]>) -> bool {
    let above = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
    let beneath = [path, b"/"].concat();
    let next = changes.range(&beneath[..]..).next();
    changes.contains(path)
        || above.into_iter().any(|above| changes.contains(above))
        || next.is_some_and(|next| next.starts_with(&beneath))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_overlaps_itself_and_what_is_above_and_beneath_it() {
        let changes: BTreeSet<&[u8]> = ["a/b", "a/bc", "d"].map(str::as_bytes).into();
        for path in ["a/b", "a", "d/e", "d"] {
            assert!(overlaps(path.as_bytes(), &changes), "{path}");
        }
        for path in ["a/c", "b", "de", "a/bcd"] {
            assert!(!overlaps(path.as_bytes(), &changes), "{path}");
        }
    }
}
