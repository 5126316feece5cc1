//! Files that are exactly those of a commit, whatever was run among them before, and a look whether they still are.
//!
//! A program that runs in a worktree can write its index, and an index says which files are unchanged. So the index that
//! Musher wrote is kept in the private folder, and the files are compared with that one. No program can set the time at
//! which the system last changed a file, so each change shows without reading all files again.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::call::{Call, WRITE_CALL_TIMEOUT};
use super::config::SettingsTrust;
use super::error::GitError;
use super::head::forget_operation;
use super::hold::Hold;
use super::name::Commit;
use super::path::{GitPath, RelPath};
use super::shadow::{Index, Shadow, copy_index};
use super::snapshot::replace_index;
use super::sweep::sweep;
use super::{Checkout, Git};

impl Git {
    /// Makes the files of a worktree exactly those of a commit, and HEAD that commit on no branch. All else goes, save for
    /// the paths to keep. `name` is that of the kept index.
    pub(crate) async fn turn_exactly(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        to: &Commit,
        keep: &[RelPath],
        name: &str,
    ) -> Result<(), GitError> {
        self.break_index_lock(checkout)?;
        forget_operation(&checkout.git_dir)?;
        let shadow = self.with_kept_index(checkout, to, name).await?.held(hold);
        // While the files change, no index is right.
        self.forget_index(name)?;
        let call = exact(&shadow, to).unsynced_index();
        let call = call.args(["checkout", "--force", "--detach", "--quiet"]);
        let call = call.args(["--no-recurse-submodules", to.as_str(), "--"]);
        call.limit(WRITE_CALL_TIMEOUT).run().await?;
        sweep(&shadow, keep).await?;
        replace_index(shadow.index(), &checkout.git_dir.join("index"))?;
        self.detach(checkout, to).await?;
        self.keep_index(checkout, name)
    }

    /// Keeps the index of a worktree whose files were just written.
    pub(crate) fn keep_index(&self, checkout: &Checkout, name: &str) -> Result<(), GitError> {
        self.forget_index(name)?;
        let (kept, new) = (self.kept_index(name), self.kept_index(&format!("{name}-new")));
        self.forget_index(&format!("{name}-new"))?;
        copy_index(&checkout.git_dir.join("index"), &new)?;
        fs::rename(&new, &kept).map_err(GitError::io(kept))
    }

    /// The files at which a worktree is no longer what a commit has.
    pub(crate) async fn differences(
        &self,
        checkout: &Checkout,
        commit: &Commit,
        name: &str,
    ) -> Result<Vec<GitPath>, GitError> {
        let shadow = self.with_kept_index(checkout, commit, name).await?;
        let index = shadow.call().args(["diff-index", "--cached", "--quiet", commit.as_str()]);
        if index.fine(&[0, 1]).run().await?.code != 0 {
            read_anew(&shadow, commit).await?;
        }
        let refresh = exact(&shadow, commit).args(["update-index", "-q", "--refresh"]);
        refresh.fine(&[0, 1]).limit(WRITE_CALL_TIMEOUT).run().await?;
        let list = exact(&shadow, commit).args(["diff-files", "-z", "--name-only"]);
        // To look into a submodule, git would start another git there, with settings that are not ours.
        let list = list.arg("--ignore-submodules=dirty").limit(WRITE_CALL_TIMEOUT).run().await?;
        let paths = list.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(GitPath::new).collect())
    }

    /// A stand-in around a worktree with the index that was kept; without one, all files are read.
    async fn with_kept_index(
        &self,
        checkout: &Checkout,
        commit: &Commit,
        name: &str,
    ) -> Result<Shadow<'_>, GitError> {
        let (trust, own) = (SettingsTrust::Hardened, Index::Empty);
        let shadow = Shadow::of_files(self, trust, checkout, own, Some(commit)).await?;
        copy_index(&self.kept_index(name), shadow.index())?;
        if !shadow.index().exists() {
            read_anew(&shadow, commit).await?;
        }
        Ok(shadow)
    }

    fn kept_index(&self, name: &str) -> PathBuf {
        self.inner.scratch.join(format!("{name}.index"))
    }

    fn forget_index(&self, name: &str) -> Result<(), GitError> {
        let path = self.kept_index(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::io(path)(error)),
            _ => Ok(()),
        }
    }
}

/// Makes the index of a stand-in anew from a commit, so that every file is read.
async fn read_anew(shadow: &Shadow<'_>, commit: &Commit) -> Result<(), GitError> {
    let path = shadow.index();
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(GitError::io(path)(error)),
        _ => {}
    }
    let call = shadow.call().args(["read-tree", commit.as_str()]);
    call.limit(WRITE_CALL_TIMEOUT).run().await?;
    let refresh = exact(shadow, commit).args(["update-index", "-q", "--refresh"]);
    refresh.fine(&[0, 1]).limit(WRITE_CALL_TIMEOUT).run().await.map(drop)
}

/// A call that takes every trace of a change for one, and the attributes of the commit for the only ones: a file of
/// attributes that was left beside others could make a change look like none.
fn exact(shadow: &Shadow<'_>, commit: &Commit) -> Call {
    let call = shadow.call().env("GIT_ATTR_SOURCE", commit.as_str());
    call.setting("core.trustCtime=true").setting("core.checkStat=default")
}
