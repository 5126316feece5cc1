//! Room on a disk that is kept for what must still be written when it is full.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, Mode, fallocate, statvfs};
use rustix::io::Errno;

use crate::untrusted::{self, Unfit};

/// Room is taken back only where there is this many times as much of it.
const PLENTY: u64 = 16;

fn open(path: &Path) -> io::Result<File> {
    untrusted::open_or_make(path, Mode::from_raw_mode(0o666)).map_err(Unfit::into_io)
}

/// Makes a file that takes up this much room.
pub fn keep(path: &Path, len: u64) -> io::Result<()> {
    let mut file = open(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, len) {
        Ok(()) => Ok(()),
        // Not every file system can; zeros take up room on every one.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let there = file.seek(SeekFrom::End(0))?;
            let missing = len.saturating_sub(there);
            io::copy(&mut io::repeat(0).take(missing), &mut file).map(drop)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Room that is given up piece by piece, and kept again when there is plenty.
#[derive(Debug)]
pub struct ReservedSpace {
    path: PathBuf,
    whole: u64,
    left: u64,
}

impl ReservedSpace {
    /// Keeps as much as can be kept; a disk that is full is served without it.
    pub fn new(path: PathBuf, whole: u64) -> Self {
        let left = fs::metadata(&path).map_or(0, |about| about.len().min(whole));
        let mut ballast = Self { path, whole, left };
        ballast.refill();
        ballast
    }

    /// Gives up a piece; `false` if there is none left.
    pub fn give_way(&mut self, piece: u64) -> bool {
        let left = self.left.saturating_sub(piece);
        let cut = || open(&self.path)?.set_len(left);
        let given = self.left > 0 && cut().is_ok();
        self.left = left;
        given
    }

    /// Keeps again what was given up, where that takes nothing from anybody.
    pub fn refill(&mut self) {
        if self.left == self.whole || !self.has_plenty() {
            return;
        }
        if keep(&self.path, self.whole).is_ok() {
            self.left = self.whole;
        } else if let Ok(file) = open(&self.path) {
            // A part of it would be taken for nothing.
            let _kept = file.set_len(self.left);
        }
    }

    fn has_plenty(&self) -> bool {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let free = statvfs(folder).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        free.is_ok_and(|free| free >= self.whole.saturating_mul(PLENTY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_up_piece_by_piece_and_kept_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ballast");
        let size = || fs::metadata(&path).unwrap().len();
        let mut ballast = ReservedSpace::new(path.clone(), 10_000);
        assert_eq!(size(), 10_000);
        assert!(ballast.give_way(6_000));
        assert_eq!(size(), 4_000);
        assert!(ballast.give_way(6_000), "the last piece may be smaller");
        assert!(!ballast.give_way(6_000), "nothing is left");
        ballast.refill();
        assert_eq!(size(), 10_000);
        ballast.give_way(1_000);
        drop(ballast);
        let again = ReservedSpace::new(path.clone(), 10_000);
        assert_eq!((size(), again.left), (10_000, 10_000), "another server keeps it whole again");
    }
}
