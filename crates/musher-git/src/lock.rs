//! The lock that git takes before it changes an index, taken so that one left by the dead is known.
//!
//! Nothing in git's own lock says whose it is. Ours is a second name of a file that only Musher makes, so a lock that is
//! that file was left by a Musher that died, and any other belongs to somebody who may be alive.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted;
use rustix::fs::Mode;

use super::error::GitError;
use super::shadow::copy_index;
use super::{Checkout, Git};

/// The file that our lock is a second name of, and the one in which a new index is written.
const MARK: &str = "musher.lock";
const NEW: &str = "musher.index";

/// The lock on an index; dropping it lets go.
#[derive(Debug)]
pub(super) struct IndexLock {
    index: PathBuf,
    lock: PathBuf,
}

impl Git {
    /// Locks the index of a checkout. The caller knows that no other Musher does, and so that a lock of ours is of the dead.
    pub(super) fn lock_index(&self, checkout: &Checkout) -> Result<IndexLock, GitError> {
        let git_dir = &checkout.git_dir;
        let (mark, lock) = (git_dir.join(MARK), git_dir.join("index.lock"));
        untrusted::open_or_make(&mark, Mode::RUSR | Mode::WUSR)?;
        if same_file(&mark, &lock) {
            fs::remove_file(&lock).map_err(GitError::io(&lock))?;
        }
        match fs::hard_link(&mark, &lock) {
            Ok(()) => Ok(IndexLock { index: git_dir.join("index"), lock }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(GitError::Locked { path: checkout.root.clone() })
            }
            Err(error) => Err(GitError::io(lock)(error)),
        }
    }
}

impl IndexLock {
    /// Puts an index in the place of the one that is locked.
    pub(super) fn replace(self, from: &Path) -> Result<(), GitError> {
        let new = self.index.with_file_name(NEW);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(GitError::io(new)(error));
            }
            _ => {}
        }
        copy_index(from, &new)?;
        let settled = untrusted::open(&new)?.sync_all();
        settled.and_then(|()| fs::rename(&new, &self.index)).map_err(GitError::io(new))
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // Whoever finds it left knows by the mark that it is nobody's.
        let _left = fs::remove_file(&self.lock);
        let _left = fs::remove_file(self.lock.with_file_name(MARK));
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| path.symlink_metadata().ok().map(|it| (it.dev(), it.ino()));
    place(one).is_some_and(|one| place(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_known_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("mark"), "").unwrap();
        assert!(!same_file(&at("mark"), &at("lock")));
        fs::hard_link(at("mark"), at("lock")).unwrap();
        assert!(same_file(&at("mark"), &at("lock")));
        fs::write(at("other"), "").unwrap();
        assert!(!same_file(&at("mark"), &at("other")));
    }
}
