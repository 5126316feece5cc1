//! Tells which run logs have grown, for many runs with one file descriptor.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::folder;

/// A read that brings fewer changes than this was not cut short: each takes 272 bytes at most.
const FILLING: usize = 30;

/// One folder that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchId(u64);

/// Why a folder cannot be watched. Whoever gets this looks once a second instead.
#[derive(Debug, thiserror::Error)]
pub enum WakeError {
    #[error(
        "the system allows no more watches; raise fs.inotify.max_user_watches or max_user_instances"
    )]
    Exhausted,
    #[error("{path}: cannot be watched: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// Watches run folders. Its descriptor becomes readable when a log has grown.
#[derive(Debug)]
pub struct Wakes {
    inotify: OwnedFd,
    next: u64,
    watches: HashMap<WatchId, Watch>,
    by_dir: HashMap<PathBuf, WatchId>,
    by_descriptor: HashMap<i32, WatchId>,
}

#[derive(Debug)]
struct Watch {
    dir: PathBuf,
    descriptor: i32,
    on: On,
}

/// What the kernel watches for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    /// The head: it is written once for each batch, so there is one wake for each.
    Head,
    /// The folder, until it has a head.
    Folder,
}

impl Wakes {
    pub fn new() -> Result<Self, WakeError> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .map_err(|errno| wake_error(Path::new("inotify"), errno))?;
        Ok(Self {
            inotify,
            next: 0,
            watches: HashMap::new(),
            by_dir: HashMap::new(),
            by_descriptor: HashMap::new(),
        })
    }

    /// Watches a run's folder from now on. A folder that is watched already keeps its id.
    pub fn watch(&mut self, dir: &Path) -> Result<WatchId, WakeError> {
        if let Some(id) = self.by_dir.get(dir) {
            return Ok(*id);
        }
        let (descriptor, on) = self.add(dir)?;
        self.next += 1;
        let id = WatchId(self.next);
        self.by_dir.insert(dir.to_owned(), id);
        self.by_descriptor.insert(descriptor, id);
        self.watches.insert(id, Watch { dir: dir.to_owned(), descriptor, on });
        Ok(id)
    }

    /// Watches a folder no longer.
    pub fn unwatch(&mut self, id: WatchId) {
        if let Some(watch) = self.watches.remove(&id) {
            self.by_dir.remove(&watch.dir);
            self.by_descriptor.remove(&watch.descriptor);
            // It is gone already if its file is.
            let _gone = inotify::remove_watch(&self.inotify, watch.descriptor);
        }
    }

    /// Appends the folders that have changed since the last time, each once. It never waits.
    pub fn poll(&mut self, changed: &mut Vec<WatchId>) -> io::Result<()> {
        let start = changed.len();
        let mut grown = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut read = 0;
        loop {
            if events.is_buffer_empty() && (1..FILLING).contains(&std::mem::take(&mut read)) {
                // There was room for more, so that was all; what comes from now on makes the descriptor readable again.
                break;
            }
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::WOULDBLOCK) => break,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            read += 1;
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // Nobody knows what was missed, so everything may have changed.
                changed.extend(self.watches.keys());
                continue;
            }
            let Some(id) = self.by_descriptor.get(&event.wd()) else { continue };
            if changed[start..].last() != Some(id) {
                changed.push(*id);
            }
            if event.events().contains(ReadFlags::IGNORED) {
                self.by_descriptor.remove(&event.wd());
            } else if self.watches.get(id).is_some_and(|watch| watch.on == On::Folder) {
                grown.push(*id);
            }
        }
        changed[start..].sort_unstable();
        let mut kept = start;
        for at in start..changed.len() {
            if kept == start || changed[kept - 1] != changed[at] {
                changed[kept] = changed[at];
                kept += 1;
            }
        }
        changed.truncate(kept);
        for id in grown {
            self.move_to_head(id);
        }
        Ok(())
    }

    /// Watches the head instead of the folder as soon as there is one.
    fn move_to_head(&mut self, id: WatchId) {
        let Some(watch) = self.watches.get(&id).filter(|watch| watch.on == On::Folder) else {
            return;
        };
        let dir = watch.dir.clone();
        if let Ok((descriptor, On::Head)) = self.add(&dir)
            && let Some(watch) = self.watches.get_mut(&id)
        {
            let folder = std::mem::replace(&mut watch.descriptor, descriptor);
            watch.on = On::Head;
            self.by_descriptor.remove(&folder);
            self.by_descriptor.insert(descriptor, id);
            let _gone = inotify::remove_watch(&self.inotify, folder);
        }
    }

    fn add(&self, dir: &Path) -> Result<(i32, On), WakeError> {
        if let Some(head) = self.add_head(dir)? {
            return Ok((head, On::Head));
        }
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        let folder = inotify::add_watch(&self.inotify, dir, flags)
            .map_err(|errno| wake_error(dir, errno))?;
        // It may have come while nobody was watching.
        match self.add_head(dir)? {
            Some(head) => {
                let _gone = inotify::remove_watch(&self.inotify, folder);
                Ok((head, On::Head))
            }
            None => Ok((folder, On::Folder)),
        }
    }

    fn add_head(&self, dir: &Path) -> Result<Option<i32>, WakeError> {
        let head = folder::head(dir);
        match inotify::add_watch(&self.inotify, &head, WatchFlags::MODIFY) {
            Ok(descriptor) => Ok(Some(descriptor)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(wake_error(&head, errno)),
        }
    }
}

impl AsFd for Wakes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl std::os::fd::AsRawFd for Wakes {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.inotify.as_fd().as_raw_fd()
    }
}

fn wake_error(path: &Path, errno: Errno) -> WakeError {
    match errno {
        Errno::NOSPC | Errno::MFILE | Errno::NFILE => WakeError::Exhausted,
        errno => WakeError::Io { path: path.to_owned(), source: errno.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_watches_left_is_told_apart_from_a_folder_that_cannot_be_watched() {
        for errno in [Errno::NOSPC, Errno::MFILE, Errno::NFILE] {
            assert!(matches!(wake_error(Path::new("x"), errno), WakeError::Exhausted));
        }
        assert!(matches!(wake_error(Path::new("x"), Errno::ACCESS), WakeError::Io { .. }));
    }
}
