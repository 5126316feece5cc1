//! What can go wrong with a run log, with the file it went wrong with.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Why a run log could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{dir}: there is no log; the run never began or was cleaned away")]
    Missing { dir: PathBuf },
    #[error("{path}: the run has begun already, and a run begins only once; start a new run")]
    Exists { path: PathBuf },
    #[error("{path}: written by a newer Musher (format {version}); upgrade to read it")]
    Newer { path: PathBuf, version: u32 },
    #[error(
        "{path}: damaged after byte {offset}, event {seq} cannot be read; restore it from a backup"
    )]
    Damaged { path: PathBuf, offset: u64, seq: u64 },
    #[error(
        "{path}: damaged after byte {offset}, the output of the agent from byte {from} on cannot be read; it continues with \
         byte {to}"
    )]
    RawDamaged { path: PathBuf, offset: u64, from: u64, to: u64 },
    #[error(
        "{path}: somebody has cut it to {found} bytes while it was written, and it had {written}"
    )]
    Shortened { path: PathBuf, found: u64, written: u64 },
    /// Nothing is lost: the same events may be appended again when there is room.
    #[error("{path}: the disk is full; free some space, and the run continues")]
    Full { path: PathBuf },
    #[error("event {found} cannot follow event {last} in the log")]
    Gap { last: u64, found: u64 },
    #[error("event {seq} cannot be written as JSON: {why}")]
    Encode { seq: u64, why: String },
    #[error("{path}: cannot {doing}: {source}")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// What was not synced may be gone, and asking again would be answered with a lie.
    #[error("the log takes no more events, because earlier {why}")]
    Poisoned { why: String },
}

impl LogError {
    /// Tells a full disk apart from every other failure.
    pub(super) fn of(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match is_full(&source) {
            true => Self::Full { path },
            false => Self::Io { doing, path, source },
        }
    }

    /// Whether it is over as soon as somebody makes room on the disk.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT))
}
