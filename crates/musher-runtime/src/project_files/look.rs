//! Looks at the files of a folder that a program would execute, without following a link or waiting for a pipe.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::Dir;
use rustix::io::Errno;

use musher_os::untrusted::{self, FolderEntry, Unfit};

use super::{FileEffect, FoundFile, MAX_PROJECT_FILE_SIZE_BYTES, ProjectFile, Snapshot};

/// More files than these are nobody's settings.
const MAX_PROJECT_FILES: usize = 2_000;
const DEEPEST: usize = 16;

impl Snapshot {
    /// What a folder has of the files that a program would execute. This blocks for a moment.
    pub fn of_folder(folder: &Path, files: &[ProjectFile]) -> io::Result<Self> {
        let top = OwnedFd::from(untrusted::folder_at(folder).map_err(Unfit::into_io)?);
        let mut look = ProjectScan { snapshot: Self::default(), files };
        let (anywhere, at_top): (Vec<_>, Vec<_>) = files
            .iter()
            .filter(|file| file.effect == FileEffect::Executes)
            .partition(|file| file.is_anywhere());
        for file in at_top {
            look.descend(&top, "", &names_of(file), 0);
        }
        if !anywhere.is_empty() {
            let wanted = anywhere.into_iter().map(names_of).collect();
            super::walk::everywhere(&mut look, &top, wanted);
        }
        Ok(look.snapshot)
    }
}

fn names_of(file: &ProjectFile) -> Vec<&str> {
    file.root().split('/').collect()
}

pub(super) struct ProjectScan<'a> {
    pub(super) snapshot: Snapshot,
    files: &'a [ProjectFile],
}

impl ProjectScan<'_> {
    /// Goes down by these names, and then through all that is there.
    pub(super) fn descend(&mut self, folder: &OwnedFd, above: &str, names: &[&str], depth: usize) {
        let Some((name, rest)) = names.split_first() else {
            return self.all_in(folder, above, depth);
        };
        let path = if above.is_empty() { (*name).to_owned() } else { format!("{above}/{name}") };
        if self.snapshot.files.contains_key(&path) {
            return;
        }
        let found = match untrusted::entry_in(folder, name, MAX_PROJECT_FILE_SIZE_BYTES) {
            Ok(None) => return,
            Ok(Some(FolderEntry::Folder(opened))) => {
                return self.descend(&opened, &path, rest, depth + 1);
            }
            Ok(Some(FolderEntry::File(bytes))) => FoundFile::Bytes(bytes),
            Ok(Some(FolderEntry::TooLong)) => {
                FoundFile::Odd(format!("a file of more than {MAX_PROJECT_FILE_SIZE_BYTES} bytes"))
            }
            Ok(Some(FolderEntry::Link(target))) => FoundFile::Odd(format!("a link to {target}")),
            Ok(Some(FolderEntry::Odd(_))) => {
                FoundFile::Odd("no file, but a pipe, a socket or a device".into())
            }
            Err(error) => {
                let why = error.into_io();
                FoundFile::Odd(format!("something that cannot be read: {why}"))
            }
        };
        self.snapshot.add(self.files, &path, found);
    }

    fn all_in(&mut self, folder: &OwnedFd, path: &str, depth: usize) {
        let names = match names_in(folder) {
            Ok(names)
                if depth <= DEEPEST
                    && self.snapshot.files.len() + names.len() <= MAX_PROJECT_FILES =>
            {
                names
            }
            Ok(_) => {
                return self
                    .snapshot
                    .put(path.to_owned(), FoundFile::Odd("a folder with too much in it".into()));
            }
            Err(errno) => {
                let what = format!("a folder that cannot be read: {errno}");
                return self.snapshot.put(path.to_owned(), FoundFile::Odd(what));
            }
        };
        for name in names {
            match name {
                Ok(name) => self.descend(folder, path, &[&name], depth),
                // It could not be opened by what is shown of it.
                Err(shown) => {
                    let what = FoundFile::Odd("a file whose name is no text".into());
                    self.snapshot.put(format!("{path}/{shown}"), what);
                }
            }
        }
    }
}

/// The names in a folder; one that is no text is an error that shows it as well as it can be.
fn names_in(folder: &OwnedFd) -> Result<Vec<Result<String, String>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            let text = name.to_str().map(str::to_owned);
            names.push(text.map_err(|_| name.to_string_lossy().into_owned()));
        }
        if names.len() > MAX_PROJECT_FILES {
            break;
        }
    }
    names.sort_unstable();
    Ok(names)
}
