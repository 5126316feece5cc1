//! The lock of a run's folder: whoever holds it writes, and a run whose lock is free has no writer.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use musher_os::untrusted;
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::io::Errno;

use super::folder;

/// A look at the lock holds it for microseconds, and must not keep a runner from starting.
const TRIES: u32 = 10;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(2);

/// The right to write one run's log. The kernel takes it back when the process dies, however it dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    dir: PathBuf,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{dir}: another process is writing this run's log; stop that run first")]
    Held { dir: PathBuf },
    #[error("{path}: cannot be locked: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl Lock {
    /// Takes the lock if nobody holds it.
    pub fn take(dir: &Path) -> Result<Self, LockError> {
        let path = folder::lock(dir);
        let failed = |source| LockError::Io { path: path.clone(), source };
        let file = untrusted::open_or_make(&path, Mode::from_raw_mode(0o666));
        let file = file.map_err(|unfit| failed(unfit.into_io()))?;
        for left in (0..TRIES).rev() {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file, dir: dir.to_owned() }),
                Err(Errno::WOULDBLOCK) if left > 0 => thread::sleep(LOCK_RETRY_DELAY),
                Err(Errno::WOULDBLOCK) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Err(LockError::Held { dir: dir.to_owned() })
    }

    /// Whether somebody holds the lock, without taking it.
    pub fn is_held(dir: &Path) -> io::Result<bool> {
        let file = match untrusted::open(&folder::lock(dir)) {
            Ok(file) => file,
            Err(unfit) if unfit.is_missing() => return Ok(false),
            Err(unfit) => return Err(unfit.into_io()),
        };
        // A shared lock, so that two who look do not see each other; closing the file gives it back.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The file that is locked.
    pub fn path(dir: &Path) -> PathBuf {
        folder::lock(dir)
    }

    /// The folder whose log may be written.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
