//! Opens what lies beneath an open folder, and nothing else, whatever links are on the way.
//!
//! The kernel resolves each path with `RESOLVE_BENEATH`, so a link that is swapped in while a call runs leads nowhere
//! else. Where it cannot (an old kernel, a filter on system calls), the path is walked name by name, each opened
//! without following links, which are then followed by hand.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2, readlinkat};
use rustix::io::Errno;

use super::FOLDER;

/// How many links one path may hold, as in the kernel.
const MAX_PATH_LINKS: usize = 40;
/// The kernel asks to try again when something moves while it looks.
const TRIES: usize = 64;

/// Who resolves paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Kernel,
    ByHand,
}

impl Way {
    /// The kernel, if it can.
    pub fn of(root: impl AsFd) -> Self {
        match openat2(root, c".", FOLDER, Mode::empty(), ResolveFlags::BENEATH) {
            Ok(_) => Self::Kernel,
            Err(_) => Self::ByHand,
        }
    }
}

/// What happens to links on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Followed as long as they stay inside.
    Follow,
    Refuse,
}

/// Opens what is at a path beneath a folder. The flags say that nothing can hang.
pub fn open_beneath(
    root: impl AsFd,
    path: &Path,
    flags: OFlags,
    links: Links,
    way: Way,
) -> Result<OwnedFd, Errno> {
    match way {
        Way::Kernel => by_kernel(root.as_fd(), path, flags, links),
        Way::ByHand => walk(root.as_fd(), path, flags, links),
    }
}

fn by_kernel(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::Refuse {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let mut last = Errno::AGAIN;
    for _ in 0..TRIES {
        match openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(errno @ (Errno::AGAIN | Errno::INTR)) => last = errno,
            done => return done,
        }
    }
    Err(last)
}

/// Opens a path name by name. Folders on the way stay open, so that a step upwards is a step back and never a look at
/// what is above by now.
fn walk(root: BorrowedFd<'_>, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
    let mut folders: Vec<OwnedFd> = Vec::new();
    if path.components().any(|part| matches!(part, Component::RootDir | Component::Prefix(_))) {
        return Err(Errno::XDEV);
    }
    let mut ahead: Vec<OsString> = path.iter().rev().map(OsStr::to_owned).collect();
    let mut followed = 0;
    loop {
        let here = folders.last().map_or(root, |folder| folder.as_fd());
        let Some(name) = ahead.pop() else {
            return openat(here, c".", flags | OFlags::CLOEXEC, Mode::empty());
        };
        match name.as_bytes() {
            b"" | b"." => continue,
            b".." => {
                folders.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            _ => {}
        }
        let last = ahead.is_empty();
        let wanted = if last { flags } else { OFlags::PATH | OFlags::DIRECTORY };
        let wanted = wanted | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(here, &name, wanted, Mode::empty()) {
            Ok(file) if last => return Ok(file),
            Ok(folder) => folders.push(folder),
            Err(errno @ (Errno::LOOP | Errno::NOTDIR)) => {
                let Ok(target) = readlinkat(here, &name, Vec::new()) else {
                    return Err(errno);
                };
                followed += 1;
                if links == Links::Refuse || followed > MAX_PATH_LINKS {
                    return Err(Errno::LOOP);
                }
                let target = target.into_bytes();
                if target.first() == Some(&b'/') {
                    return Err(Errno::XDEV);
                }
                let steps = target.split(|&byte| byte == b'/').rev();
                ahead.extend(steps.map(|step| OsStr::from_bytes(step).to_owned()));
            }
            Err(errno) => return Err(errno),
        }
    }
}
