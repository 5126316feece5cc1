//! Repositories that an agent has put into folders of the repository itself.
//!
//! Git never touches a `.git`, so cleaning leaves one that stands beside known files. The next agent's git would take it for
//! its repository, with all the settings in it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::path::RelPath;
use super::shadow::Shadow;

/// How git writes that an entry is a commit of another repository.
const GITLINK: &[u8] = b"160000 ";

/// Finds every `.git` in a worktree but its own, and those beneath the paths to keep.
pub(super) async fn find(root: &Path, keep: &[RelPath]) -> Result<Vec<PathBuf>, GitError> {
    let kept: BTreeSet<PathBuf> = keep.iter().map(|path| path.beneath(root)).collect();
    let top = root.to_owned();
    let found = tokio::task::spawn_blocking(move || walk(&top, &kept)).await;
    found.map_err(std::io::Error::other).map_err(GitError::io(root))
}

/// Removes those that were found and are still there, save for those of submodules.
pub(super) async fn remove(
    shadow: &Shadow<'_>,
    root: &Path,
    mut found: Vec<PathBuf>,
) -> Result<(), GitError> {
    found.retain(|path| path.symlink_metadata().is_ok());
    if found.is_empty() {
        return Ok(());
    }
    let list = shadow.call().args(["ls-files", "--stage", "-z"]).run().await?.stdout;
    let submodules: BTreeSet<PathBuf> = list
        .split(|b| *b == 0)
        .filter(|entry| entry.starts_with(GITLINK))
        .filter_map(|entry| entry.splitn(2, |b| *b == b'\t').nth(1))
        .map(|path| root.join(OsStr::from_bytes(path)))
        .collect();
    for path in found {
        if path.parent().is_some_and(|folder| submodules.contains(folder)) {
            continue;
        }
        let removed = match path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        removed.map_err(GitError::io(path))?;
    }
    Ok(())
}

fn walk(root: &Path, keep: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_name().eq_ignore_ascii_case(".git") {
                if folder != root {
                    found.push(entry.path());
                }
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                if !keep.contains(&path) {
                    folders.push(path);
                }
            }
        }
    }
    found
}
