//! Makes the files of a checkout those of a commit.

use std::path::PathBuf;

use super::call::WRITE;
use super::config::Trust;
use super::error::GitError;
use super::head::forget_operation;
use super::hold::Hold;
use super::listing::Listing;
use super::name::Commit;
use super::path::RelPath;
use super::shadow::{Index, Shadow};
use super::snapshot::Found;
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
        let shadow = Shadow::of_files(self, Trust::User, checkout, Index::Real, Some(to)).await?;
        write_files(&shadow.held(hold), to).await
    }

    /// Resets a worktree in which an agent has worked: known files become those of a commit, all others go, save for
    /// the paths to keep. HEAD stays. What was found there spares git a look at the files that do not differ.
    pub(crate) async fn reset(
        &self,
        found: Found<'_>,
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
                let shadow = Shadow::of_files(self, Trust::Hardened, checkout, own, Some(to));
                let shadow = shadow.await?.held(hold);
                Hidden::of(&shadow).await?.show(&shadow).await?;
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
    call.limit(WRITE).run().await.map(drop)
}

/// The files whose changes an index hides: work would be lost, or left for the next story.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    assumed: Vec<u8>,
    skipped: Vec<u8>,
}

impl Hidden {
    pub(super) async fn of(shadow: &Shadow<'_>) -> Result<Self, GitError> {
        let mut hidden = Self::default();
        for (path, listed) in Listing::of(shadow).await?.all() {
            let marks =
                [(listed.assumed, &mut hidden.assumed), (listed.skipped, &mut hidden.skipped)];
            for (_, paths) in marks.into_iter().filter(|(marked, _)| *marked) {
                paths.extend_from_slice(path);
                paths.push(0);
            }
        }
        // With a sparse checkout, files outside of it bear the second mark rightly.
        let sparse = ["config", "--type=bool", "--default=false", "core.sparseCheckout"];
        if !hidden.skipped.is_empty() && shadow.call().args(sparse).line().await? == "true" {
            hidden.skipped.clear();
        }
        Ok(hidden)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.assumed.is_empty() && self.skipped.is_empty()
    }

    /// Takes away the marks.
    pub(super) async fn show(self, shadow: &Shadow<'_>) -> Result<(), GitError> {
        let marks = [(self.assumed, "--no-assume-unchanged"), (self.skipped, "--no-skip-worktree")];
        for (paths, mark) in marks.into_iter().filter(|(paths, _)| !paths.is_empty()) {
            let call = shadow.call().args(["update-index", mark, "-z", "--stdin"]);
            call.input(paths).limit(WRITE).run().await?;
        }
        Ok(())
    }
}
