//! The only caller of git: every call with a hardened environment, typed results and a time limit.
//!
//! No call sees the settings of the repository, because an agent can write them (`standin`). *Plain* calls read and move
//! references where they are. Whatever touches contents (status, checkout, snapshot, diff, merge) runs in a `shadow`,
//! with an index and a HEAD of its own. A file that would hold up git is found and named (`odd`).

mod call;
mod checked;
mod config;
mod contents;
mod diff;
mod enclosed;
mod env;
mod error;
mod head;
mod hold;
mod listing;
mod lock;
mod mend;
mod merge;
mod name;
mod odd;
mod open;
mod path;
pub mod queue;
mod refs;
mod registry;
mod reset;
mod shadow;
mod shallow;
mod snapshot;
mod standin;
mod status;
mod stored;
mod sweep;
mod traces;
pub mod worktree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use musher_os::untrusted::FOLDER;
use tokio::sync::Semaphore;

use self::call::Call;
use self::config::{Setting, SettingsTrust};
use self::odd::Places;
use self::shallow::FileStamp;
use self::standin::{DiskTraits, StandIn};

pub use self::contents::{CommitFile, ContentLimits};
pub use self::diff::{
    DiffLimits, DiffScope, FileStatus, GitDiff, GitDiffLine, GitFileDiff, GitHunk, LineKind,
};
pub use self::env::GitEnv;
pub use self::error::{FirstFiles, GitError};
pub use self::head::{CheckoutHead, Operation};
pub(crate) use self::hold::Hold;
pub use self::merge::{ConflictFile, MadeMerge, MergeForecast, Merged};
pub use self::name::{Author, BadName, Branch, Commit, RecoveryName, RecoveryRef, TreeId};
pub use self::path::{GitPath, RelPath};
pub(crate) use self::refs::Expected;
pub use self::registry::WorktreeEntry;
pub(crate) use self::snapshot::{CheckoutState, Ignored, UnreadCheckout};
pub use self::status::{Status, StatusEntry};
pub use self::traces::Traces;

/// A handle on one repository. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    /// Which git it is.
    version: (u32, u32),
    env: GitEnv,
    /// The checkout in which the person works.
    root: PathBuf,
    git_dir: PathBuf,
    /// What all worktrees share: settings, references, objects.
    common: PathBuf,
    /// A private folder for stand-ins.
    scratch: PathBuf,
    /// The repository's settings when it was opened, of which few are passed on.
    settings: Vec<Setting>,
    /// What the repository's disk can do.
    disk: DiskTraits,
    /// What calls are given in the place of the repository's own settings.
    stand_in: StandIn,
    /// When the ends of a shallow history were last looked at.
    ends: tokio::sync::Mutex<FileStamp>,
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

    /// The folder of git that all worktrees share.
    pub fn common(&self) -> &Path {
        &self.inner.common
    }

    /// Returns when all that was written to the repository, by whomever, is on its disk. Git leaves that to chance, and
    /// after a loss of power a branch could stand for an empty file.
    pub async fn settle(&self) -> Result<(), GitError> {
        let common = self.inner.common.clone();
        let settling = tokio::task::spawn_blocking(move || {
            let folder = rustix::fs::open(&common, FOLDER, rustix::fs::Mode::empty());
            let settled = folder.and_then(rustix::fs::syncfs);
            settled.map_err(|errno| GitError::io(common)(errno.into()))
        });
        settling.await.unwrap_or_else(|error| Err(GitError::io(self.root())(error.into())))
    }

    /// A call on the repository itself, for references.
    fn plain(&self, checkout: &Checkout) -> Call {
        let Inner { program, env, root, common, stand_in, .. } = &*self.inner;
        Call::new(program, env, root)
            .places(Places { files: None, ..self.places(checkout) })
            .env("GIT_DIR", &checkout.git_dir)
            .env("GIT_COMMON_DIR", stand_in.path())
            .env("GIT_OBJECT_DIRECTORY", common.join("objects"))
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_AUTHOR_NAME", "Musher")
            .env("GIT_AUTHOR_EMAIL", "musher@localhost")
            .env("GIT_COMMITTER_NAME", "Musher")
            .env("GIT_COMMITTER_EMAIL", "musher@localhost")
    }
}
