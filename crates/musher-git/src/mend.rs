//! Keeps a worktree usable across a loss of power: git syncs none of the small files that make a folder a worktree.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted::{self, FOLDER, Kind};
use rustix::fs::{Mode, fsync, open};

use super::call::WRITE_CALL_TIMEOUT;
use super::config::SettingsTrust;
use super::error::GitError;
use super::name::{Branch, Commit};
use super::odd::set_aside;
use super::shadow::{Index, Shadow};
use super::{Checkout, Git, listing};

/// No file that is mended is longer.
const MAX_REPAIRED_FILE_BYTES: u64 = 4096;

impl Git {
    /// Returns when that is on the disk which leads from a worktree to its repository and back. Nothing changes it later.
    pub(crate) async fn sync_links(&self, checkout: &Checkout) -> Result<(), GitError> {
        let own = ["gitdir", "commondir"].map(|name| checkout.git_dir.join(name));
        let paths = own.into_iter().chain([checkout.root.join(".git")]);
        sync(paths.collect(), checkout.git_dir.clone()).await
    }

    /// Returns when that is on the disk too which says where a worktree stands; its files are as safe as those of any
    /// program.
    pub(crate) async fn sync_checkout(&self, checkout: &Checkout) -> Result<(), GitError> {
        let paths = ["HEAD", "index"].map(|name| checkout.git_dir.join(name));
        sync(paths.into(), checkout.git_dir.clone()).await
    }

    /// Makes the folder of a worktree lead to its entry again. Whoever works there next would be led elsewhere, to
    /// settings and hooks that are not the repository's.
    pub(crate) fn point(&self, checkout: &Checkout) -> Result<(), GitError> {
        let pointer = checkout.root.join(".git");
        let place = checkout.git_dir.as_os_str().as_bytes();
        let wanted = [b"gitdir: ", place, b"\n"].concat();
        if untrusted::read(&pointer, MAX_REPAIRED_FILE_BYTES).is_ok_and(|found| found == wanted) {
            return Ok(());
        }
        if untrusted::kind(&pointer)? == Some(Kind::Folder) {
            set_aside(&pointer, &checkout.git_dir)?;
        }
        write(&pointer, &wanted)
    }

    /// Puts HEAD of a worktree on a branch; its files stay. A start waits for this, and a process takes longer than the
    /// write.
    pub(crate) fn attach(&self, checkout: &Checkout, branch: &Branch) -> Result<(), GitError> {
        write(&checkout.git_dir.join("HEAD"), format!("ref: {}\n", branch.full()).as_bytes())
    }

    /// Puts HEAD of a worktree that has none at a commit, so that git takes the entry for one.
    pub(crate) fn give_head(&self, checkout: &Checkout, commit: &Commit) -> Result<(), GitError> {
        let head = checkout.git_dir.join("HEAD");
        match untrusted::kind(&head)? {
            None => write(&head, format!("{commit}\n").as_bytes()),
            Some(_) => Ok(()),
        }
    }

    /// Whether a loss of power took something from a worktree that [`Git::mend_checkout`] can write again.
    pub(crate) fn is_torn(&self, checkout: &Checkout) -> bool {
        let git_dir = &checkout.git_dir;
        is_blank(&git_dir.join("HEAD"))
            || is_blank(&checkout.root.join(".git"))
            || is_torn(&git_dir.join("index"))
    }

    /// Writes again what a loss of power took from a worktree that holds a branch: its HEAD, the file by which its folder
    /// is known, and its index. The files in it stay as they are.
    pub(crate) async fn mend_checkout(
        &self,
        checkout: &Checkout,
        branch: &Branch,
        tip: &Commit,
    ) -> Result<(), GitError> {
        let head = checkout.git_dir.join("HEAD");
        if is_blank(&head) {
            write(&head, format!("ref: {}\n", branch.full()).as_bytes())?;
        }
        let pointer = checkout.root.join(".git");
        if is_blank(&pointer) {
            let place = checkout.git_dir.as_os_str().as_bytes();
            write(&pointer, &[b"gitdir: ", place, b"\n"].concat())?;
        }
        let index = checkout.git_dir.join("index");
        if is_torn(&index) {
            fs::remove_file(&index).map_err(GitError::io(&index))?;
            let own = Index::Real;
            let shadow =
                Shadow::of_files(self, SettingsTrust::Hardened, checkout, own, Some(tip)).await?;
            shadow.call().args(["read-tree", tip.as_str()]).limit(WRITE_CALL_TIMEOUT).run().await?;
        }
        Ok(())
    }
}

/// Syncs those of the files that are there, and the folder of the worktree's entry.
async fn sync(paths: Vec<PathBuf>, entry: PathBuf) -> Result<(), GitError> {
    let folder = entry.clone();
    let syncing = tokio::task::spawn_blocking(move || {
        for path in paths {
            match untrusted::open(&path) {
                Ok(file) => file.sync_all().map_err(GitError::io(path))?,
                Err(unfit) if unfit.is_missing() => {}
                Err(unfit) => return Err(unfit.into()),
            }
        }
        let synced = open(&folder, FOLDER, Mode::empty()).and_then(fsync);
        synced.map_err(|errno| GitError::io(folder)(errno.into()))
    });
    syncing.await.unwrap_or_else(|error| Err(GitError::io(entry)(error.into())))
}

/// Whether a file is there and says nothing: empty, or zeros where its bytes should be.
fn is_blank(path: &Path) -> bool {
    untrusted::read(path, MAX_REPAIRED_FILE_BYTES)
        .is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0))
}

/// Whether a file is there and is no index.
fn is_torn(index: &Path) -> bool {
    let mut start = Vec::new();
    let opened = untrusted::open(index).map_err(untrusted::Unfit::into_io);
    let read = opened.and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && start != listing::START
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    untrusted::replace(path, bytes).map_err(GitError::io(path))
}
