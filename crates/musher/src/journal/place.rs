//! The files of a journal that is in use: whether they are still where they were.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::JournalError;

/// The journal's file and its log, as they were opened. What is written to files that were deleted is lost without a word.
#[derive(Debug)]
pub(super) struct JournalFiles {
    files: Vec<(PathBuf, (u64, u64))>,
}

impl JournalFiles {
    pub(super) fn of(path: &Path, log: PathBuf) -> io::Result<Self> {
        let mut files = vec![(path.to_owned(), found(path)?)];
        match found(&log) {
            Ok(there) => files.push((log, there)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Self { files })
    }

    /// That nobody has taken a file away.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        let taken = self.files.iter().find(|(path, was)| match found(path) {
            Ok(now) => now != *was,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        });
        match taken {
            Some((path, _)) => Err(JournalError::Gone { path: path.clone() }),
            None => Ok(()),
        }
    }
}

fn found(path: &Path) -> io::Result<(u64, u64)> {
    path.symlink_metadata().map(|about| (about.dev(), about.ino()))
}
