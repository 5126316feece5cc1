//! Makes the files of a checkout those of a commit.

use std::path::PathBuf;

use super::call::WRITE;
use super::config::Trust;
use super::error::GitError;
use super::head::forget_operation;
use super::hold::Hold;
use super::name::Commit;
use super::path::RelPath;
use super::shadow::{Index, Shadow};
use super::{Checkout, Git, stray};

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
    /// the paths to keep. HEAD stays. `known` is the commit that all files are known to be of; git then looks only at
    /// those that differ.
    pub(crate) async fn reset(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        known: Option<&Commit>,
        to: &Commit,
        keep: &[RelPath],
    ) -> Result<(), GitError> {
        self.break_index_lock(checkout)?;
        forget_operation(&checkout.git_dir)?;
        let shadow =
            Shadow::of_files(self, Trust::Hardened, checkout, Index::Real, Some(to)).await?;
        let shadow = shadow.held(hold);
        let turned = match known {
            Some(from) if from == to => true,
            Some(from) => {
                let turn = ["read-tree", "-m", "-u", from.as_str(), to.as_str()];
                shadow.call().args(turn).limit(WRITE).run().await.is_ok()
            }
            None => false,
        };
        if !turned {
            show_hidden(&shadow).await?;
            write_files(&shadow, to).await?;
        }
        let exclude = |path: &RelPath| format!("--exclude={}", path.pattern());
        let clean = shadow.call().args(["clean", "-ffdxq"]).args(keep.iter().map(exclude));
        clean.limit(WRITE).run().await?;
        stray::remove(&shadow, &checkout.root, keep).await
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
/// this, `checkout` alone looks at the files with several threads.
async fn write_files(shadow: &Shadow<'_>, to: &Commit) -> Result<(), GitError> {
    let call = shadow.call().args(["checkout", "--force", "--detach", "--quiet"]);
    let call = call.args(["--no-recurse-submodules", to.as_str(), "--"]);
    call.limit(WRITE).run().await.map(drop)
}

/// Takes away the marks by which an index hides changes of files: work would be lost, or left for the next story. Says
/// whether there were any.
pub(super) async fn show_hidden(shadow: &Shadow<'_>) -> Result<bool, GitError> {
    let list = shadow.call().args(["ls-files", "-v", "-z"]).run().await?.stdout;
    // With a sparse checkout, files outside of it bear the second mark rightly.
    let sparse = ["config", "--type=bool", "--default=false", "core.sparseCheckout"];
    let mut assumed = Vec::new();
    let mut skipped = Vec::new();
    for entry in list.split_inclusive(|b| *b == 0) {
        let [tag, b' ', path @ ..] = entry else {
            continue;
        };
        if tag.is_ascii_lowercase() {
            assumed.extend_from_slice(path);
        }
        if matches!(tag, b'S' | b's') {
            skipped.extend_from_slice(path);
        }
    }
    let mut found = false;
    for (paths, mark) in [(assumed, "--no-assume-unchanged"), (skipped, "--no-skip-worktree")] {
        let rightly = mark == "--no-skip-worktree"
            && !paths.is_empty()
            && shadow.call().args(sparse).line().await? == "true";
        if !paths.is_empty() && !rightly {
            let call = shadow.call().args(["update-index", mark, "-z", "--stdin"]);
            call.input(paths).limit(WRITE).run().await?;
            found = true;
        }
    }
    Ok(found)
}
