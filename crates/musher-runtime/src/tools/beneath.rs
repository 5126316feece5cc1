//! The working folder as an open descriptor, below which everything is opened: nothing else can be reached through it.
//!
//! The kernel resolves each path with `RESOLVE_BENEATH`, so a link that is swapped in while a call runs leads nowhere
//! else. Where it cannot (an old kernel, a filter on system calls), the path is walked name by name, each opened
//! without following links, which are then followed by hand.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, open, openat,
    openat2, readlinkat, statat,
};
use rustix::io::Errno;

use super::fault::Fault;
use super::place::Place;

/// How many links one path may hold, as in the kernel.
const MOST_LINKS: usize = 40;
/// The kernel asks to try again when something moves while it looks.
const TRIES: usize = 64;

/// Nothing that is opened may hang or become a terminal.
pub(super) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
pub(super) const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The working folder.
#[derive(Debug)]
pub(super) struct Folder {
    root: OwnedFd,
    /// Its names: as it was given, and as it really is.
    given: PathBuf,
    real: PathBuf,
    way: Way,
}

/// Who resolves paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Kernel,
    ByHand,
}

/// What happens to links on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Followed as long as they stay inside.
    Follow,
    Refuse,
}

/// What happens to folders that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    Make,
    Refuse,
}

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let root = open(&real, FOLDER, Mode::empty())?;
        let probe = openat2(&root, c".", FOLDER, Mode::empty(), ResolveFlags::BENEATH);
        let way = match probe {
            Ok(_) => Way::Kernel,
            Err(_) => Way::ByHand,
        };
        Ok(Self { root, given: path.to_owned(), real, way })
    }

    /// The same folder, with paths resolved by hand although the kernel could.
    #[cfg(test)]
    pub(super) fn by_hand(mut self) -> Self {
        self.way = Way::ByHand;
        self
    }

    pub(super) fn path(&self) -> &Path {
        &self.real
    }

    /// Reads a path that a model wrote.
    pub(super) fn place(&self, text: &str) -> Result<Place, Fault> {
        Place::read(text, &[&self.real, &self.given])
    }

    /// Opens what is at a place.
    pub(super) fn at(&self, place: &Place, flags: OFlags, links: Links) -> Result<OwnedFd, Fault> {
        let opened = match self.way {
            Way::Kernel => self.by_kernel(&place.path(), flags, links),
            Way::ByHand => walk(self.root.as_fd(), place.parts(), flags, links),
        };
        opened.map_err(|errno| Fault::of(&place.to_string(), errno))
    }

    fn by_kernel(&self, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        if links == Links::Refuse {
            resolve |= ResolveFlags::NO_SYMLINKS;
        }
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let mut last = Errno::AGAIN;
        for _ in 0..TRIES {
            match openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
                Err(errno @ (Errno::AGAIN | Errno::INTR)) => last = errno,
                done => return done,
            }
        }
        Err(last)
    }

    /// Opens a regular file for reading.
    pub(super) fn file(&self, place: &Place, links: Links) -> Result<(File, Stat), Fault> {
        regular(self.at(place, READ, links)?, place)
    }

    /// Opens the folder in which a place is, without any link on the way, and gives its name there.
    pub(super) fn parent<'a>(
        &self,
        place: &'a Place,
        absent: Absent,
    ) -> Result<(OwnedFd, &'a str), Fault> {
        let shown = || place.to_string();
        let Some((folders, name)) = place.split() else {
            return Err(Fault::IsFolder { path: shown(), instead: "name a file in it" });
        };
        let fault = |errno| Fault::of(&place.to_string(), errno);
        let mut here = openat(&self.root, c".", FOLDER, Mode::empty()).map_err(fault)?;
        for folder in folders {
            let flags = FOLDER | OFlags::NOFOLLOW;
            here = match openat(&here, folder, flags, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) if absent == Absent::Make => {
                    match mkdirat(&here, folder, Mode::from_raw_mode(0o777)) {
                        // Somebody else made it in the meantime.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(fault(errno)),
                    }
                    openat(&here, folder, flags, Mode::empty()).map_err(fault)?
                }
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    return Err(link(here.as_fd(), folder, place)
                        .unwrap_or_else(|| Fault::NotFolder { path: shown() }));
                }
                Err(errno) => return Err(fault(errno)),
            };
        }
        Ok((here, name))
    }

    /// Where an open file really is, as seen from the folder.
    pub(super) fn whereabouts(&self, file: impl AsFd) -> Option<PathBuf> {
        use std::os::fd::AsRawFd;
        let name = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        let real = readlinkat(CWD, name, Vec::new()).ok()?;
        let real = PathBuf::from(OsString::from_vec(real.into_bytes()));
        real.strip_prefix(&self.real).ok().map(Path::to_owned)
    }
}

/// The fault that says where a link leads, if there is one of this name.
pub(super) fn link(folder: BorrowedFd<'_>, name: &str, place: &Place) -> Option<Fault> {
    let target = readlinkat(folder, name, Vec::new()).ok()?;
    let to = format!(" (`{name}` leads to `{}`)", super::input::clip(&target.to_string_lossy()));
    Some(Fault::Link { path: place.to_string(), to })
}

/// Takes an open file for what it must be: a regular one.
pub(super) fn regular(file: OwnedFd, place: &Place) -> Result<(File, Stat), Fault> {
    let path = || place.to_string();
    let stat = fstat(&file).map_err(|errno| Fault::of(&path(), errno))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::RegularFile {
        Ok((File::from(file), stat))
    } else if kind == FileType::Directory {
        Err(Fault::IsFolder { path: path(), instead: "use list_files to see what is in it" })
    } else {
        Err(Fault::Special { path: path(), what: name_of(kind) })
    }
}

pub(super) fn name_of(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}

/// What a name in a folder is, without following it.
pub(super) fn stat_in(folder: impl AsFd, name: &CStr) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Opens a path name by name. Folders on the way stay open, so that a step upwards is a step back and never a look at
/// what is above by now.
fn walk(
    root: BorrowedFd<'_>,
    parts: &[String],
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    let mut folders: Vec<OwnedFd> = Vec::new();
    let mut ahead: Vec<OsString> = parts.iter().rev().map(OsString::from).collect();
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
                if links == Links::Refuse || followed > MOST_LINKS {
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
