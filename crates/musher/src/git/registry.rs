//! The register of worktrees: which there are, and how one is added and taken out.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::name::{Branch, Commit};
use super::{Checkout, Git, head};

/// What a worktree is locked with until it is whole.
const PREPARING: &str = "musher is preparing this worktree";

/// One entry of the register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub path: PathBuf,
    pub branch: Option<Branch>,
    /// Musher began to make it and has not finished.
    pub half_made: bool,
    /// The folder is gone.
    pub missing: bool,
}

impl Git {
    /// All worktrees, the main checkout first.
    pub async fn worktrees(&self) -> Result<Vec<Worktree>, GitError> {
        let _turn = self.inner.registry.acquire().await;
        let list =
            || self.plain(&self.main()).args(["worktree", "list", "--porcelain", "-z"]).run();
        let list = match list().await {
            Err(GitError::Failed { .. }) => {
                self.mend_register();
                list().await?
            }
            list => list?,
        };
        Ok(parse(&list.stdout))
    }

    /// Where a branch is checked out, or will be again when what is under way there is over.
    pub(crate) async fn holder(&self, branch: &Branch) -> Result<Option<PathBuf>, GitError> {
        let held = |entry: &Worktree| match &entry.branch {
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
        let entries = fs::read_dir(self.inner.common.join("worktrees")).ok()?;
        let found = entries.flatten().map(|entry| entry.path()).find(|entry| {
            // An entry that is a link leads to a folder that is not ours.
            let real = entry.symlink_metadata().is_ok_and(|about| about.is_dir());
            let named = fs::read(entry.join("gitdir")).ok().filter(|_| real);
            named.is_some_and(|named| names(entry, &named, path))
        })?;
        self.mend(&found).then(|| Checkout { root: path.to_owned(), git_dir: found })
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
        let plain = file.symlink_metadata().is_ok_and(|about| about.is_file());
        if plain && fs::read(&file).is_ok_and(ours) {
            return true;
        }
        fs::remove_file(&file).ok();
        fs::write(&file, "../..\n").is_ok()
    }

    /// Whether the worktree at a path was begun and never finished.
    pub(crate) fn is_half_made(&self, checkout: &Checkout) -> bool {
        let locked = fs::read_to_string(checkout.git_dir.join("locked"));
        locked.is_ok_and(|reason| reason.trim_end() == PREPARING)
    }

    /// Registers a worktree at a commit, without files, and locked until it is whole.
    pub(crate) async fn add_worktree(
        &self,
        path: &Path,
        at: &Commit,
    ) -> Result<Checkout, GitError> {
        let _turn = self.inner.registry.acquire().await;
        self.drop_unnamed(path)?;
        let call = self.plain(&self.main()).args(["worktree", "add", "--quiet", "--no-checkout"]);
        let call = call.args(["--detach", "--lock", "--reason", PREPARING, "--end-of-options"]);
        call.arg(path).arg(at.as_str()).run().await?;
        let path = path.to_owned();
        self.checkout_at(&path).ok_or(GitError::NoWorktree { path })
    }

    /// Says that a worktree is whole.
    pub(crate) fn finish_worktree(&self, checkout: &Checkout) -> Result<(), GitError> {
        let lock = checkout.git_dir.join("locked");
        match fs::remove_file(&lock) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::io(lock)(error))
            }
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
        let call = self.plain(&self.main()).args(["worktree", "remove", "--force", "--force"]);
        match call.arg("--end-of-options").arg(path).run().await {
            // An entry that git cannot read is removed by hand.
            Err(GitError::Failed { .. }) => {
                let entry = &checkout.git_dir;
                fs::remove_dir_all(entry).map_err(GitError::io(entry))
            }
            done => done.map(drop),
        }
    }

    /// Drops the entry that a death in the middle of `worktree add` leaves: locked by us, without a path.
    fn drop_unnamed(&self, path: &Path) -> Result<(), GitError> {
        let Some(name) = path.file_name() else {
            return Ok(());
        };
        let entry = self.inner.common.join("worktrees").join(name);
        let ours =
            fs::read_to_string(entry.join("locked")).is_ok_and(|it| it.trim_end() == PREPARING);
        let unnamed = fs::read(entry.join("gitdir")).map_or(true, |named| named.is_empty());
        match ours && unnamed {
            true => fs::remove_dir_all(&entry).map_err(GitError::io(entry)),
            false => Ok(()),
        }
    }
}

/// Whether the entry's file, which holds the path of the worktree's `.git`, names a worktree.
fn names(entry: &Path, named: &[u8], path: &Path) -> bool {
    let named = named.strip_suffix(b"\n").unwrap_or(named);
    let file = entry.join(OsStr::from_bytes(named));
    let Some(folder) = file.parent() else {
        return false;
    };
    folder == path || folder.canonicalize().is_ok_and(|folder| folder == path)
}

fn parse(list: &[u8]) -> Vec<Worktree> {
    let mut found: Vec<Worktree> = Vec::new();
    for field in list.split(|b| *b == 0) {
        let (word, rest) = match field.iter().position(|b| *b == b' ') {
            Some(at) => (&field[..at], &field[at + 1..]),
            None => (field, &[][..]),
        };
        if word == b"worktree" {
            let path = PathBuf::from(OsString::from_vec(rest.to_vec()));
            let missing = !path.is_dir();
            found.push(Worktree { path, branch: None, half_made: false, missing });
        }
        let Some(entry) = found.last_mut() else {
            continue;
        };
        match word {
            b"branch" => entry.branch = Branch::of_ref(rest),
            b"locked" => entry.half_made = rest == PREPARING.as_bytes(),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_register_is_read_with_any_path_in_it() {
        let list = b"worktree /a b\nc\0HEAD 00\0branch refs/heads/x/y\0\0worktree /d\0HEAD 00\0detached\0locked musher is preparing this worktree\0\0";
        let found = parse(list);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].path, Path::new("/a b\nc"));
        assert_eq!(found[0].branch, Branch::new("x/y").ok());
        assert!(found[1].half_made && !found[0].half_made);
    }
}
