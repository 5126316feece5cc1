//! Looks at the files of a folder that a program would execute, without following a link or waiting for a pipe.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, open, openat, readlinkat};
use rustix::io::Errno;

use super::{Effect, Found, LARGEST, ProjectFile, Snapshot};

/// More files than these are nobody's settings.
const MOST_FILES: usize = 2_000;
const DEEPEST: usize = 16;
/// Nothing that is opened may hang, become a terminal or lead elsewhere.
const OPEN: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Snapshot {
    /// What a folder has of the files that a program would execute. This blocks for a moment.
    pub fn of_folder(folder: &Path, files: &[ProjectFile]) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = open(folder, flags, Mode::empty())?;
        let mut look = Look { snapshot: Self::default(), files };
        for file in files.iter().filter(|file| file.effect == Effect::Executes) {
            let names: Vec<&str> = file.root().split('/').collect();
            look.descend(&top, "", &names, 0);
        }
        Ok(look.snapshot)
    }
}

struct Look<'a> {
    snapshot: Snapshot,
    files: &'a [ProjectFile],
}

impl Look<'_> {
    /// Goes down by these names, and then through all that is there.
    fn descend(&mut self, folder: &OwnedFd, above: &str, names: &[&str], depth: usize) {
        let Some((name, rest)) = names.split_first() else {
            return self.all_in(folder, above, depth);
        };
        let path = if above.is_empty() { (*name).to_owned() } else { format!("{above}/{name}") };
        if self.snapshot.files.contains_key(&path) {
            return;
        }
        match openat(folder, *name, OPEN, Mode::empty()) {
            Ok(opened) => self.opened(opened, &path, rest, depth),
            Err(Errno::NOENT) => {}
            Err(errno) => {
                let target = readlinkat(folder, *name, Vec::new());
                let what = match target {
                    Ok(target) => format!("a link to {}", target.to_string_lossy()),
                    Err(_) => format!("something that cannot be opened: {errno}"),
                };
                self.snapshot.add(self.files, &path, Found::Odd(what));
            }
        }
    }

    fn opened(&mut self, opened: OwnedFd, path: &str, rest: &[&str], depth: usize) {
        let kind = fstat(&opened).map(|stat| (FileType::from_raw_mode(stat.st_mode), stat.st_size));
        let found = match kind {
            Ok((FileType::Directory, _)) => return self.descend(&opened, path, rest, depth + 1),
            Ok((FileType::RegularFile, _)) => read(opened),
            Ok(_) => Found::Odd("no file, but a pipe, a socket or a device".into()),
            Err(errno) => Found::Odd(format!("something that cannot be looked at: {errno}")),
        };
        self.snapshot.add(self.files, path, found);
    }

    fn all_in(&mut self, folder: &OwnedFd, path: &str, depth: usize) {
        let names = match names_in(folder) {
            Ok(names)
                if depth <= DEEPEST && self.snapshot.files.len() + names.len() <= MOST_FILES =>
            {
                names
            }
            Ok(_) => {
                return self
                    .snapshot
                    .put(path.to_owned(), Found::Odd("a folder with too much in it".into()));
            }
            Err(errno) => {
                let what = format!("a folder that cannot be read: {errno}");
                return self.snapshot.put(path.to_owned(), Found::Odd(what));
            }
        };
        for name in names {
            match name {
                Ok(name) => self.descend(folder, path, &[&name], depth),
                // It could not be opened by what is shown of it.
                Err(shown) => {
                    let what = Found::Odd("a file whose name is no text".into());
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
        if names.len() > MOST_FILES {
            break;
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn read(file: OwnedFd) -> Found {
    let mut bytes = Vec::new();
    match File::from(file).take(LARGEST + 1).read_to_end(&mut bytes) {
        Ok(read) if read as u64 > LARGEST => {
            Found::Odd(format!("a file of more than {LARGEST} bytes"))
        }
        Ok(_) => Found::Bytes(bytes),
        Err(error) => Found::Odd(format!("a file that cannot be read: {error}")),
    }
}
