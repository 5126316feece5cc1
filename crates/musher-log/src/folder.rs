//! The names of the files in a run's folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

const SEGMENT: (&str, &str) = ("events-", ".jsonl");
const RAW: (&str, &str) = ("raw-", ".zst");

pub(super) fn lock(dir: &Path) -> PathBuf {
    dir.join("lock")
}

pub(super) fn head(dir: &Path) -> PathBuf {
    dir.join("head")
}

pub(super) fn ballast(dir: &Path) -> PathBuf {
    dir.join("ballast")
}

pub(super) fn outcome(dir: &Path) -> PathBuf {
    dir.join("outcome.json")
}

pub(super) fn segment(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("events-{first:08}.jsonl"))
}

pub(super) fn index(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("events-{first:08}.idx"))
}

/// The name of a file, without its folder.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Where a segment is made before it gets its name.
pub(super) fn unborn_segment(dir: &Path) -> PathBuf {
    dir.join("events.new")
}

pub(super) fn raw(dir: &Path, offset: u64) -> PathBuf {
    dir.join(format!("raw-{offset:020}.zst"))
}

pub(super) fn raw_index(dir: &Path, offset: u64) -> PathBuf {
    dir.join(format!("raw-{offset:020}.idx"))
}

/// Numbers from here on are no numbers of ours, and adding to them might overflow.
const NEVER: u64 = 1 << 53;

/// The first numbers of all segments, in order.
pub(super) fn segments(dir: &Path) -> io::Result<Vec<u64>> {
    let mut found = numbers(dir, SEGMENT)?;
    found.retain(|first| *first > 0);
    Ok(found)
}

/// Whether somebody has begun the log of this run, which is done only once; nothing need be in it.
pub fn is_begun(dir: &Path) -> bool {
    segments(dir).is_ok_and(|segments| !segments.is_empty())
}

/// When the last event was written, in Unix milliseconds; nothing if there is no log.
pub fn last_written(dir: &Path) -> Option<i64> {
    let last = segments(dir).ok()?.pop()?;
    let written = fs::symlink_metadata(segment(dir, last)).ok()?.modified().ok()?;
    let since = written.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// The first offsets of all raw files, in order.
pub(super) fn raws(dir: &Path) -> io::Result<Vec<u64>> {
    numbers(dir, RAW)
}

fn numbers(dir: &Path, (start, end): (&str, &str)) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(start)?.strip_suffix(end));
        let number = number.and_then(|number| number.parse::<u64>().ok());
        found.extend(number.filter(|number| *number < NEVER));
    }
    found.sort_unstable();
    Ok(found)
}
