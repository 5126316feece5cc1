//! Copies a folder that somebody may change meanwhile: by descriptors, so that no link leads out of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

/// No folder is looked into that is deeper.
const MAX_DEPTH: usize = 64;

/// How much is copied; what is beyond is left out.
#[derive(Debug, Clone, Copy)]
pub struct CopyLimits {
    pub bytes: u64,
    pub bytes_of_file: u64,
    pub entries: u64,
}

/// Copies plain files and folders, and leaves out whatever else is there and whatever cannot be read. Gives back how much was left out.
/// What is there already stays.
pub fn copy_tree(from: &Path, to: &Path, limits: CopyLimits) -> io::Result<u64> {
    let folder = openat(CWD, from, FOLDER, Mode::empty())?;
    let mut copying = Copying { limits, left_out: 0 };
    copying.folder(&folder, to, 0)?;
    Ok(copying.left_out)
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

struct Copying {
    limits: CopyLimits,
    left_out: u64,
}

impl Copying {
    fn folder(&mut self, from: &OwnedFd, to: &Path, depth: usize) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(to)?;
        for entry in Dir::read_from(from)? {
            let Ok(entry) = entry else { continue };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if self.limits.entries == 0 {
                self.left_out += 1;
                continue;
            }
            self.limits.entries -= 1;
            let target = to.join(name);
            let copied = match openat(from.as_fd(), name, FOLDER, Mode::empty()) {
                Ok(_) if depth >= MAX_DEPTH => false,
                Ok(inner) => {
                    self.folder(&inner, &target, depth + 1)?;
                    true
                }
                Err(_) => self.file(from, name, &target)?,
            };
            self.left_out += u64::from(!copied);
        }
        Ok(())
    }

    fn file(&mut self, from: &OwnedFd, name: &OsStr, target: &Path) -> io::Result<bool> {
        let Ok(file) = openat(from.as_fd(), name, FILE, Mode::empty()) else { return Ok(false) };
        let mut file = File::from(file);
        let about = file.metadata()?;
        let most = self.limits.bytes_of_file.min(self.limits.bytes);
        if !about.is_file() || about.len() > most || target.symlink_metadata().is_ok() {
            return Ok(false);
        }
        // It may grow meanwhile.
        let mut copy = super::create(target)?;
        let copied = io::copy(&mut io::Read::take(&mut file, most), &mut copy)?;
        self.limits.bytes -= copied;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_are_copied_and_nothing_is_followed_or_waited_for() {
        let top = tempfile::tempdir().unwrap();
        let (from, to) = (top.path().join("from"), top.path().join("to"));
        std::fs::create_dir_all(from.join("a/b")).unwrap();
        std::fs::create_dir(top.path().join("secret")).unwrap();
        std::fs::write(top.path().join("secret/key"), "key").unwrap();
        std::fs::write(from.join("a/b/c"), "text").unwrap();
        std::fs::write(from.join("long"), vec![0; 2000]).unwrap();
        std::os::unix::fs::symlink(top.path().join("secret"), from.join("link")).unwrap();
        std::os::unix::fs::symlink(top.path().join("secret/key"), from.join("a/link")).unwrap();
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, from.join("pipe"), pipe, Mode::RUSR, 0).unwrap();
        let limits = CopyLimits { bytes: 10_000, bytes_of_file: 1000, entries: 100 };
        assert_eq!(copy_tree(&from, &to, limits).unwrap(), 4);
        assert_eq!(std::fs::read_to_string(to.join("a/b/c")).unwrap(), "text");
        for name in ["long", "link", "a/link", "pipe"] {
            assert!(to.join(name).symlink_metadata().is_err(), "{name}");
        }
        let few = CopyLimits { entries: 1, ..limits };
        copy_tree(&from, &top.path().join("few"), few).unwrap();
        assert!(!top.path().join("few/a/b/c").exists());
    }
}
