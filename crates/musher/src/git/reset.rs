//! Makes the files of a checkout those of a commit.

use std::path::PathBuf;

use super::call::WRITE;
use super::config::Trust;
use super::error::GitError;
use super::head::forget_operation;
use super::name::Commit;
use super::path::RelPath;
use super::shadow::{Index, Shadow};
use super::{Checkout, Git};

impl Git {
    /// Writes the files of a commit into a fresh worktree, with the filters that the user has set up.
    pub(crate) async fn populate(&self, checkout: &Checkout, to: &Commit) -> Result<(), GitError> {
        let shadow = Shadow::of_files(self, Trust::User, checkout, Index::Real, Some(to)).await?;
        let read = ["read-tree", "--reset", "-u", to.as_str()];
        shadow.call().args(read).limit(WRITE).run().await.map(drop)
    }

    /// Resets a worktree in which an agent has worked: known files become those of a commit, all others go, save for
    /// the paths to keep. HEAD stays.
    pub(crate) async fn reset(
        &self,
        checkout: &Checkout,
        to: &Commit,
        keep: &[RelPath],
    ) -> Result<(), GitError> {
        self.break_index_lock(checkout)?;
        forget_operation(&checkout.git_dir)?;
        let shadow =
            Shadow::of_files(self, Trust::Hardened, checkout, Index::Real, Some(to)).await?;
        show_hidden(&shadow).await?;
        let read = ["read-tree", "--reset", "-u", to.as_str()];
        shadow.call().args(read).limit(WRITE).run().await?;
        let clean = shadow.call().args(["clean", "-ffdxq"]);
        let clean =
            keep.iter().fold(clean, |call, path| call.arg(format!("--exclude={}", path.pattern())));
        clean.limit(WRITE).run().await.map(drop)
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

/// Takes away the marks by which an index hides changes of files: work would be lost, or left for the next story.
pub(super) async fn show_hidden(shadow: &Shadow<'_>) -> Result<(), GitError> {
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
    for (paths, mark) in [(assumed, "--no-assume-unchanged"), (skipped, "--no-skip-worktree")] {
        let rightly = mark == "--no-skip-worktree"
            && !paths.is_empty()
            && shadow.call().args(sparse).line().await? == "true";
        if !paths.is_empty() && !rightly {
            let call = shadow.call().args(["update-index", mark, "-z", "--stdin"]);
            call.input(paths).limit(WRITE).run().await?;
        }
    }
    Ok(())
}
