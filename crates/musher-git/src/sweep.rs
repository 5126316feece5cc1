//! Clears a worktree of everything that its index does not list.
//!
//! Git's own cleaning looks at each file with patterns that do not count here, and it never touches a `.git`: one that an
//! agent has put beside known files would be taken for the repository by the next agent's git, with all the settings in it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::listing::{Contents, Listing};
use super::path::RelPath;
use super::shadow::Shadow;

/// Removes all that the index of a stand-in does not list, save for the paths to keep and the files of submodules.
pub(super) async fn sweep(shadow: &Shadow<'_>, keep: &[RelPath]) -> Result<(), GitError> {
    let Some(root) = shadow.files() else {
        return Ok(());
    };
    let (listing, folds) = (Listing::of(shadow).await?, shadow.ignores_case());
    let broom = Sweeper { root: root.to_owned(), keep: keep.to_vec(), folds };
    let swept = tokio::task::spawn_blocking(move || {
        let listing = if folds { listing.folded() } else { listing };
        broom.sweep(&mut Vec::new(), &Inside::Known(listing.top()), true).map(drop)
    });
    swept.await.unwrap_or_else(|error| Err(GitError::io(root)(error.into())))
}

/// Which folder is being swept.
enum Inside<'a> {
    /// It holds files that the index lists.
    Known(Contents<'a>),
    /// It holds nothing but what lies on the way to a path to keep.
    Unknown,
    /// It belongs to a submodule, in which only repositories of others have no place.
    Submodule,
}

/// What becomes of an entry of a folder.
enum Fate<'a> {
    Stays,
    Goes,
    /// It is a folder; whether a `.git` in it is its own.
    Enter(Inside<'a>, bool),
}

struct Sweeper {
    root: PathBuf,
    keep: Vec<RelPath>,
    /// Large and small letters are the same.
    folds: bool,
}

impl Sweeper {
    /// Sweeps a folder and those in it; says whether nothing is left.
    fn sweep(
        &self,
        folder: &mut Vec<u8>,
        inside: &Inside<'_>,
        own: bool,
    ) -> Result<bool, GitError> {
        let here = self.root.join(OsStr::from_bytes(folder));
        let length = folder.len();
        let mut empty = true;
        for entry in fs::read_dir(&here).map_err(unswept(&here))? {
            let entry = entry.map_err(unswept(&here))?;
            let is_folder = entry.file_type().map_err(unswept(&here))?.is_dir();
            let name = entry.file_name().into_vec();
            if length > 0 {
                folder.push(b'/');
            }
            folder.extend_from_slice(&name);
            let goes = match self.fate(folder, name, is_folder, inside, own) {
                Fate::Stays => false,
                Fate::Goes => true,
                Fate::Enter(inside, own) => {
                    self.sweep(folder, &inside, own)? && matches!(inside, Inside::Unknown)
                }
            };
            if goes {
                let path = entry.path();
                let removed = match is_folder {
                    true => fs::remove_dir_all(&path),
                    false => fs::remove_file(&path),
                };
                removed.map_err(unswept(&path))?;
            }
            empty &= goes;
            folder.truncate(length);
        }
        Ok(empty)
    }

    fn fate<'a>(
        &self,
        path: &[u8],
        mut name: Vec<u8>,
        is_folder: bool,
        inside: &Inside<'a>,
        own: bool,
    ) -> Fate<'a> {
        if self.folds {
            name.make_ascii_lowercase();
        }
        if name.eq_ignore_ascii_case(b".git") {
            return if own && name == b".git" { Fate::Stays } else { Fate::Goes };
        }
        if self.keep.iter().any(|keep| keep.as_str().as_bytes() == path) {
            return Fate::Stays;
        }
        match (inside, is_folder) {
            (Inside::Known(contents), false) if contents.has_file(&name) => Fate::Stays,
            (Inside::Known(contents), true) if contents.has_submodule(&name) => {
                Fate::Enter(Inside::Submodule, true)
            }
            (Inside::Known(contents), true) if let Some(contents) = contents.folder(&name) => {
                Fate::Enter(Inside::Known(contents), false)
            }
            (Inside::Known(_) | Inside::Unknown, true) if self.leads_to_kept(path) => {
                Fate::Enter(Inside::Unknown, false)
            }
            (Inside::Known(_) | Inside::Unknown, _) => Fate::Goes,
            (Inside::Submodule, true) => Fate::Enter(Inside::Submodule, false),
            (Inside::Submodule, false) => Fate::Stays,
        }
    }

    fn leads_to_kept(&self, path: &[u8]) -> bool {
        let beneath = |keep: &RelPath| {
            keep.as_str().as_bytes().strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"))
        };
        self.keep.iter().any(beneath)
    }
}

/// A folder that cannot be cleared is told like a git that cannot clean it: the worktree is made anew.
fn unswept(path: &Path) -> impl FnOnce(io::Error) -> GitError {
    let how = format!("in {}", path.display());
    move |error| GitError::Failed { what: "clean".to_owned(), how, said: error.to_string() }
}
