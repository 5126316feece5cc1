//! A file of bounded size: when it is full it becomes the old one, and a new one begins.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use musher_os::untrusted::{self, Unfit};
use rustix::fs::{FlockOperation, flock};

/// The file and the old one are each at most this long.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// How long the process of a server that was killed may keep its file.
const LOCK_WITHIN: Duration = Duration::from_secs(1);
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(25);

#[derive(Debug)]
pub(super) struct BoundedFile {
    path: PathBuf,
    /// Absent when the disk refused the next one.
    file: Option<File>,
    length: u64,
    max: u64,
}

impl BoundedFile {
    /// Opens the file to write at its end. `None` if it cannot be used, or if it is that of another server: this one
    /// will be refused, and it must not make the other's file the old one.
    pub(super) fn open(path: &Path) -> Option<Self> {
        match Self::bounded(path, MAX_FILE_BYTES) {
            Ok(file) => file,
            Err(error) => {
                let path = path.display().to_string();
                tracing::warn!(path, cause = %error, "the log is on standard error only");
                None
            }
        }
    }

    fn bounded(path: &Path, max: u64) -> io::Result<Option<Self>> {
        let file = untrusted::append(path).map_err(Unfit::into_io)?;
        let until = Instant::now() + LOCK_WITHIN;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() >= until {
                return Ok(None);
            }
            thread::sleep(LOCK_RETRY_DELAY);
        }
        let length = file.metadata()?.len();
        Ok(Some(Self { path: path.to_owned(), file: Some(file), length, max }))
    }

    /// The file in use, which has room for so many bytes.
    fn with_room(&mut self, bytes: usize) -> io::Result<&mut File> {
        let full = self.length > 0 && self.length + bytes as u64 > self.max;
        if full || self.file.is_none() {
            if full {
                self.file = None;
                match std::fs::rename(&self.path, self.path.with_extension("log.1")) {
                    // Somebody took it away, which makes room as well.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                }
                self.length = 0;
            }
            let next = untrusted::append(&self.path).map_err(Unfit::into_io)?;
            // It is new, so nobody holds it but a server that is about to be refused.
            let _held = flock(&next, FlockOperation::NonBlockingLockExclusive);
            self.length = next.metadata()?.len();
            self.file = Some(next);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Write for BoundedFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.with_room(line.len())?.write(line)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_becomes_the_old_one_and_the_older_one_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        let mut file = BoundedFile::bounded(&path, 100).unwrap().unwrap();
        for number in 0..50 {
            file.write_all(format!("line {number:04}\n").as_bytes()).unwrap();
        }
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        let (now, old) = (text(&path), text(&folder.path().join("server.log.1")));
        assert!(now.len() <= 100 && old.len() <= 100, "{} {}", now.len(), old.len());
        let lines: Vec<String> = (old + &now).lines().map(str::to_owned).collect();
        let first = 50 - lines.len();
        let expected: Vec<String> = (first..50).map(|number| format!("line {number:04}")).collect();
        assert_eq!(lines, expected, "the newest lines are kept, in order");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_second_server_leaves_the_file_of_the_first_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        let first = BoundedFile::bounded(&path, 100).unwrap();
        assert!(first.is_some());
        assert!(BoundedFile::bounded(&path, 100).unwrap().is_none());
        drop(first);
        assert!(BoundedFile::bounded(&path, 100).unwrap().is_some());
    }
}
