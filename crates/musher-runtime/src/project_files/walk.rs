//! Goes through all folders below one for the files that a program would execute wherever they lie.
//!
//! A folder that the repository ignores by its name is left out: programs load nothing from there, and what is installed
//! into it is large. What is ignored in a less simple way is looked through, since too much is noticed rather than too
//! little. A disk that is mounted below may never answer, so none is entered.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use musher_core::path_fits;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat, statat,
};
use rustix::io::Errno;

use musher_os::untrusted::{self, FOLDER, FolderEntry, Links, Way, open_beneath};

use super::FoundFile;
use super::look::ProjectScan;

/// More folders than these are not looked through before each prompt.
const MAX_WALKED_FOLDERS: usize = 200_000;
const DEEPEST: usize = 128;
/// No list of what is ignored is longer.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;
const IGNORES: &str = ".gitignore";

/// Adds what lies by one of these ways of names in any folder.
pub(super) fn everywhere(look: &mut ProjectScan<'_>, top: &OwnedFd, wanted: Vec<Vec<&str>>) {
    let is_repository = statat(top, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let mut walk = Walk { look, top, wanted, is_repository, way: Way::of(top), folders: 0 };
    walk.through(top, "", &Ignored::default(), 0);
}

struct Walk<'a, 'b> {
    look: &'a mut ProjectScan<'b>,
    top: &'a OwnedFd,
    wanted: Vec<Vec<&'a str>>,
    is_repository: bool,
    way: Way,
    folders: usize,
}

impl Walk<'_, '_> {
    fn through(&mut self, folder: &OwnedFd, path: &str, ignored: &Ignored, depth: usize) {
        self.folders += 1;
        if self.folders > MAX_WALKED_FOLDERS || depth > DEEPEST {
            let place = if path.is_empty() { "." } else { path };
            return self.odd(place, "a folder with more below it than is looked through".into());
        }
        let dir = match Dir::read_from(folder) {
            Ok(dir) => dir,
            Err(errno) => return self.unread(path, errno),
        };
        let (mut folders, mut links, mut ignores) = (Vec::new(), Vec::new(), false);
        let mut named = vec![false; self.wanted.len()];
        for entry in dir {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => return self.unread(path, errno),
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            ignores |= name.to_bytes() == IGNORES.as_bytes();
            for (names, named) in self.wanted.iter().zip(&mut named) {
                *named |= names.first().is_some_and(|first| first.as_bytes() == name.to_bytes());
            }
            let kind = kind(folder, name, entry.file_type());
            if kind == FileType::Directory {
                folders.push(name.to_owned());
            } else if kind == FileType::Symlink {
                links.push(name.to_owned());
            }
        }
        let named = self.wanted.iter().zip(named).filter(|(_, named)| *named);
        for names in named.map(|(names, _)| names) {
            self.look.descend(folder, path, names, 0);
        }
        let own = (ignores && self.is_repository).then(|| ignored.with(folder));
        let ignored = own.as_ref().unwrap_or(ignored);
        for name in folders {
            let shown = name.to_string_lossy();
            if ignored.has(&shown) {
                continue;
            }
            let below = joined(path, &shown);
            match folder_in(folder, &name) {
                Ok(opened) => self.through(&opened, &below, &ignored.below(), depth + 1),
                Err(Errno::XDEV) => self.odd(&below, "a folder on another disk".into()),
                Err(errno) => self.unread(&below, errno),
            }
        }
        for name in links {
            let shown = name.to_string_lossy();
            if !ignored.has(&shown) {
                self.link(folder, &name, &joined(path, &shown));
            }
        }
    }

    /// A link to a folder: one that stays inside shows nothing new, and one that leads outside shows what we do not see.
    fn link(&mut self, folder: &OwnedFd, name: &CStr, path: &str) {
        let is_folder = statat(folder, name, AtFlags::empty())
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        let is_known = self.look.snapshot.files.contains_key(path);
        let is_inside =
            || open_beneath(self.top, Path::new(path), FOLDER, Links::Follow, self.way).is_ok();
        if is_folder && !is_known && !is_inside() {
            let target = readlinkat(folder, name, Vec::new()).unwrap_or_default();
            self.odd(path, format!("a link to a folder outside, {}", target.to_string_lossy()));
        }
    }

    /// What we cannot read, an agent's program cannot either; a folder that has just gone has nothing in it.
    fn unread(&mut self, path: &str, errno: Errno) {
        if !matches!(errno, Errno::ACCESS | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
            let place = if path.is_empty() { "." } else { path };
            self.odd(place, format!("a folder that cannot be read: {errno}"));
        }
    }

    fn odd(&mut self, path: &str, what: String) {
        self.look.snapshot.put(path.to_owned(), FoundFile::Odd(what));
    }
}

/// Opens a folder, but not the top of another disk.
fn folder_in(folder: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = FOLDER | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    match openat2(folder, name, flags, Mode::empty(), resolve) {
        // An old kernel, or a filter on system calls.
        Err(Errno::NOSYS | Errno::PERM) => openat(folder, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// What an entry is; some disks do not tell it with the name.
fn kind(folder: &OwnedFd, name: &CStr, told: FileType) -> FileType {
    if told != FileType::Unknown {
        return told;
    }
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

fn joined(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

/// The names that are ignored in a folder, as patterns.
#[derive(Debug, Clone, Default)]
struct Ignored {
    /// From here on down.
    names: Vec<String>,
    /// In this folder alone.
    here: Vec<String>,
}

impl Ignored {
    fn has(&self, name: &str) -> bool {
        self.names.iter().chain(&self.here).any(|ignored| path_fits(ignored, name))
    }

    fn below(&self) -> Self {
        Self { names: self.names.clone(), here: Vec::new() }
    }

    /// With what the list in this folder says. One that cannot be read takes all of it back.
    fn with(&self, folder: &OwnedFd) -> Self {
        let Ok(Some(FolderEntry::File(list))) =
            untrusted::entry_in(folder, IGNORES, MAX_IGNORE_FILE_BYTES)
        else {
            return Self::default();
        };
        let mut ignored = self.clone();
        for line in String::from_utf8_lossy(&list).lines() {
            let line = line.trim_end();
            match line.strip_prefix('!') {
                Some(again) => {
                    let last = again.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                    // Two patterns may fit the same name unless both are plain and differ.
                    let apart = |name: &String| is_plain(last) && is_plain(name) && last != name;
                    ignored.names.retain(apart);
                    ignored.here.retain(apart);
                }
                None => {
                    let name = line.strip_suffix('/').unwrap_or(line);
                    let (name, list) = match name.strip_prefix('/') {
                        Some(name) => (name, &mut ignored.here),
                        None => (name, &mut ignored.names),
                    };
                    if !name.is_empty() && !name.contains(['/', '[', '\\', '#']) {
                        list.push(name.to_owned());
                    }
                }
            }
        }
        ignored
    }
}

fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '\\'])
}
