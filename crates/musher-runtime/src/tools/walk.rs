//! Looks through folders by their descriptors, in order, past what git ignores, and never through a link.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use tokio_util::sync::CancellationToken;

use super::beneath::{FOLDER, Links, READ, WorkFolder, regular, stat_in};
use super::change::read_at_most;
use super::fault::ToolFault;
use super::place::{RelativePath, is_git};

/// How many entries are looked at.
const ENTRIES: usize = 200_000;
/// How many entries of one folder are looked at.
const WIDEST: usize = 50_000;
/// Each level holds a descriptor.
const DEEPEST: usize = 64;
/// How long a walk may take.
const WALK_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a file with names to ignore is read.
const IGNORE_FILE: u64 = 256 * 1024;
const IGNORE_FILES: [&CStr; 2] = [c".gitignore", c".ignore"];

/// What is met on the way.
pub(super) struct WalkEntry<'a> {
    /// The folder it is in.
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
    /// Its path from the working folder.
    pub(super) path: &'a Path,
    pub(super) kind: FileType,
    /// 1 for what is in the folder where the walk began.
    pub(super) depth: usize,
    /// What is to be ignored is met, and not entered unless the visitor wants to.
    pub(super) ignored: bool,
}

/// Where the walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkStep {
    /// Into it, if it is a folder.
    Into,
    Over,
    Stop,
}

/// How much was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// A bound was met; the text says which.
    Cut(&'static str),
}

struct Level {
    fd: OwnedFd,
    path: PathBuf,
    names: std::vec::IntoIter<(CString, FileType)>,
    ignore: Option<Gitignore>,
}

/// Visits everything below a place.
pub(super) fn walk(
    folder: &WorkFolder,
    start: &RelativePath,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&WalkEntry<'_>) -> Result<WalkStep, ToolFault>,
) -> Result<Extent, ToolFault> {
    let deadline = Instant::now() + WALK_TIMEOUT;
    let mut outer = Vec::new();
    for above in start.above() {
        let fd = folder.at(&above, FOLDER, Links::Follow)?;
        outer.extend(ignore_of(fd.as_fd(), &above.path()));
    }
    let mut extent = Extent::Whole;
    let mut levels =
        vec![enter(folder.at(start, FOLDER, Links::Follow)?, start.path(), &mut extent)];
    let mut met = 0;
    while let Some(level) = levels.last_mut() {
        let Some((name, kind)) = level.names.next() else {
            levels.pop();
            continue;
        };
        if cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        met += 1;
        if met > ENTRIES {
            return Ok(Extent::Cut("there is too much to look at; name a smaller folder"));
        }
        if Instant::now() > deadline {
            return Ok(Extent::Cut("it took too long; name a smaller folder"));
        }
        let text = OsStr::from_bytes(name.to_bytes());
        if is_git(text) {
            continue;
        }
        let path = level.path.join(text);
        let depth = levels.len();
        let ignored = ignored(&outer, &levels, &path, kind == FileType::Directory);
        let Some(level) = levels.last() else { break };
        let entry =
            WalkEntry { folder: level.fd.as_fd(), name: &name, path: &path, kind, depth, ignored };
        match visit(&entry)? {
            WalkStep::Stop => return Ok(extent),
            WalkStep::Into if kind == FileType::Directory => {
                if depth >= DEEPEST {
                    extent = Extent::Cut("folders are nested too deep to be seen to the end");
                    continue;
                }
                // A folder that was taken away or turned into a link meanwhile is passed over.
                let flags = FOLDER | OFlags::NOFOLLOW;
                if let Ok(fd) = openat(&level.fd, &*name, flags, Mode::empty()) {
                    levels.push(enter(fd, path, &mut extent));
                }
            }
            WalkStep::Into | WalkStep::Over => {}
        }
    }
    Ok(extent)
}

fn enter(fd: OwnedFd, path: PathBuf, extent: &mut Extent) -> Level {
    let mut names = Vec::new();
    let entries = Dir::read_from(&fd).into_iter().flatten().flatten();
    let real = entries.filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
    for entry in real {
        if names.len() == WIDEST {
            *extent = Extent::Cut("a folder has too many entries to be seen to the end");
            break;
        }
        let mut kind = entry.file_type();
        // Not every file system tells it here.
        if kind == FileType::Unknown
            && let Ok(stat) = stat_in(&fd, entry.file_name())
        {
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        names.push((entry.file_name().to_owned(), kind));
    }
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    let ignore = ignore_of(fd.as_fd(), &path);
    Level { fd, path, names: names.into_iter(), ignore }
}

/// What the files in a folder say is to be ignored below it.
fn ignore_of(folder: BorrowedFd<'_>, path: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(path);
    let mut any = false;
    for name in IGNORE_FILES {
        let file = openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty());
        let Some((file, _)) = file.ok().and_then(|file| regular(file, &RelativePath::root()).ok())
        else {
            continue;
        };
        let bytes = read_at_most(&file, IGNORE_FILE).unwrap_or_default();
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that is no pattern ignores nothing.
            any |= builder.add_line(None, line).is_ok();
        }
    }
    any.then(|| builder.build().ok()).flatten()
}

fn ignored(outer: &[Gitignore], levels: &[Level], path: &Path, is_folder: bool) -> bool {
    let near_to_far =
        levels.iter().rev().filter_map(|level| level.ignore.as_ref()).chain(outer.iter().rev());
    for ignore in near_to_far {
        match ignore.matched(path, is_folder) {
            Match::None => {}
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
        }
    }
    false
}
