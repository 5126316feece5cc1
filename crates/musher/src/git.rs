//! The only caller of git: every call with a hardened environment, typed results and a time limit.
//!
//! Two kinds of calls exist. *Plain* ones read and move references and register worktrees; they touch no contents, so no
//! setting can make them start a program once hooks and monitors are off. Whatever touches contents (status, checkout,
//! snapshot, diff, merge) runs in a `shadow`, where the settings that an agent may have written are not in sight.

mod call;
mod config;
mod diff;
mod env;
mod error;
mod executed;
mod head;
mod hold;
mod listing;
mod mend;
mod merge;
mod name;
mod open;
mod path;
mod refs;
mod registry;
mod reset;
mod shadow;
mod snapshot;
mod status;
mod sweep;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;

use self::call::Call;
use self::config::{Setting, Trust};

pub use self::diff::{Diff, DiffLimits, DiffScope, FileDiff, FileStatus, Hunk, Line, LineKind};
pub use self::env::GitEnv;
pub use self::error::{Files, GitError};
pub use self::head::{Head, Operation};
pub(crate) use self::hold::Hold;
pub use self::merge::{ConflictFile, Merge, MergeCheck, Merged};
pub use self::name::{Author, BadName, Branch, Commit, RecoveryName, RecoveryRef, Tree};
pub use self::path::{GitPath, RelPath};
pub(crate) use self::refs::Expected;
pub use self::registry::Worktree;
pub(crate) use self::snapshot::{Found, Sight};
pub use self::status::{Status, StatusEntry};

/// A handle on one repository. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    env: GitEnv,
    /// The checkout in which the person works.
    root: PathBuf,
    git_dir: PathBuf,
    /// What all worktrees share: settings, references, objects.
    common: PathBuf,
    /// A private folder for stand-ins.
    scratch: PathBuf,
    /// The repository's settings when it was opened; an agent's later changes to them are not followed.
    settings: Vec<Setting>,
    /// Git reads the entries of all worktrees when it adds one, and stumbles over one that is half written.
    registry: Semaphore,
    /// Two merges into one checkout would take each other's half-done state for a person's changes.
    merging: Semaphore,
}

/// A folder with files of the repository: the main one, or a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    root: PathBuf,
    /// Where git keeps HEAD and the index of this checkout. It is given to git, because the file in the checkout that
    /// names it can be written by an agent.
    git_dir: PathBuf,
}

impl Checkout {
    /// The folder with the files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }
}

impl Git {
    /// The checkout in which the person works.
    pub fn main(&self) -> Checkout {
        Checkout { root: self.inner.root.clone(), git_dir: self.inner.git_dir.clone() }
    }

    /// The folder of the main checkout.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// Returns when all that was written to the repository, by whomever, is on its disk. Git leaves that to chance, and
    /// after a loss of power a branch could stand for an empty file.
    pub async fn settle(&self) -> Result<(), GitError> {
        let common = self.inner.common.clone();
        let settling = tokio::task::spawn_blocking(move || {
            let folder = std::fs::File::open(&common);
            let settled = folder.and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
            settled.map_err(GitError::io(common))
        });
        settling.await.unwrap_or_else(|error| Err(GitError::io(self.root())(error.into())))
    }

    /// A call on the repository itself, for references and the register of worktrees.
    fn plain(&self, checkout: &Checkout) -> Call {
        let Inner { program, env, root, common, .. } = &*self.inner;
        Call::new(program, env, root)
            .env("GIT_DIR", &checkout.git_dir)
            .env("GIT_COMMON_DIR", common)
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_AUTHOR_NAME", "Musher")
            .env("GIT_AUTHOR_EMAIL", "musher@localhost")
            .env("GIT_COMMITTER_NAME", "Musher")
            .env("GIT_COMMITTER_EMAIL", "musher@localhost")
    }
}
