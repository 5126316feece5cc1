//! How far the lines of a log file were looked at and found sound. Files that nobody writes any more are remembered, so
//! that a log is looked at once by this process and not once by every reader.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// How many files are remembered. What is forgotten is looked at again.
const REMEMBERED: usize = 4096;

static KNOWN: LazyLock<Mutex<HashMap<Stamp, u64>>> = LazyLock::new(Mutex::default);

/// One state of one file. Whatever is written to it later gives it another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &File) -> Option<Self> {
        // Without it the file is looked at again, which is all that can happen.
        let meta = file.metadata().ok()?;
        let changed = (meta.ctime(), meta.ctime_nsec());
        Some(Self { device: meta.dev(), inode: meta.ino(), len: meta.len(), changed })
    }
}

/// How far one open file is known to be sound.
#[derive(Debug)]
pub(super) struct LookedAt {
    until: AtomicU64,
    /// What the file was when it was opened, before any of it was looked at.
    opened: Option<Stamp>,
}

impl LookedAt {
    /// A file whose events begin at `body`.
    pub(super) fn of(file: &File, body: u64) -> Self {
        let opened = Stamp::of(file);
        let known = opened.and_then(|stamp| known().get(&stamp).copied());
        Self { until: AtomicU64::new(known.unwrap_or(body).max(body)), opened }
    }

    pub(super) fn until(&self) -> u64 {
        self.until.load(Ordering::Relaxed)
    }

    /// All before this place was looked at and is sound.
    pub(super) fn reaches(&self, file: &File, place: u64) {
        self.until.fetch_max(place, Ordering::Relaxed);
        let Some(stamp) = self.opened.filter(|stamp| stamp.len == place) else { return };
        // One that was changed meanwhile is not what was looked at.
        if Stamp::of(file) == Some(stamp) {
            let mut known = known();
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(stamp, place);
        }
    }
}

fn known() -> MutexGuard<'static, HashMap<Stamp, u64>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_looked_at_once_until_it_is_written_to() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[b'x'; 100]).unwrap();
        let first = LookedAt::of(&file, 10);
        assert_eq!(first.until(), 10);
        first.reaches(&file, 50);
        assert_eq!(LookedAt::of(&file, 10).until(), 10, "only a whole file is remembered");
        first.reaches(&file, 100);
        assert_eq!((first.until(), LookedAt::of(&file, 10).until()), (100, 100));
        file.write_all(b"more").unwrap();
        assert_eq!(LookedAt::of(&file, 10).until(), 10);
    }

    #[test]
    fn a_file_that_changed_while_it_was_looked_at_is_not_remembered() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[b'x'; 100]).unwrap();
        let first = LookedAt::of(&file, 10);
        file.write_all(b"more").unwrap();
        first.reaches(&file, 100);
        assert_eq!(LookedAt::of(&file, 10).until(), 10);
    }
}
