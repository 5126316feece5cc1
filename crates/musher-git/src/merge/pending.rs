//! What a merge was about to do to the files of a checkout, written down before it is begun.
//!
//! Files are brought along before the branch is moved, because a person may be at work in them. A death in between leaves
//! files that are neither of the old tip nor of a new one, which would be taken for a person's changes by every merge
//! that follows. So the next merge, and the next server, undo it first: files that are as the dead merge wrote them
//! become those of the branch again, and whatever else is there is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use musher_os::untrusted;
use serde::{Deserialize, Serialize};

use super::super::call::WRITE_CALL_TIMEOUT;
use super::super::config::SettingsTrust;
use super::super::error::GitError;
use super::super::hold::Hold;
use super::super::name::{Branch, Commit};
use super::super::shadow::{Index, Shadow};
use super::super::{Checkout, Git};

/// The name of the note in the private folder.
const NOTE: &str = "merging.json";
/// No note is longer.
const MAX_MERGE_NOTE_BYTES: u64 = 64 << 10;
/// A file that was being written when git died is compared byte by byte up to this length.
const MAX_COMPARED_FILE_BYTES: u64 = 64 << 20;

/// A merge that is under way.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    branch: String,
    base: String,
    commit: String,
}

impl Git {
    /// Writes down what is about to be done, which is on the disk then.
    pub(super) fn note_merge(
        &self,
        branch: &Branch,
        base: &Commit,
        commit: &Commit,
    ) -> Result<(), GitError> {
        let note = Note {
            branch: branch.as_str().to_owned(),
            base: base.as_str().to_owned(),
            commit: commit.as_str().to_owned(),
        };
        let path = self.inner.scratch.join(NOTE);
        let text = serde_json::to_vec(&note).unwrap_or_default();
        untrusted::replace(&path, &text).map_err(GitError::io(path))
    }

    /// Takes the note away, because nothing is left to be undone.
    pub(crate) fn forget_merge(&self) -> Result<(), GitError> {
        let path = self.inner.scratch.join(NOTE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::io(path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Undoes what a merge that died has left in the files of a checkout.
    pub async fn undo_dead_merge(&self) -> Result<(), GitError> {
        let _turn = self.inner.merging.acquire().await;
        let hold = self.hold("merge").await?;
        self.undo_held(&hold).await
    }

    /// The same for whoever has the hold, which no git of the dead merge has then.
    pub(crate) async fn undo_held(&self, hold: &Hold) -> Result<(), GitError> {
        let Some(text) =
            untrusted::read_if_there(&self.inner.scratch.join(NOTE), MAX_MERGE_NOTE_BYTES)?
        else {
            return Ok(());
        };
        // A note that makes no sense was never finished, or is not ours.
        let read = |note: Note| {
            Some((
                Branch::new(note.branch).ok()?,
                Commit::new(note.base).ok()?,
                Commit::new(note.commit).ok()?,
            ))
        };
        let note = serde_json::from_slice(&text).ok().and_then(read);
        if let Some((branch, base, commit)) = note
            && self.is_dead(&branch, &commit).await?
            && let Some(path) = self.holder(&branch).await?
            && let Some(checkout) = self.checkout_at(&path)
        {
            self.undo(&checkout, hold, &base, &commit).await?;
        }
        self.forget_merge()
    }

    /// Whether a merge was made and did not reach its branch.
    async fn is_dead(&self, branch: &Branch, commit: &Commit) -> Result<bool, GitError> {
        let Some(tip) = self.tip(branch).await? else {
            return Ok(false);
        };
        match self.check_commit(commit).await {
            Ok(()) => Ok(!self.contains(&tip, commit).await?),
            // Somebody has cleared away what nothing led to.
            Err(GitError::NoCommit { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn undo(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        base: &Commit,
        commit: &Commit,
    ) -> Result<(), GitError> {
        let own = Index::Empty;
        let new =
            Shadow::of_files(self, SettingsTrust::Hardened, checkout, own, Some(commit)).await?;
        let changes = TreeChanges::of(&new, base.as_str(), commit.as_str()).await?;
        let as_new = unchanged(&new, commit, &changes).await?;
        let old =
            Shadow::of_files(self, SettingsTrust::Hardened, checkout, own, Some(base)).await?;
        let old = old.held(hold);
        let as_old = unchanged(&old, base, &changes).await?;
        let mut back = Vec::new();
        for (path, change) in &changes.by_path {
            let ours = match as_old.contains(path) {
                true => false,
                false => as_new.contains(path) || is_torn(&new, checkout, path, change).await?,
            };
            if ours {
                back.push((path, change));
            }
        }
        self.take_back_index(checkout, hold, &changes).await?;
        let mut written = Vec::new();
        for (path, change) in back {
            let file = checkout.root.join(OsStr::from_bytes(path));
            match change.old.is_some() {
                true => written.extend(path.iter().copied().chain([0])),
                false => remove(&checkout.root, &file)?,
            }
        }
        if !written.is_empty() {
            let call = old.call().args(["checkout-index", "--force", "-z", "--stdin"]);
            call.input(written).limit(WRITE_CALL_TIMEOUT).run().await?;
        }
        Ok(())
    }

    /// Gives the index of a checkout the old entries again where it has those of the dead merge.
    async fn take_back_index(
        &self,
        checkout: &Checkout,
        hold: &Hold,
        changes: &TreeChanges,
    ) -> Result<(), GitError> {
        // A lock that the dead merge left keeps the person's own git from working.
        let lock = self.lock_index(checkout)?;
        let head = None;
        let shadow = Shadow::of_files(self, SettingsTrust::Hardened, checkout, Index::Copy, head)
            .await?
            .held(hold);
        let list = shadow.call().args(["ls-files", "--stage", "-z"]).limit(WRITE_CALL_TIMEOUT);
        let mut there: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for entry in list.run().await?.stdout.split(|b| *b == 0) {
            if let Some(tab) = entry.iter().position(|b| *b == b'\t') {
                there.insert(entry[tab + 1..].to_vec(), entry[..tab].to_vec());
            }
        }
        let mut lines = Vec::new();
        for (path, change) in &changes.by_path {
            let now = there.get(path);
            let is = |entry: &Option<TreeEntry>| match (entry, now) {
                (Some(entry), Some(now)) => *now == entry.staged(),
                (None, None) => true,
                _ => false,
            };
            if is(&change.new) && !is(&change.old) {
                let line = match &change.old {
                    Some(entry) => entry.staged(),
                    None => [b"0 ", "0".repeat(changes.name).as_bytes(), b" 0"].concat(),
                };
                lines.extend([&line[..], b"\t", path, b"\0"].concat());
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let call = shadow.call().args(["update-index", "-z", "--index-info"]);
        call.input(lines).limit(WRITE_CALL_TIMEOUT).run().await?;
        lock.replace(shadow.index())
    }
}

/// One side of a changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) mode: Vec<u8>,
    pub(crate) object: Vec<u8>,
}

impl TreeEntry {
    /// As an index tells it.
    fn staged(&self) -> Vec<u8> {
        [&self.mode[..], b" ", &self.object, b" 0"].concat()
    }
}

/// What became of a path.
#[derive(Debug)]
pub(crate) struct TreeChange {
    pub(crate) old: Option<TreeEntry>,
    pub(crate) new: Option<TreeEntry>,
}

/// How two trees differ. Renames are two changes.
#[derive(Debug)]
pub(crate) struct TreeChanges {
    pub(crate) by_path: BTreeMap<Vec<u8>, TreeChange>,
    /// How long the name of an object is.
    name: usize,
}

impl TreeChanges {
    /// Compares two trees, or those of two commits.
    pub(crate) async fn of(shadow: &Shadow<'_>, old: &str, new: &str) -> Result<Self, GitError> {
        let call = shadow.call().args(["diff-tree", "-r", "-z", "--no-renames", "--raw"]);
        let call = call.args(["--full-index", old, new]).limit(WRITE_CALL_TIMEOUT);
        let list = call.run().await?.stdout;
        let mut by_path = BTreeMap::new();
        let mut fields = list.split(|b| *b == 0);
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let wrong = || GitError::unexpected("diff-tree", about);
            let about = about.strip_prefix(b":").ok_or_else(wrong)?;
            let words: Vec<&[u8]> = about.split(|b| *b == b' ').collect();
            let [old_mode, new_mode, from, to, _letter] = words.as_slice() else {
                return Err(wrong());
            };
            let entry = |mode: &[u8], object: &[u8]| {
                let there = mode != b"000000";
                there.then(|| TreeEntry { mode: mode.to_vec(), object: object.to_vec() })
            };
            let change = TreeChange { old: entry(old_mode, from), new: entry(new_mode, to) };
            by_path.insert(path.to_vec(), change);
        }
        Ok(Self { by_path, name: old.len() })
    }
}

/// The changed paths at which the files are as a commit has them; it has none of those that are not there either.
async fn unchanged(
    shadow: &Shadow<'_>,
    commit: &Commit,
    changes: &TreeChanges,
) -> Result<BTreeSet<Vec<u8>>, GitError> {
    shadow.call().args(["read-tree", commit.as_str()]).limit(WRITE_CALL_TIMEOUT).run().await?;
    let refresh = shadow.call().args(["update-index", "-q", "--refresh"]);
    refresh.fine(&[0, 1]).limit(WRITE_CALL_TIMEOUT).run().await?;
    let list = shadow.call().args(["diff-files", "-z", "--name-only"]).limit(WRITE_CALL_TIMEOUT);
    let list = list.run().await?.stdout;
    let differs: BTreeSet<&[u8]> = list.split(|b| *b == 0).collect();
    let listed =
        shadow.call().args(["ls-files", "-z"]).limit(WRITE_CALL_TIMEOUT).run().await?.stdout;
    let listed: BTreeSet<&[u8]> = listed.split(|b| *b == 0).collect();
    let root = shadow.files().map(Path::to_owned).unwrap_or_default();
    let same = |path: &&Vec<u8>| match listed.contains(path.as_slice()) {
        true => !differs.contains(path.as_slice()),
        false => root.join(OsStr::from_bytes(path)).symlink_metadata().is_err(),
    };
    Ok(changes.by_path.keys().filter(same).cloned().collect())
}

/// Whether a file is the beginning of what the merge was to write, or is not there although both sides have it: git
/// removes a file before it writes it anew.
async fn is_torn(
    shadow: &Shadow<'_>,
    checkout: &Checkout,
    path: &[u8],
    change: &TreeChange,
) -> Result<bool, GitError> {
    let file = checkout.root.join(OsStr::from_bytes(path));
    let found = match untrusted::read(&file, MAX_COMPARED_FILE_BYTES) {
        Ok(found) => found,
        Err(unfit) => return Ok(unfit.is_missing() && change.old.is_some()),
    };
    let Some(entry) = &change.new else {
        return Ok(false);
    };
    let object = String::from_utf8_lossy(&entry.object).into_owned();
    let call = shadow.call().args(["cat-file", "blob", &object]);
    let whole = call.limit(WRITE_CALL_TIMEOUT).run().await?.stdout;
    Ok(whole.starts_with(&found))
}

/// Removes a file, and the folders above it that are empty then.
fn remove(root: &Path, file: &Path) -> Result<(), GitError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(GitError::io(file)(error));
        }
        _ => {}
    }
    let above = file.ancestors().skip(1).take_while(|folder| *folder != root);
    for folder in above {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}
