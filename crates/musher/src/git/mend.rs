//! Keeps a worktree usable across a loss of power: git syncs none of the small files that make a folder a worktree.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::call::WRITE;
use super::config::Trust;
use super::error::GitError;
use super::name::{Branch, Commit};
use super::shadow::{Index, Shadow};
use super::{Checkout, Git, listing};

/// No file that is mended is longer.
const LONGEST: u64 = 4096;

impl Git {
    /// Returns when all that makes a folder a worktree is on the disk; its files are as safe as those of any program.
    pub(crate) async fn sync_checkout(&self, checkout: &Checkout) -> Result<(), GitError> {
        let own =
            ["HEAD", "gitdir", "commondir", "index", ""].map(|name| checkout.git_dir.join(name));
        let paths = own.into_iter().chain([checkout.root.join(".git")]);
        let syncing = tokio::task::spawn_blocking(|| {
            for path in paths {
                match File::open(&path).and_then(|file| file.sync_all()) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(GitError::io(path)(error));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
            Ok(())
        });
        syncing.await.unwrap_or_else(|error| Err(GitError::io(&checkout.root)(error.into())))
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
            let shadow = Shadow::of_files(self, Trust::Hardened, checkout, own, Some(tip)).await?;
            shadow.call().args(["read-tree", tip.as_str()]).limit(WRITE).run().await?;
        }
        Ok(())
    }

    /// Makes every entry of the register lead to this repository. One that does not keeps git from reading the others.
    pub(super) fn mend_register(&self) {
        let entries = fs::read_dir(self.inner.common.join("worktrees")).into_iter().flatten();
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()))
        {
            // What cannot be mended is told by the next call of git.
            let _mended = self.mend(&entry.path());
        }
    }
}

/// Whether a file is there and says nothing: empty, or zeros where its bytes should be.
fn is_blank(path: &Path) -> bool {
    let plain = |about: fs::Metadata| about.is_file() && about.len() <= LONGEST;
    path.symlink_metadata().is_ok_and(plain)
        && fs::read(path).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0))
}

/// Whether a file is there and is no index.
fn is_torn(index: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(index).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && start != listing::START
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let written = fs::write(path, bytes).and_then(|()| File::open(path)?.sync_all());
    written.map_err(GitError::io(path))
}
