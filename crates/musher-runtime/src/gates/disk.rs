//! Whether a disk that a gate works on is full, so that its failure says nothing about the work.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use tracing::warn;

/// With less than this left nothing can be built or tested.
const MIN_FREE_BYTES: u64 = 256 * 1024;

/// The folders that builds and tests write to.
pub(super) fn places(cwd: &Path, tmp: Option<&Path>, env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let given = |name: &str| {
        let found = env.iter().find(|(given, _)| given == OsStr::new(name));
        found.map(|(_, value)| cwd.join(value))
    };
    let tmp = tmp.map(Path::to_owned).or_else(|| given("TMPDIR"));
    let mut all = vec![cwd.to_owned(), tmp.unwrap_or_else(|| "/tmp".into())];
    all.extend(["HOME", "CARGO_TARGET_DIR"].into_iter().filter_map(given));
    all
}

/// Whether there is no room at one of these places.
pub(super) async fn any_is_full(places: Vec<PathBuf>) -> bool {
    // A disk of another machine may take its time.
    let look = tokio::task::spawn_blocking(move || places.iter().any(|place| is_full(place)));
    look.await.unwrap_or_else(|cause| {
        warn!(%cause, "room on the disk is not known");
        false
    })
}

fn is_full(place: &Path) -> bool {
    // What is not there has no room to look at.
    let Ok(disk) = statvfs(place) else { return false };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    // Some file systems count no files, and some that cannot be written have no size.
    let out_of_files = disk.f_files > 0 && disk.f_favail == 0;
    disk.f_blocks > 0 && (free < MIN_FREE_BYTES || out_of_files)
}
