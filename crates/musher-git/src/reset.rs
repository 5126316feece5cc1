//! Makes the files of a checkout those of a commit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::call::WRITE_CALL_TIMEOUT;
use super::config::SettingsTrust;
use super::error::GitError;
use super::head::forget_operation;
use super::hold::Hold;
use super::listing::Listing;
use super::name::Commit;
use super::path::RelPath;
use super::shadow::{Index, Shadow};
use super::snapshot::CheckoutState;
use super::sweep::sweep;
use super::{Checkout, Git};

impl Git {
    /// Writes the files of a commit into a fresh worktree, with the filters that the user has set up.
    pub(crate) async fn populate(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        to: &Commit,
    ) -> Result<(), GitError> {
        let shadow =
            Shadow::of_files(self, SettingsTrust::User, checkout, Index::Real, Some(to)).await?;
        write_files(&shadow.held(hold), to).await
    }

    /// Resets a worktree in which an agent has worked: known files become those of a commit, all others go, save for
    /// the paths to keep. HEAD stays. What was found there spares git a look at the files that do not differ.
    pub(crate) async fn reset(
        &self,
        found: CheckoutState<'_>,
        checkout: &Checkout,
        hold: &Hold,
        to: &Commit,
        keep: &[RelPath],
    ) -> Result<(), GitError> {
        self.break_index_lock(checkout)?;
        forget_operation(&checkout.git_dir)?;
        let shadow = match found.turn(checkout, hold, to, keep).await? {
            Some(shadow) => shadow,
            None => {
                let own = Index::Real;
                let shadow =
                    Shadow::of_files(self, SettingsTrust::Hardened, checkout, own, Some(to));
                let shadow = shadow.await?.held(hold);
                Hidden::of(&shadow).await?.show_all(&shadow).await?;
                write_files(&shadow, to).await?;
                shadow
            }
        };
        sweep(&shadow, keep).await
    }

    /// Removes the lock that a killed agent left. The caller knows that nothing works in this checkout.
    pub(crate) fn break_index_lock(&self, checkout: &Checkout) -> Result<(), GitError> {
        for name in ["index.lock", "HEAD.lock"] {
            let lock: PathBuf = checkout.git_dir.join(name);
            match std::fs::remove_file(&lock) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(GitError::io(lock)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Makes all known files those of a commit, whatever they are. Only HEAD of the stand-in follows. Of the commands that do
/// this, `checkout` alone looks at the files with several threads. The caller syncs the index.
async fn write_files(shadow: &Shadow<'_>, to: &Commit) -> Result<(), GitError> {
    let call = shadow.call().unsynced_index();
    let call = call.args(["checkout", "--force", "--detach", "--quiet"]);
    let call = call.args(["--no-recurse-submodules", to.as_str(), "--"]);
    call.limit(WRITE_CALL_TIMEOUT).run().await.map(drop)
}

/// The files whose changes an index hides: work would be lost, or left for the next story.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    assumed: Vec<u8>,
    /// Files that the folder need not have, and has.
    skipped: Vec<u8>,
    /// Those that it does not have either, as in a sparse checkout.
    absent: Vec<u8>,
}

impl Hidden {
    pub(super) async fn of(shadow: &Shadow<'_>) -> Result<Self, GitError> {
        let mut hidden = Self::default();
        let root = shadow.files().map(Path::to_owned).unwrap_or_default();
        let there = |path: &[u8]| root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok();
        let mark = |paths: &mut Vec<u8>, path: &[u8]| {
            paths.extend_from_slice(path);
            paths.push(0);
        };
        for (path, listed) in Listing::of(shadow).await?.all() {
            if listed.assumed {
                mark(&mut hidden.assumed, path);
            }
            match listed.skipped {
                true if there(path) => mark(&mut hidden.skipped, path),
                true => mark(&mut hidden.absent, path),
                false => {}
            }
        }
        Ok(hidden)
    }

    /// Whether nothing that is there is hidden.
    pub(super) fn is_empty(&self) -> bool {
        self.assumed.is_empty() && self.skipped.is_empty()
    }

    /// Whether files are left out of the folder.
    pub(super) fn is_sparse(&self) -> bool {
        !self.absent.is_empty()
    }

    /// Takes away the marks of what is there. Whether the checkout is said to be a sparse one does not matter: anybody
    /// can say so, and a file that is there is somebody's work.
    pub(super) async fn show(self, shadow: &Shadow<'_>) -> Result<(), GitError> {
        let marks = [(self.assumed, "--no-assume-unchanged"), (self.skipped, "--no-skip-worktree")];
        for (paths, mark) in marks.into_iter().filter(|(paths, _)| !paths.is_empty()) {
            let call = shadow.call().args(["update-index", mark, "-z", "--stdin"]);
            call.input(paths).limit(WRITE_CALL_TIMEOUT).run().await?;
        }
        Ok(())
    }

    /// Takes away all marks; a sparse checkout gets its own again when its files are written.
    async fn show_all(mut self, shadow: &Shadow<'_>) -> Result<(), GitError> {
        self.skipped.append(&mut self.absent);
        self.show(shadow).await
    }
}
