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
use super::listing::{Listing, Places};
use super::path::RelPath;
use super::shadow::Shadow;

/// Removes all that the index of a stand-in does not list, save for the paths to keep and the files of submodules.
pub(super) async fn sweep(shadow: &Shadow<'_>, keep: &[RelPath]) -> Result<(), GitError> {
    let Some(root) = shadow.files() else {
        return Ok(());
    };
    let name: fn(&[u8]) -> Vec<u8> = match shadow.ignores_case() {
        true => <[u8]>::to_ascii_lowercase,
        false => <[u8]>::to_vec,
    };
    let listing = Listing::of(shadow).await?;
    let (top, keep) = (root.to_owned(), keep.to_vec());
    let swept = tokio::task::spawn_blocking(move || {
        let broom = Broom { root: top, keep, places: listing.places(name), name };
        broom.sweep(&mut Vec::new(), Inside::Known).map(drop)
    });
    swept.await.unwrap_or_else(|error| Err(GitError::io(root)(error.into())))
}

/// Which folder is being swept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// It holds files that the index lists.
    Known,
    /// It holds nothing but what lies on the way to a path to keep.
    Unknown,
    /// It belongs to a submodule, in which only repositories of others have no place.
    Submodule,
}

/// What becomes of an entry of a folder.
enum Fate {
    Stays,
    Goes,
    Enter(Inside),
}

struct Broom {
    root: PathBuf,
    keep: Vec<RelPath>,
    places: Places,
    /// How a path stands among the places.
    name: fn(&[u8]) -> Vec<u8>,
}

impl Broom {
    /// Sweeps a folder and those in it; says whether nothing is left.
    fn sweep(&self, folder: &mut Vec<u8>, inside: Inside) -> Result<bool, GitError> {
        let here = self.root.join(OsStr::from_bytes(folder));
        let entries = fs::read_dir(&here).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut empty = true;
        for entry in entries.map_err(unswept(&here))? {
            let is_folder = entry.file_type().map_err(unswept(&here))?.is_dir();
            let (length, top) = (folder.len(), folder.is_empty());
            if !top {
                folder.push(b'/');
            }
            let start = folder.len();
            folder.extend(entry.file_name().into_vec());
            let own = &folder[start..];
            let fate = match own.eq_ignore_ascii_case(b".git") {
                true if (self.name)(own) != b".git" => Fate::Goes,
                true if top || self.is_submodule(&folder[..length]) => Fate::Stays,
                true => Fate::Goes,
                false => self.fate(folder, is_folder, inside),
            };
            let goes = match fate {
                Fate::Stays => false,
                Fate::Goes => true,
                Fate::Enter(inside) => self.sweep(folder, inside)? && inside == Inside::Unknown,
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

    fn fate(&self, path: &[u8], is_folder: bool, inside: Inside) -> Fate {
        if self.keep.iter().any(|keep| keep.as_str().as_bytes() == path) {
            return Fate::Stays;
        }
        match (is_folder, inside) {
            (false, Inside::Submodule) => Fate::Stays,
            (true, Inside::Submodule) => Fate::Enter(Inside::Submodule),
            (false, Inside::Known) if self.places.files.contains(&(self.name)(path)) => Fate::Stays,
            (false, Inside::Known | Inside::Unknown) => Fate::Goes,
            (true, Inside::Known) if self.is_submodule(path) => Fate::Enter(Inside::Submodule),
            (true, Inside::Known) if self.places.folders.contains(&(self.name)(path)) => {
                Fate::Enter(Inside::Known)
            }
            (true, Inside::Known | Inside::Unknown) => match self.leads_to_kept(path) {
                true => Fate::Enter(Inside::Unknown),
                false => Fate::Goes,
            },
        }
    }

    fn is_submodule(&self, path: &[u8]) -> bool {
        !self.places.submodules.is_empty() && self.places.submodules.contains(&(self.name)(path))
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
