//! The register of worktrees: which there are, and how one is added and taken out.
//!
//! It is read and written here, and not by git: git would read the settings of the repository for it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted::{self, Kind};

use super::error::GitError;
use super::head::{self, Named};
use super::name::{Branch, Commit};
use super::{Checkout, Git};

/// No file of an entry is longer that is read here.
const MAX_REGISTRY_FILE_BYTES: u64 = 16 << 10;
/// How many entries may have names that begin alike.
const ALIKE: usize = 10_000;
/// No file of patterns is longer.
const MAX_PATTERNS_BYTES: u64 = 16 << 20;
/// What a worktree is locked with until it is whole.
const PREPARING: &str = "musher is preparing this worktree";

/// One entry of the register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeEntry {
    pub path: PathBuf,
    pub branch: Option<Branch>,
    /// Musher began to make it and has not finished.
    pub half_made: bool,
    /// The folder is gone.
    pub missing: bool,
}

impl Git {
    /// All worktrees, the main checkout first.
    pub async fn worktrees(&self) -> Result<Vec<WorktreeEntry>, GitError> {
        let _turn = self.inner.registry.acquire().await;
        let common = &self.inner.common;
        let main = match (common.parent(), common.ends_with(".git")) {
            (Some(root), true) => root,
            _ => common,
        };
        let mut found = vec![WorktreeEntry {
            path: main.to_owned(),
            branch: self.branch_of(common).await?,
            half_made: false,
            missing: false,
        }];
        for entry in self.entries() {
            // One without a path was never finished, or is nobody's any more.
            let Some(path) = named(&entry) else { continue };
            found.push(WorktreeEntry {
                branch: self.branch_of(&entry).await?,
                half_made: is_locked_by_us(&entry),
                missing: !matches!(untrusted::kind(&path), Ok(Some(Kind::Folder))),
                path,
            });
        }
        Ok(found)
    }

    /// The folders of the register, each of which is real.
    fn entries(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.inner.common.join("worktrees")).into_iter().flatten();
        // An entry that is a link leads to a folder that is not ours.
        let real = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mut found: Vec<PathBuf> =
            entries.flatten().filter(real).map(|entry| entry.path()).collect();
        found.sort();
        found
    }

    /// The branch that a checkout's folder of git is on.
    async fn branch_of(&self, git_dir: &Path) -> Result<Option<Branch>, GitError> {
        match head::branch_in_file(git_dir) {
            Some(Named::Branch(branch)) => Ok(Some(branch)),
            Some(Named::Elsewhere) => {
                let checkout = self.at_entry(self.inner.root.clone(), git_dir.to_owned());
                let ask = ["symbolic-ref", "--quiet", "HEAD"];
                match self.plain(&checkout).args(ask).fine(&[0, 1]).run().await {
                    Ok(said) => Ok(Branch::of_ref(said.stdout.trim_ascii_end())),
                    // What one agent put into its own entry is in nobody else's way.
                    Err(GitError::Unfit(_)) => Ok(None),
                    Err(error) => Err(error),
                }
            }
            None => Ok(None),
        }
    }

    fn at_entry(&self, root: PathBuf, git_dir: PathBuf) -> Checkout {
        if git_dir != self.inner.common {
            // What cannot be mended is told by the next call of git.
            let _mended = self.mend(&git_dir);
        }
        Checkout { root, git_dir }
    }

    /// Where a branch is checked out, or will be again when what is under way there is over.
    pub(crate) async fn holder(&self, branch: &Branch) -> Result<Option<PathBuf>, GitError> {
        let held = |entry: &WorktreeEntry| match &entry.branch {
            Some(on) => on == branch,
            None => {
                let checkout = self.checkout_at(&entry.path);
                checkout
                    .is_some_and(|it| head::branch_under_way(&it.git_dir).as_ref() == Some(branch))
            }
        };
        Ok(self.worktrees().await?.into_iter().find(held).map(|entry| entry.path))
    }

    /// The checkout at a path, if the register knows one.
    pub fn checkout_at(&self, path: &Path) -> Option<Checkout> {
        if path == self.inner.root {
            return Some(self.main());
        }
        let main = self.inner.common.parent().filter(|parent| parent == &path);
        if main.is_some() && self.inner.common.ends_with(".git") {
            return Some(Checkout { root: path.to_owned(), git_dir: self.inner.common.clone() });
        }
        // The usual entry first, so that no other can claim the path.
        let register = self.inner.common.join("worktrees");
        let usual = path.file_name().map(|name| register.join(name));
        let entries = self.entries();
        let first = entries.iter().filter(|entry| usual.as_ref() == Some(entry));
        let mut all = first.chain(entries.iter());
        let found = all.find(|entry| names(entry, path)).cloned();
        let found = found.or_else(|| self.claimed(path, &entries))?;
        self.mend(&found).then(|| Checkout { root: path.to_owned(), git_dir: found })
    }

    /// The entry that a worktree's folder names, if the entry has lost its path; it is given it back.
    fn claimed(&self, path: &Path, entries: &[PathBuf]) -> Option<PathBuf> {
        let pointer = untrusted::read(&path.join(".git"), MAX_REGISTRY_FILE_BYTES).ok()?;
        let place = pointer.strip_prefix(b"gitdir: ")?;
        let place = path.join(OsStr::from_bytes(place.strip_suffix(b"\n").unwrap_or(place)));
        let place = place.canonicalize().ok()?;
        let entry =
            entries.iter().find(|entry| entry.canonicalize().is_ok_and(|it| it == place))?;
        let elsewhere = named(entry).is_some_and(|other| other.symlink_metadata().is_ok());
        if elsewhere {
            return None;
        }
        let whole = [path.join(".git").as_os_str().as_bytes(), b"\n"].concat();
        untrusted::replace(&entry.join("gitdir"), &whole).ok()?;
        Some(entry.clone())
    }

    /// Sees to it that an entry leads back to this repository. Git looks for references where the entry says, whatever it
    /// is told, and an agent could have written another place there.
    pub(super) fn mend(&self, entry: &Path) -> bool {
        let file = entry.join("commondir");
        let ours = |said: Vec<u8>| {
            let said = said.strip_suffix(b"\n").unwrap_or(&said);
            let place = entry.join(OsStr::from_bytes(said)).canonicalize();
            place.is_ok_and(|place| self.inner.common.canonicalize().is_ok_and(|it| it == place))
        };
        if untrusted::read(&file, MAX_REGISTRY_FILE_BYTES).is_ok_and(ours) {
            return true;
        }
        untrusted::replace(&file, b"../..\n").is_ok()
    }

    /// Whether the worktree at a path was begun and never finished.
    pub(crate) fn is_half_made(&self, checkout: &Checkout) -> bool {
        is_locked_by_us(&checkout.git_dir)
    }

    /// Registers a worktree at a commit, without files, and locked until it is whole.
    pub(crate) async fn add_worktree(
        &self,
        path: &Path,
        at: &Commit,
    ) -> Result<Checkout, GitError> {
        let _turn = self.inner.registry.acquire().await;
        self.drop_unnamed(path)?;
        let elsewhere = matches!(head::branch_in_file(&self.inner.common), Some(Named::Elsewhere));
        match elsewhere {
            true => self.add_by_git(path, at).await?,
            false => self.add_by_hand(path, at)?,
        }
        let path = path.to_owned();
        self.checkout_at(&path).ok_or(GitError::NoWorktree { path })
    }

    /// Writes an entry as git does, the lock first.
    fn add_by_hand(&self, path: &Path, at: &Commit) -> Result<(), GitError> {
        let register = self.inner.common.join("worktrees");
        fs::create_dir_all(&register).map_err(GitError::io(&register))?;
        let name = path.file_name().unwrap_or(OsStr::new("slot")).to_string_lossy().into_owned();
        let names = (0..ALIKE).map(|number| match number {
            0 => name.clone(),
            number => format!("{name}-{number}"),
        });
        let mut free = names.map(|name| register.join(name));
        let entry = loop {
            let Some(entry) = free.next() else {
                return Err(GitError::NoWorktree { path: path.to_owned() });
            };
            match fs::create_dir(&entry) {
                Ok(()) => break entry,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(GitError::io(entry)(error)),
            }
        };
        let pointer = path.join(".git");
        let write = |path: PathBuf, bytes: &[u8]| {
            let written = untrusted::create(&path).and_then(|mut file| file.write_all(bytes));
            written.map_err(GitError::io(path))
        };
        let line = |path: &Path| [path.as_os_str().as_bytes(), b"\n"].concat();
        write(entry.join("locked"), PREPARING.as_bytes())?;
        fs::create_dir(path).map_err(GitError::io(path))?;
        write(entry.join("gitdir"), &line(&pointer))?;
        write(entry.join("commondir"), b"../..\n")?;
        write(entry.join("HEAD"), format!("{at}\n").as_bytes())?;
        // A worktree leaves out what the main checkout leaves out.
        let sparse = self.inner.git_dir.join("info/sparse-checkout");
        if let Some(patterns) = untrusted::read_if_there(&sparse, MAX_PATTERNS_BYTES)? {
            let info = entry.join("info");
            fs::create_dir(&info).map_err(GitError::io(&info))?;
            write(info.join("sparse-checkout"), &patterns)?;
        }
        write(pointer, &[b"gitdir: ", line(&entry).as_slice()].concat())
    }

    /// The same where references are not stored in files, and only git knows how they are.
    async fn add_by_git(&self, path: &Path, at: &Commit) -> Result<(), GitError> {
        let Self { inner } = self;
        let link = inner.stand_in.path().join("worktrees");
        let register = inner.common.join("worktrees");
        fs::create_dir_all(&register).map_err(GitError::io(&register))?;
        match std::os::unix::fs::symlink(&register, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(GitError::io(link)(error));
            }
            _ => {}
        }
        let call = self.plain(&self.main()).args(["worktree", "add", "--quiet", "--no-checkout"]);
        let call = call.args(["--detach", "--lock", "--reason", PREPARING, "--end-of-options"]);
        call.arg(path).arg(at.as_str()).run().await?;
        // It wrote the way through the stand-in, which will be gone.
        let checkout = self.checkout_at(path).ok_or(GitError::NoWorktree { path: path.to_owned() });
        self.point(&checkout?)
    }

    /// Says that a worktree is whole.
    pub(crate) fn finish_worktree(&self, checkout: &Checkout) -> Result<(), GitError> {
        let lock = checkout.git_dir.join("locked");
        match fs::remove_file(&lock) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::io(lock)(error)),
            _ => Ok(()),
        }
    }

    /// Takes a worktree out of the register; its folder must be gone.
    pub(crate) async fn forget_worktree(&self, path: &Path) -> Result<(), GitError> {
        let _turn = self.inner.registry.acquire().await;
        self.drop_unnamed(path)?;
        let Some(checkout) = self.checkout_at(path) else {
            return Ok(());
        };
        let entry = &checkout.git_dir;
        fs::remove_dir_all(entry).map_err(GitError::io(entry))
    }

    /// Drops the entry that a death in the middle of `worktree add` leaves: locked by us, without a path.
    fn drop_unnamed(&self, path: &Path) -> Result<(), GitError> {
        let Some(name) = path.file_name() else {
            return Ok(());
        };
        let entry = self.inner.common.join("worktrees").join(name);
        let ours = is_locked_by_us(&entry);
        let unnamed = untrusted::read(&entry.join("gitdir"), MAX_REGISTRY_FILE_BYTES);
        let unnamed = unnamed.map_or(true, |named| named.is_empty());
        match ours && unnamed {
            true => fs::remove_dir_all(&entry).map_err(GitError::io(entry)),
            false => Ok(()),
        }
    }
}

/// Whether Musher began to make the worktree of an entry and has not finished.
fn is_locked_by_us(entry: &Path) -> bool {
    let reason = untrusted::read(&entry.join("locked"), MAX_REGISTRY_FILE_BYTES);
    reason.is_ok_and(|reason| reason.trim_ascii_end() == PREPARING.as_bytes())
}

/// The worktree that an entry's file names, which holds the path of the worktree's `.git`.
fn named(entry: &Path) -> Option<PathBuf> {
    let named = untrusted::read(&entry.join("gitdir"), MAX_REGISTRY_FILE_BYTES).ok()?;
    let named = named.strip_suffix(b"\n").unwrap_or(&named);
    let file = entry.join(OsStr::from_bytes(named));
    file.parent().filter(|_| !named.is_empty()).map(Path::to_owned)
}

/// Whether an entry is that of a worktree.
fn names(entry: &Path, path: &Path) -> bool {
    let Some(folder) = named(entry) else {
        return false;
    };
    folder == path || folder.canonicalize().is_ok_and(|folder| folder == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_with_any_path_in_it() {
        let entry = tempfile::tempdir().unwrap();
        assert_eq!(named(entry.path()), None);
        fs::write(entry.path().join("gitdir"), "/a b\nc/.git\n").unwrap();
        assert_eq!(named(entry.path()), Some(PathBuf::from("/a b\nc")));
        assert!(names(entry.path(), Path::new("/a b\nc")));
        fs::write(entry.path().join("locked"), format!("{PREPARING}\n")).unwrap();
        assert!(is_locked_by_us(entry.path()));
    }
}
