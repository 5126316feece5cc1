//! The working folder as an open descriptor, below which everything is opened: nothing else can be reached through it.

use std::ffi::{CStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, readlinkat, statat,
};
use rustix::io::Errno;

use super::fault::ToolFault;
use super::place::RelativePath;
use musher_os::untrusted::{Kind, Way, open_beneath};

pub(super) use musher_os::untrusted::{FOLDER, Links, READ};

/// The working folder.
#[derive(Debug)]
pub(super) struct WorkFolder {
    root: OwnedFd,
    /// Its names: as it was given, and as it really is.
    given: PathBuf,
    real: PathBuf,
    way: Way,
}

/// What happens to folders that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    Make,
    Refuse,
}

impl WorkFolder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let root = open(&real, FOLDER, Mode::empty())?;
        let way = Way::of(&root);
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
    pub(super) fn place(&self, text: &str) -> Result<RelativePath, ToolFault> {
        RelativePath::read(text, &[&self.real, &self.given])
    }

    /// Opens what is at a place.
    pub(super) fn at(
        &self,
        place: &RelativePath,
        flags: OFlags,
        links: Links,
    ) -> Result<OwnedFd, ToolFault> {
        let opened = open_beneath(&self.root, &place.path(), flags, links, self.way);
        opened.map_err(|errno| ToolFault::of(&place.to_string(), errno))
    }

    /// Opens a regular file for reading.
    pub(super) fn file(
        &self,
        place: &RelativePath,
        links: Links,
    ) -> Result<(File, Stat), ToolFault> {
        regular(self.at(place, READ, links)?, place)
    }

    /// Opens the folder in which a place is, without any link on the way, and gives its name there.
    pub(super) fn parent<'a>(
        &self,
        place: &'a RelativePath,
        absent: Absent,
    ) -> Result<(OwnedFd, &'a str), ToolFault> {
        let shown = || place.to_string();
        let Some((folders, name)) = place.split() else {
            return Err(ToolFault::IsFolder { path: shown(), instead: "name a file in it" });
        };
        let fault = |errno| ToolFault::of(&place.to_string(), errno);
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
                        .unwrap_or_else(|| ToolFault::NotFolder { path: shown() }));
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
pub(super) fn link(folder: BorrowedFd<'_>, name: &str, place: &RelativePath) -> Option<ToolFault> {
    let target = readlinkat(folder, name, Vec::new()).ok()?;
    let to = format!(" (`{name}` leads to `{}`)", super::input::clip(&target.to_string_lossy()));
    Some(ToolFault::Link { path: place.to_string(), to })
}

/// Takes an open file for what it must be: a regular one.
pub(super) fn regular(file: OwnedFd, place: &RelativePath) -> Result<(File, Stat), ToolFault> {
    let path = || place.to_string();
    let stat = fstat(&file).map_err(|errno| ToolFault::of(&path(), errno))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::RegularFile {
        Ok((File::from(file), stat))
    } else if kind == FileType::Directory {
        Err(ToolFault::IsFolder { path: path(), instead: "use list_files to see what is in it" })
    } else {
        Err(ToolFault::Special { path: path(), what: Kind::from(kind).words() })
    }
}

/// What a name in a folder is, without following it.
pub(super) fn stat_in(folder: impl AsFd, name: &CStr) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}
