//! Reads files that an agent may have put where they are: plain ones only, without following a link and without waiting.
//!
//! Opening a pipe waits for its writer, a device may never end, and a link leads elsewhere. So whatever lies where an
//! agent can write is opened here and nowhere else: it is looked at first, opened so that nothing can hold us up, and
//! looked at again when it is open, because it may have been swapped meanwhile.

mod beneath;
mod copy;
mod kind;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fsync, open as open_at, openat,
    openat2, readlinkat, statat,
};
use rustix::io::Errno;

pub use beneath::{Links, Way, open_beneath};
pub use copy::{CopyLimits, copy_tree};
pub use kind::Kind;

/// Nothing that is opened may hang or become a terminal.
pub const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// A folder, for a look into it.
pub const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error("there is no {path}")]
    Missing { path: PathBuf },
    #[error("{path} is {kind}, where a plain file belongs; remove it")]
    Odd { path: PathBuf, kind: Kind },
    #[error("{path} is {kind}, where a folder belongs; remove it")]
    NoFolder { path: PathBuf, kind: Kind },
    #[error("{path} is led elsewhere by a link; put a folder in the place of the link")]
    Led { path: PathBuf },
    #[error("{path} is longer than the {most} bytes that such a file can have; remove it")]
    TooLong { path: PathBuf, most: u64 },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl Unfit {
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// What it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Missing { path }
            | Self::Odd { path, .. }
            | Self::NoFolder { path, .. }
            | Self::Led { path }
            | Self::TooLong { path, .. }
            | Self::Io { path, .. } => path,
        }
    }

    /// The same as the system would tell it, for those who pass on what the system says.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Io { source, .. } => source,
            Self::Missing { .. } => io::Error::new(io::ErrorKind::NotFound, self.to_string()),
            Self::Odd { .. } | Self::NoFolder { .. } | Self::Led { .. } | Self::TooLong { .. } => {
                io::Error::new(io::ErrorKind::InvalidData, self.to_string())
            }
        }
    }

    fn of(path: &Path, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::Missing { path },
            Errno::LOOP => Self::Odd { path, kind: Kind::Link },
            errno => Self::Io { path, source: errno.into() },
        }
    }
}

/// What stands at a path, without opening it or following it; `None` if nothing does.
pub fn kind(path: &Path) -> Result<Option<Kind>, Unfit> {
    match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode).into())),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(Unfit::of(path, errno)),
    }
}

/// Opens a plain file for reading.
pub fn open(path: &Path) -> Result<File, Unfit> {
    // A device may take its opening for a command, so the usual one is told before it is opened.
    match kind(path)? {
        None => return Err(Unfit::Missing { path: path.to_owned() }),
        Some(Kind::File) => {}
        Some(kind) => return Err(Unfit::Odd { path: path.to_owned(), kind }),
    }
    let flags = READ | OFlags::NOFOLLOW;
    plain(open_at(path, flags, Mode::empty()).map_err(|errno| Unfit::of(path, errno))?, path)
}

/// Opens a plain file for reading and writing; it is made if it is not there.
pub fn open_or_make(path: &Path, mode: Mode) -> Result<File, Unfit> {
    make(path, OFlags::RDWR, mode)
}

/// Opens a plain file to which something is added; it is made for its owner alone if it is not there.
pub fn append(path: &Path) -> Result<File, Unfit> {
    make(path, OFlags::WRONLY | OFlags::APPEND, Mode::RUSR | Mode::WUSR)
}

/// Opens a plain file for writing, with nothing in it; it is made if it is not there.
pub fn empty(path: &Path) -> Result<File, Unfit> {
    make(path, OFlags::RDWR | OFlags::TRUNC, Mode::from_raw_mode(0o666))
}

/// Opens a folder by any path, for its names to be synced.
pub fn folder_at(path: &Path) -> Result<File, Unfit> {
    let opened = open_at(path, FOLDER, Mode::empty()).map_err(|errno| Unfit::of(path, errno))?;
    Ok(File::from(opened))
}

/// Returns when the names in a folder are on the disk.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    Ok(fsync(open_at(path, FOLDER, Mode::empty())?)?)
}

fn make(path: &Path, flags: OFlags, mode: Mode) -> Result<File, Unfit> {
    match kind(path)? {
        None | Some(Kind::File) => {}
        Some(kind) => return Err(Unfit::Odd { path: path.to_owned(), kind }),
    }
    let flags = flags | OFlags::CREATE | OFlags::NOFOLLOW;
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    plain(open_at(path, flags, mode).map_err(|errno| Unfit::of(path, errno))?, path)
}

/// Takes an open file for what it must be.
fn plain(file: OwnedFd, path: &Path) -> Result<File, Unfit> {
    let stat = fstat(&file).map_err(|errno| Unfit::of(path, errno))?;
    let kind = Kind::from(FileType::from_raw_mode(stat.st_mode));
    match kind == Kind::File {
        true => Ok(File::from(file)),
        false => Err(Unfit::Odd { path: path.to_owned(), kind }),
    }
}

/// Reads a plain file whole, if it has no more bytes than such a file can have.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unfit> {
    read_open(open(path)?, path, most)
}

/// The same; `None` if nothing is there.
pub fn read_if_there(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Unfit> {
    match read(path, most) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Unfit::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a plain file beneath a folder, whatever links the folder holds.
pub fn read_beneath(folder: &Path, path: &Path, links: Links, most: u64) -> Result<Vec<u8>, Unfit> {
    let shown = folder.join(path);
    let root = open_at(folder, FOLDER | OFlags::NOFOLLOW, Mode::empty());
    let root = root.map_err(|errno| Unfit::of(folder, errno))?;
    let opened = open_beneath(&root, path, READ, links, Way::of(&root));
    let opened = opened.map_err(|errno| match errno {
        Errno::XDEV => Unfit::Led { path: shown.clone() },
        errno => Unfit::of(&shown, errno),
    })?;
    read_open(plain(opened, &shown)?, &shown, most)
}

fn read_open(file: File, path: &Path, most: u64) -> Result<Vec<u8>, Unfit> {
    let failed = |source| Unfit::Io { path: path.to_owned(), source };
    let length = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    if length <= most {
        // It may grow while it is read.
        file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    match length > most || bytes.len() as u64 > most {
        true => Err(Unfit::TooLong { path: path.to_owned(), most }),
        false => Ok(bytes),
    }
}

/// What an open folder has under a name.
#[derive(Debug)]
pub enum FolderEntry {
    Folder(OwnedFd),
    File(Vec<u8>),
    /// A file with more bytes than such a file can have.
    TooLong,
    /// A link, and where it leads; it was not followed.
    Link(String),
    /// A pipe, a socket or a device.
    Odd(Kind),
}

/// Looks at a name in an open folder and reads a plain file there; `None` if nothing is there.
pub fn entry_in(folder: impl AsFd, name: &str, most: u64) -> Result<Option<FolderEntry>, Unfit> {
    let (folder, path) = (folder.as_fd(), Path::new(name));
    let unfit = |errno| Unfit::of(path, errno);
    let kind = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Kind::from(FileType::from_raw_mode(stat.st_mode)),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(unfit(errno)),
    };
    Ok(Some(match kind {
        Kind::File => {
            let opened = openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty());
            match read_open(plain(opened.map_err(unfit)?, path)?, path, most) {
                Ok(bytes) => FolderEntry::File(bytes),
                Err(Unfit::TooLong { .. }) => FolderEntry::TooLong,
                Err(error) => return Err(error),
            }
        }
        Kind::Folder => {
            let opened = openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
            FolderEntry::Folder(opened.map_err(unfit)?)
        }
        Kind::Link => {
            let target = readlinkat(folder, name, Vec::new()).map_err(unfit)?;
            FolderEntry::Link(target.to_string_lossy().into_owned())
        }
        kind @ (Kind::Pipe | Kind::Socket | Kind::Device | Kind::Unknown) => FolderEntry::Odd(kind),
    }))
}

/// Opens a folder by a whole path on which there is no link.
pub fn folder(path: &Path) -> Result<OwnedFd, Unfit> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let told = |errno| match (errno, kind(path)) {
        (Errno::NOENT, _) | (_, Ok(None)) => Unfit::Missing { path: path.to_owned() },
        (Errno::LOOP | Errno::NOTDIR, Ok(Some(Kind::Folder))) => {
            Unfit::Led { path: path.to_owned() }
        }
        (Errno::LOOP | Errno::NOTDIR, Ok(Some(kind))) => {
            Unfit::NoFolder { path: path.to_owned(), kind }
        }
        (errno, _) => Unfit::of(path, errno),
    };
    match openat2(CWD, path, FOLDER, Mode::empty(), resolve) {
        Ok(folder) => Ok(folder),
        // An old kernel, or a filter on system calls.
        Err(Errno::NOSYS | Errno::PERM) => {
            let flags = FOLDER | OFlags::NOFOLLOW;
            let opened = open_at(path, flags, Mode::empty()).map_err(told)?;
            match path.canonicalize().is_ok_and(|real| real == path) {
                true => Ok(opened),
                false => Err(Unfit::Led { path: path.to_owned() }),
            }
        }
        Err(errno) => Err(told(errno)),
    }
}

/// Makes a file that is not there yet, in nothing's place.
pub fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(open_at(path, flags, Mode::from_raw_mode(0o666))?))
}

/// Puts a file in the place of whatever is at a path, in one step. All of it is on the disk then, or nothing is changed.
/// A file elsewhere that has this name as a second one keeps its bytes.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests;
