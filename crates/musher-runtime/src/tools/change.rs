//! Puts a new text in the place of a file's old one, at one stroke, and tells the difference.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, openat, renameat, unlinkat};
use rustix::io::Errno;
use serde_json::{Value as Json, json};
use similar::{ChangeTag, TextDiff};

use super::beneath::{READ, link, regular};
use super::fault::ToolFault;
use super::place::RelativePath;

/// The longest file that is written or changed.
pub(super) const MAX_WRITTEN_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// How long the search for the smallest difference may take; after it, a larger one does.
const DIFF_TIME: Duration = Duration::from_millis(300);
/// How much of a difference is told.
const DIFF_KEPT: usize = 48 * 1024;

/// What is at a place before a change.
pub(super) enum Old {
    Nothing,
    File {
        bytes: Vec<u8>,
        mode: Mode,
    },
    /// Too long to be compared.
    Long {
        mode: Mode,
    },
}

/// Reads what is there, without following a link.
pub(super) fn old(
    folder: BorrowedFd<'_>,
    name: &str,
    place: &RelativePath,
) -> Result<Old, ToolFault> {
    let file = match openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(Old::Nothing),
        Err(Errno::LOOP) => {
            return Err(link(folder, name, place)
                .unwrap_or_else(|| ToolFault::of(&place.to_string(), Errno::LOOP)));
        }
        Err(errno) => return Err(ToolFault::of(&place.to_string(), errno)),
    };
    let (file, stat) = regular(file, place)?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    if size(&stat) > MAX_WRITTEN_FILE_BYTES {
        return Ok(Old::Long { mode });
    }
    let bytes = read_at_most(&file, MAX_WRITTEN_FILE_BYTES)
        .map_err(|errno| ToolFault::of(&place.to_string(), errno))?;
    Ok(Old::File { bytes, mode })
}

pub(super) fn size(stat: &rustix::fs::Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Reads a file that may grow meanwhile, up to a bound.
pub(super) fn read_at_most(file: &File, most: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(|error| errno_of(&error))?;
    Ok(bytes)
}

pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Writes a new file beside the old one and gives it the old one's name, so that nobody ever sees half of it. What is
/// behind a link of that name is not touched: the name itself is taken.
pub(super) fn replace(
    folder: &OwnedFd,
    name: &str,
    place: &RelativePath,
    bytes: &[u8],
    mode: Option<Mode>,
) -> Result<(), ToolFault> {
    let beside = format!(".musher-{}.tmp", uuid::Uuid::new_v4().simple());
    let written = write_new(folder.as_fd(), &beside, bytes, mode)
        .and_then(|()| renameat(folder, &beside, folder, name));
    written.map_err(|errno| {
        let _never_made = unlinkat(folder, &beside, AtFlags::empty());
        match errno {
            Errno::ISDIR => ToolFault::IsFolder { path: place.to_string(), instead: "name a file" },
            errno => ToolFault::of(&place.to_string(), errno),
        }
    })
}

fn write_new(
    folder: BorrowedFd<'_>,
    name: &str,
    bytes: &[u8],
    mode: Option<Mode>,
) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o666))?;
    if let Some(mode) = mode {
        fchmod(&file, mode)?;
    }
    File::from(file).write_all(bytes).map_err(|error| errno_of(&error))
}

/// The difference between two texts: for programs, with the number of lines that came and went.
pub(super) fn difference(place: &RelativePath, old: Option<&str>, new: &str) -> Json {
    let before = old.unwrap_or_default();
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(before, new);
    let (mut added, mut removed) = (0_u64, 0_u64);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let from = match old {
        Some(_) => format!("a/{place}"),
        None => "/dev/null".to_owned(),
    };
    let mut unified =
        diff.unified_diff().context_radius(3).header(&from, &format!("b/{place}")).to_string();
    let cut = unified.len() > DIFF_KEPT;
    if cut {
        unified.truncate(unified.floor_char_boundary(DIFF_KEPT));
        unified.truncate(unified.rfind('\n').map_or(0, |newline| newline + 1));
    }
    json!({
        "path": place.to_string(),
        "created": old.is_none(),
        "added": added,
        "removed": removed,
        "diff": unified,
        "diff_cut": cut,
    })
}
