//! Where a checkout stands: on a branch, on none, before its first commit, or in the middle of something.

use std::fmt;
use std::path::Path;

use musher_os::untrusted;
use serde::Serialize;

use super::error::{FirstFiles, GitError};
use super::name::{Branch, Commit};
use super::{Checkout, Git};

/// No file that names a branch is longer.
const MAX_HEAD_FILE_BYTES: u64 = 64 << 10;

/// What HEAD of a checkout is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckoutHead {
    /// On a branch, at its tip.
    On { branch: Branch, commit: Commit },
    /// On no branch.
    Detached { commit: Commit },
    /// On a branch that has no commit, or at something that is no commit.
    Unborn,
}

impl CheckoutHead {
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            Self::On { commit, .. } | Self::Detached { commit } => Some(commit),
            Self::Unborn => None,
        }
    }

    pub fn branch(&self) -> Option<&Branch> {
        match self {
            Self::On { branch, .. } => Some(branch),
            Self::Detached { .. } | Self::Unborn => None,
        }
    }
}

/// What git can be in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Rebase,
    Merge,
    CherryPick,
    Revert,
    Bisect,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rebase => "rebase",
            Self::Merge => "merge",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
        })
    }
}

/// What git writes while it is in the middle of something.
const SIGNS: &[(&str, Operation)] = &[
    ("rebase-merge", Operation::Rebase),
    ("rebase-apply", Operation::Rebase),
    ("MERGE_HEAD", Operation::Merge),
    ("CHERRY_PICK_HEAD", Operation::CherryPick),
    ("REVERT_HEAD", Operation::Revert),
    ("BISECT_LOG", Operation::Bisect),
];

/// Whether a checkout is in the middle of something.
pub(super) fn operation(git_dir: &Path) -> Option<Operation> {
    SIGNS.iter().find(|(name, _)| git_dir.join(name).symlink_metadata().is_ok()).map(|(_, it)| *it)
}

/// The branch that a checkout has left for as long as it is in the middle of something, and will come back to.
pub(super) fn branch_under_way(git_dir: &Path) -> Option<Branch> {
    let read = |name: &str| untrusted::read(&git_dir.join(name), MAX_HEAD_FILE_BYTES).ok();
    let full = ["rebase-merge/head-name", "rebase-apply/head-name"].into_iter().find_map(read);
    match full {
        Some(full) => Branch::of_ref(full.trim_ascii_end()),
        None => Branch::new(String::from_utf8(read("BISECT_START")?).ok()?.trim_end()).ok(),
    }
}

/// The branch that a HEAD names, as far as its file tells; git alone knows where references are stored otherwise.
pub(super) fn branch_in_file(git_dir: &Path) -> Option<Named> {
    let text = untrusted::read(&git_dir.join("HEAD"), MAX_HEAD_FILE_BYTES).ok()?;
    match text.trim_ascii_end().strip_prefix(b"ref: ") {
        Some(b"refs/heads/.invalid") => Some(Named::Elsewhere),
        Some(full) => Branch::of_ref(full).map(Named::Branch),
        None => None,
    }
}

/// What a HEAD names.
pub(super) enum Named {
    Branch(Branch),
    /// References are not stored in files.
    Elsewhere,
}

/// Forgets what a checkout was in the middle of; its files and commits stay.
pub(super) fn forget_operation(git_dir: &Path) -> Result<(), GitError> {
    let more = ["MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG", "sequencer", "BISECT_START"];
    for name in SIGNS.iter().map(|(name, _)| *name).chain(more) {
        let path = git_dir.join(name);
        let gone = match path.symlink_metadata() {
            Err(_) => Ok(()),
            Ok(about) if about.is_dir() => std::fs::remove_dir_all(&path),
            Ok(_) => std::fs::remove_file(&path),
        };
        gone.map_err(GitError::io(path))?;
    }
    Ok(())
}

impl Git {
    /// Where HEAD of a checkout is.
    pub async fn head(&self, checkout: &Checkout) -> Result<CheckoutHead, GitError> {
        let ask = ["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"];
        let said = match self.plain(checkout).args(ask).run().await {
            Ok(output) => output.stdout,
            Err(GitError::Failed { said, .. }) if said.contains("unknown revision") => {
                return Ok(CheckoutHead::Unborn);
            }
            Err(error) => return Err(error),
        };
        let mut lines = said.split(|b| *b == b'\n');
        let wrong = || GitError::unexpected("rev-parse HEAD", &said);
        let commit = String::from_utf8_lossy(lines.next().unwrap_or_default());
        let commit = Commit::new(commit).map_err(|_| wrong())?;
        match lines.next() {
            Some(b"HEAD") => Ok(CheckoutHead::Detached { commit }),
            Some(full) => {
                let branch = Branch::of_ref(full).ok_or_else(wrong)?;
                Ok(CheckoutHead::On { branch, commit })
            }
            None => Err(wrong()),
        }
    }

    /// What a checkout is in the middle of.
    pub fn operation(&self, checkout: &Checkout) -> Option<Operation> {
        operation(&checkout.git_dir)
    }

    /// Refuses a checkout that is on no branch, in the middle of something, or has uncommitted changes to known files.
    pub async fn check_clean(&self, checkout: &Checkout) -> Result<Branch, GitError> {
        let path = checkout.root.clone();
        if let Some(operation) = self.operation(checkout) {
            return Err(GitError::Busy { path, operation });
        }
        let branch = match self.head(checkout).await? {
            CheckoutHead::On { branch, .. } => branch,
            CheckoutHead::Detached { .. } => return Err(GitError::Detached { path }),
            CheckoutHead::Unborn => return Err(GitError::Empty { path }),
        };
        let status = self.status(checkout).await?;
        let files: FirstFiles = status.known_changes().map(|entry| entry.path().clone()).collect();
        match files.named.is_empty() {
            true => Ok(branch),
            false => Err(GitError::Dirty { path, files }),
        }
    }
}
