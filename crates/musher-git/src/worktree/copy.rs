//! Copies files that git does not carry, such as `.env`, from the main checkout into a slot.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawMode, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::{SlotId, WorktreeError, WorktreeSlots};
use crate::RelPath;

/// What a copy is called until it is whole.
const PART: &str = ".musher-copy.part";

impl WorktreeSlots {
    /// Copies the listed files from the main checkout, with their permissions. A link out of the checkout is not
    /// followed, and neither is any link in the slot.
    pub fn copy_files(&self, slot: SlotId) -> Result<(), WorktreeError> {
        let checkout = self.checkout(slot)?;
        for file in &self.files.copy {
            copy(self.git.root(), checkout.root(), file)
                .map_err(|why| WorktreeError::Copy { file: file.clone(), why })?;
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path, file: &RelPath) -> Result<(), String> {
    let mut source = open_source(from, file)?;
    let about = source.metadata().map_err(told)?;
    let (folder, name) = descend(to, file.as_path(), Missing::Make)?;
    let mode = Mode::from_raw_mode((about.permissions().mode() & 0o777) as RawMode);
    // A file that is not whole never stands under its own name.
    unlinkat(&folder, PART, AtFlags::empty()).ok();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let part = openat(&folder, PART, flags, mode).map_err(told)?;
    let mut part = File::from(part);
    let copied = io::copy(&mut source, &mut part)
        .and_then(|_| part.set_permissions(about.permissions()))
        .and_then(|()| renameat(&folder, PART, &folder, name).map_err(io::Error::from));
    copied.map_err(|error| {
        unlinkat(&folder, PART, AtFlags::empty()).ok();
        told(error)
    })
}

fn told(error: impl Into<io::Error>) -> String {
    error.into().to_string()
}

/// Opens a plain file for reading that lies beneath the folder, also when links on the way are resolved.
fn open_source(root: &Path, file: &RelPath) -> Result<File, String> {
    let root = root.canonicalize().map_err(told)?;
    let full = file.beneath(&root).canonicalize();
    let full = full.map_err(|error| match error.kind() == io::ErrorKind::NotFound {
        true => "there is no such file in the main checkout".to_owned(),
        false => error.to_string(),
    })?;
    let Ok(inside) = full.strip_prefix(&root) else {
        return Err(format!("it is a link out of the checkout, to {}", full.display()));
    };
    if inside.components().any(|part| part.as_os_str() == ".git") {
        return Err("it is a link to git's own files".to_owned());
    }
    let (folder, name) = descend(&root, inside, Missing::Refuse)?;
    // A pipe that nobody writes to must not hold us up.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(openat(&folder, name, flags, Mode::empty()).map_err(told)?);
    match opened.metadata().map_err(told)?.is_file() {
        true => Ok(opened),
        false => Err("it is no plain file".to_owned()),
    }
}

/// What becomes of a folder on the way that is not there.
#[derive(Clone, Copy)]
enum Missing {
    Make,
    Refuse,
}

/// Opens the folder of a file step by step, so that no link on the way can lead elsewhere, whoever puts it there and when.
fn descend<'a>(
    root: &Path,
    file: &'a Path,
    missing: Missing,
) -> Result<(OwnedFd, &'a OsStr), String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = openat(CWD, root, flags, Mode::empty()).map_err(told)?;
    for part in file.parent().into_iter().flat_map(Path::iter) {
        let made = match missing {
            Missing::Make => mkdirat(&folder, part, Mode::from_raw_mode(0o777)),
            Missing::Refuse => Ok(()),
        };
        match made {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(told(error)),
        }
        folder = openat(&folder, part, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => format!("{} is no folder there", part.display()),
            error => told(error),
        })?;
    }
    let name = file.file_name().ok_or("it has no name")?;
    Ok((folder, name))
}
