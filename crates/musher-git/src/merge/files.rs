//! Brings the files of a checkout along when its branch is merged into, and takes them back.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::super::call::WRITE_CALL_TIMEOUT;
use super::super::config::SettingsTrust;
use super::super::error::{FirstFiles, GitError};
use super::super::hold::Hold;
use super::super::name::{Branch, Commit, TreeId};
use super::super::path::GitPath;
use super::super::shadow::{Index, Shadow};
use super::super::{Checkout, Git};

impl Git {
    /// Makes the files and the index of a checkout those of the merge. Its branch still is at `base`.
    pub(super) async fn bring_files(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        branch: &Branch,
        base: &Commit,
        (to, tree): (&Commit, &TreeId),
    ) -> Result<(), GitError> {
        match self.check_clean(checkout).await {
            // A merge of an older Musher that died before it moved the branch has left exactly this, and no note.
            Err(GitError::Dirty { .. }) if self.is_at(checkout, base, tree).await? => return Ok(()),
            checked => checked?,
        };
        let shadow = Shadow::of_objects(self).await?;
        let changes = NameChanges::of(&shadow, base, to).await?;
        self.carry_files(checkout, hold, branch, (base, to), &changes).await
    }

    /// The same for a checkout in which other files may be changed. A file in the way is refused before anything is
    /// written, and so is a changed file that the new commit changes too.
    pub(crate) async fn carry_files(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        branch: &Branch,
        (base, to): (&Commit, &Commit),
        changes: &NameChanges,
    ) -> Result<(), GitError> {
        let shadow = self.around(checkout, base).await?.held(hold);
        let in_the_way = in_the_way(&checkout.root, changes);
        if !in_the_way.named.is_empty() {
            return Err(GitError::InTheWay { path: checkout.root.clone(), files: in_the_way });
        }
        self.note_merge(branch, base, to)?;
        let turned = self.turn(checkout, &shadow, base, to).await;
        if turned.is_err() {
            // Git refuses before it touches anything, and when it dies some files may be new.
            self.undo_held(hold).await?;
        }
        turned
    }

    /// Undoes [`Self::bring_files`], because the branch did not move.
    pub(crate) async fn take_files_back(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        base: &Commit,
        from: &Commit,
    ) -> Result<(), GitError> {
        let shadow = self.around(checkout, base).await?.held(hold);
        self.turn(checkout, &shadow, from, base).await
    }

    /// A stand-in around a checkout with a copy of its index, in which the person's own filters work.
    pub(crate) async fn around(
        &self,
        checkout: &Checkout,
        head: &Commit,
    ) -> Result<Shadow<'_>, GitError> {
        let trust = match *checkout == self.main() {
            true => SettingsTrust::User,
            false => SettingsTrust::Hardened,
        };
        Shadow::of_files(self, trust, checkout, Index::Copy, Some(head)).await
    }

    /// Turns files from one commit into another. Git refuses it if a file is not as the first commit has it. The index is
    /// locked all the while, and is changed last.
    async fn turn(
        &self,
        checkout: &Checkout,
        shadow: &Shadow<'_>,
        from: &Commit,
        to: &Commit,
    ) -> Result<(), GitError> {
        let lock = self.lock_index(checkout)?;
        let read = || {
            let call = shadow.call().args(["read-tree", "-m", "-u", from.as_str(), to.as_str()]);
            call.limit(WRITE_CALL_TIMEOUT).run()
        };
        let done = match read().await {
            // It may only have another date than the index knows, which a look at all files tells.
            Err(GitError::Failed { said, .. }) if said.contains("not uptodate") => {
                let refresh = shadow.call().args(["update-index", "-q", "--refresh"]);
                refresh.fine(&[0, 1]).limit(WRITE_CALL_TIMEOUT).run().await?;
                read().await
            }
            done => done,
        };
        match done {
            Err(GitError::Failed { said, .. }) if said.contains("not uptodate") => {
                Err(GitError::Dirty { path: checkout.root.clone(), files: quoted(&said) })
            }
            Err(GitError::Failed { said, .. }) if said.contains("would be overwritten") => {
                Err(GitError::InTheWay { path: checkout.root.clone(), files: quoted(&said) })
            }
            Err(error) => Err(error),
            Ok(_) => lock.replace(shadow.index()),
        }
    }

    /// Whether the index and all known files of a checkout are those of a tree.
    async fn is_at(
        &self,
        checkout: &Checkout,
        head: &Commit,
        tree: &TreeId,
    ) -> Result<bool, GitError> {
        let shadow = self.around(checkout, head).await?;
        let index = shadow.call().args(["diff-index", "--cached", "--quiet", tree.as_str()]);
        if index.fine(&[0, 1]).run().await?.code != 0 {
            return Ok(false);
        }
        let files = shadow.call().args(["ls-files", "-z", "--modified", "--deleted"]);
        Ok(files.limit(WRITE_CALL_TIMEOUT).run().await?.stdout.is_empty())
    }
}

/// The names in git's complaint.
fn quoted(said: &str) -> FirstFiles {
    let name = |line: &str| Some(GitPath::new(line.split('\'').nth(1)?));
    said.lines().filter_map(name).collect()
}

/// The paths at which two commits differ, each with git's letter for how. Renames are two changes.
#[derive(Debug)]
pub(crate) struct NameChanges {
    /// Letter and path in turn, each with a zero byte behind it.
    listed: Vec<u8>,
}

impl NameChanges {
    pub(crate) async fn of(
        shadow: &Shadow<'_>,
        from: &Commit,
        to: &Commit,
    ) -> Result<Self, GitError> {
        let call = shadow.call().args(["diff-tree", "-r", "-z", "--no-renames", "--name-status"]);
        let call = call.args([from.as_str(), to.as_str()]).limit(WRITE_CALL_TIMEOUT);
        Ok(Self { listed: call.run().await?.stdout })
    }

    fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut fields = self.listed.split(|byte| *byte == 0);
        std::iter::from_fn(move || Some((fields.next()?, fields.next()?)))
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.all().map(|(_, path)| path)
    }
}

/// The files of a checkout, ignored ones included, that stand where the merge brings something and that git does not
/// know. Git itself would spare only those that are not ignored.
fn in_the_way(root: &Path, changes: &NameChanges) -> FirstFiles {
    let (mut comes, mut goes) = (Vec::new(), BTreeSet::new());
    for (letter, path) in changes.all() {
        match letter {
            b"A" => comes.push(path),
            b"D" => {
                goes.insert(path.to_vec());
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for path in comes {
        // A file where a folder must be, at any height above.
        let heights = (0..path.len()).filter(|at| path[*at] == b'/');
        let above = heights.map(|at| &path[..at]).find(|above| {
            let about = root.join(OsStr::from_bytes(above)).symlink_metadata();
            about.is_ok_and(|about| !about.is_dir())
        });
        if let Some(above) = above {
            if !goes.contains(above) {
                found.insert(above.to_vec());
            }
            continue;
        }
        unknown(root, path, &goes, &mut found);
    }
    found.into_iter().map(GitPath::new).collect()
}

/// Finds what stands at a path, or beneath it, and is not about to go.
fn unknown(root: &Path, path: &[u8], goes: &BTreeSet<Vec<u8>>, found: &mut BTreeSet<Vec<u8>>) {
    let full = root.join(OsStr::from_bytes(path));
    let Ok(about) = full.symlink_metadata() else {
        return;
    };
    if !about.is_dir() {
        if !goes.contains(path) {
            found.insert(path.to_vec());
        }
        return;
    }
    for entry in std::fs::read_dir(&full).into_iter().flatten().flatten() {
        let below = [path, b"/", entry.file_name().as_bytes()].concat();
        unknown(root, &below, goes, found);
    }
}
