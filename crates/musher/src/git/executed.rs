//! What a commit has of the files that an agent's program would execute.

use std::sync::{Mutex, PoisonError};

use musher_runtime::{
    FileEffect, FoundFile, MAX_PROJECT_FILE_SIZE_BYTES, ProjectFile, Snapshot, effect_of,
    executed_below, executed_roots, is_executed,
};

use super::Git;
use super::error::GitError;
use super::name::Commit;
use super::shadow::Shadow;

/// More files than these are nobody's settings.
const MAX_EXECUTED_FILES: usize = 2_000;
/// What is read of all those files together.
const MAX_EXECUTED_BYTES: usize = 32 << 20;

impl Git {
    /// The files of a commit that a program would execute, with their contents. Most runs start where others did, and
    /// a commit does not change, so that what was found last is remembered.
    pub(crate) async fn executed_files(
        &self,
        commit: &Commit,
        files: &'static [ProjectFile],
    ) -> Result<Snapshot, GitError> {
        if let Some(found) = self.inner.executed.find(commit, files) {
            return Ok(found);
        }
        let found = self.read_executed(commit, files).await?;
        self.inner.executed.add(commit, files, &found);
        Ok(found)
    }

    async fn read_executed(
        &self,
        commit: &Commit,
        files: &[ProjectFile],
    ) -> Result<Snapshot, GitError> {
        let mut snapshot = Snapshot::default();
        let roots = executed_roots(files);
        if roots.is_empty() {
            return Ok(snapshot);
        }
        let shadow = Shadow::of_objects(self).await?;
        let below = match executed_below(files) {
            true => self.places_below(&shadow, commit, files).await?,
            false => Vec::new(),
        };
        if below.len() > MAX_EXECUTED_FILES {
            snapshot.add(files, &below[0], FoundFile::Odd("one of too many such files".into()));
            return Ok(snapshot);
        }
        let call = shadow.call().args(["ls-tree", "-r", "-z", "--long", commit.as_str(), "--"]);
        let listed = call.args(&roots).args(&below).run().await?.stdout;
        let entries: Vec<Entry<'_>> = listed
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty())
            .map(|line| Entry::read(line).ok_or_else(|| GitError::unexpected("ls-tree", line)))
            .collect::<Result<_, _>>()?;
        if entries.len() > MAX_EXECUTED_FILES {
            for root in roots {
                snapshot.add(files, root, FoundFile::Odd("a folder with too much in it".into()));
            }
            return Ok(snapshot);
        }
        let (plain, odd): (Vec<_>, Vec<_>) = entries.into_iter().partition(|it| it.odd().is_none());
        for entry in odd {
            let what = entry.odd().unwrap_or_default();
            snapshot.add(files, &entry.path, FoundFile::Odd(what));
        }
        let names: String = plain.iter().map(|entry| format!("{}\n", entry.object)).collect();
        if names.is_empty() {
            return Ok(snapshot);
        }
        let call =
            shadow.call().args(["cat-file", "--batch"]).input(names).cut_at(MAX_EXECUTED_BYTES);
        let output = call.run().await?.stdout;
        let mut rest = output.as_slice();
        for entry in &plain {
            let (bytes, after) = object(rest)
                .ok_or_else(|| GitError::unexpected("cat-file", entry.path.as_bytes()))?;
            snapshot.add(files, &entry.path, FoundFile::Bytes(bytes.to_vec()));
            rest = after;
        }
        Ok(snapshot)
    }
}

impl Git {
    /// Where a commit has such files below its top.
    async fn places_below(
        &self,
        shadow: &Shadow<'_>,
        commit: &Commit,
        files: &[ProjectFile],
    ) -> Result<Vec<String>, GitError> {
        let listed = names(shadow, commit).await?;
        let paths = texts(&listed);
        let roots = executed_roots(files);
        let is_at_top = |path: &str| roots.contains(&path.split('/').next().unwrap_or_default());
        let below = paths.filter(|path| !is_at_top(path) && is_executed(files, path));
        Ok(below.map(str::to_owned).collect())
    }

    /// The files of a commit that a program would take for instructions.
    pub(crate) async fn obeyed_files(
        &self,
        commit: &Commit,
        files: &[ProjectFile],
    ) -> Result<Vec<String>, GitError> {
        let listed = names(&Shadow::of_objects(self).await?, commit).await?;
        let obeyed =
            texts(&listed).filter(|path| effect_of(files, path) == Some(FileEffect::Obeys));
        Ok(obeyed.take(MAX_EXECUTED_FILES).map(str::to_owned).collect())
    }
}

/// The paths of all files of a commit.
async fn names(shadow: &Shadow<'_>, commit: &Commit) -> Result<Vec<u8>, GitError> {
    let call = shadow.call().args(["ls-tree", "-r", "-z", "--name-only", commit.as_str()]);
    Ok(call.run().await?.stdout)
}

fn texts(listed: &[u8]) -> impl Iterator<Item = &str> {
    listed.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok())
}

/// What was found in the last commits that were looked at, the newest last.
#[derive(Debug, Default)]
pub(super) struct LastExecuted(Mutex<Vec<(Commit, &'static [ProjectFile], Snapshot)>>);

impl LastExecuted {
    /// One for each runtime, twice over.
    const MAX_COMMITS: usize = 8;

    fn find(&self, commit: &Commit, files: &'static [ProjectFile]) -> Option<Snapshot> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = last.iter();
        last.find(|it| it.0 == *commit && std::ptr::eq(it.1, files)).map(|it| it.2.clone())
    }

    fn add(&self, commit: &Commit, files: &'static [ProjectFile], found: &Snapshot) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == Self::MAX_COMMITS {
            last.remove(0);
        }
        last.push((commit.clone(), files, found.clone()));
    }
}

/// One line of a listed tree.
struct Entry<'a> {
    mode: &'a str,
    object: &'a str,
    size: Option<u64>,
    path: String,
}

impl<'a> Entry<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let about = std::str::from_utf8(&line[..tab]).ok()?;
        let mut words = about.split_ascii_whitespace();
        let (mode, _kind, object) = (words.next()?, words.next()?, words.next()?);
        let size = words.next().and_then(|size| size.parse().ok());
        let path = String::from_utf8_lossy(&line[tab + 1..]).into_owned();
        Some(Self { mode, object, size, path })
    }

    /// What it is, if it is no file that is read. The words are those for the same thing in a folder.
    fn odd(&self) -> Option<String> {
        match (self.mode, self.size) {
            ("100644" | "100755" | "100664", Some(size)) if size <= MAX_PROJECT_FILE_SIZE_BYTES => {
                None
            }
            ("100644" | "100755" | "100664", _) => {
                Some(format!("a file of more than {MAX_PROJECT_FILE_SIZE_BYTES} bytes"))
            }
            ("120000", _) => Some("a link".to_owned()),
            _ => Some("no file".to_owned()),
        }
    }
}

/// The first object of a batch, and what follows it.
fn object(batch: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = batch.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&batch[..end]).ok()?;
    let size: usize = head.rsplit(' ').next()?.parse().ok()?;
    let after = batch.get(end + 1..)?;
    Some((after.get(..size)?, after.get(size + 1..)?))
}
