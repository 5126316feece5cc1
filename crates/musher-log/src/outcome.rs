//! How a run ended, in a file that is there as a whole or not at all; and the room that is kept for it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use musher_os::untrusted::{self, Unfit};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::LogError;
use super::folder;
use musher_os::reserved_space;

/// Enough for the closing events and the outcome with the agent's last words.
const BALLAST: u64 = 128 * 1024;

/// No outcome is longer.
const MAX_OUTCOME_BYTES: u64 = 64 << 20;

/// Records the outcome so that it survives a loss of power. If the disk is full, the room kept for it is used.
pub fn write(dir: &Path, outcome: &impl Serialize) -> Result<(), LogError> {
    let path = folder::outcome(dir);
    let mut bytes = serde_json::to_vec(outcome).map_err(|error| LogError::Io {
        doing: "write the outcome as JSON to",
        path: path.clone(),
        source: error.into(),
    })?;
    bytes.push(b'\n');
    let failed = |error| LogError::of("write", &path, error);
    match replace(dir, &path, &bytes).map_err(failed) {
        Err(LogError::Full { .. }) => {
            // The ballast becomes the file itself: a disk without names left would give nobody a new one.
            let _gone_already = fs::rename(folder::ballast(dir), unborn(&path));
            replace(dir, &path, &bytes).map_err(failed)
        }
        other => other,
    }
}

/// The outcome; none while the run goes on, or when its writer died before it could say.
pub fn read<T: DeserializeOwned>(dir: &Path) -> Result<Option<T>, LogError> {
    let path = folder::outcome(dir);
    let failed = |source| LogError::Io { doing: "read", path: path.clone(), source };
    let bytes = match untrusted::read_if_there(&path, MAX_OUTCOME_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(unfit) => return Err(failed(unfit.into_io())),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into()))
}

/// Whether an outcome is there, readable or not.
pub fn is_recorded(dir: &Path) -> bool {
    folder::outcome(dir).exists()
}

/// What the outcome is called until it is whole.
fn unborn(path: &Path) -> PathBuf {
    path.with_extension("new")
}

fn replace(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unborn = unborn(path);
    let mut file = untrusted::empty(&unborn).map_err(Unfit::into_io)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unborn, path)?;
    untrusted::sync_folder(dir)
}

/// Keeps some room on the disk for the last words of a run.
pub(super) fn keep_ballast(dir: &Path) -> Result<(), LogError> {
    let path = folder::ballast(dir);
    reserved_space::keep(&path, BALLAST).map_err(|error| LogError::of("keep room in", &path, error))
}

/// Gives the room back. If that fails there is nothing more to be done about it.
pub(super) fn drop_ballast(dir: &Path) {
    let _gone_or_not = fs::remove_file(folder::ballast(dir));
}
