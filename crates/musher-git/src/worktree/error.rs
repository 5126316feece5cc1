//! What can go wrong with a slot, each with the cause and the fix.

use std::path::PathBuf;

use musher_os::untrusted::Unfit;

use super::SlotId;
use crate::{Branch, GitError, RelPath};

/// An operation on a slot that was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(
        "the folder for worktrees {path} cannot be used: {source}; make it writable or name another"
    )]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("slot {slot} is empty: there is no worktree in {path}")]
    NoSlot { slot: SlotId, path: PathBuf },
    #[error("slot {slot} cannot be used: {why}")]
    Replaced { slot: SlotId, why: Unfit },
    #[error(
        "slot {slot} does not hold {branch}: {why}; start it from a branch or a commit instead"
    )]
    NotHolding { slot: SlotId, branch: Branch, why: String },
    #[error("the work in slot {slot} cannot be committed to {branch}, because {why}; {}", kept_at(kept.as_deref()))]
    Unfinished { slot: SlotId, branch: Branch, why: String, kept: Option<String> },
    #[error("{file} cannot be copied into the worktree: {why}; correct the list of files to copy")]
    Copy { file: RelPath, why: String },
    #[error("no place for sandboxes is known")]
    NoSandboxes,
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
}

impl WorktreeError {
    /// Whether the same call can succeed when it is made again, with nothing changed by a person.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Git(error) => error.is_retryable(),
            Self::Folder { .. }
            | Self::NoSlot { .. }
            | Self::Replaced { .. }
            | Self::NotHolding { .. }
            | Self::Unfinished { .. }
            | Self::Copy { .. }
            | Self::NoSandboxes
            | Self::Io { .. } => false,
        }
    }

    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

fn kept_at(kept: Option<&str>) -> String {
    match kept {
        Some(name) => format!("it is kept on {name}"),
        None => "all of it is on other branches".to_owned(),
    }
}
