//! What a commit has of the files that an agent's program would execute, or take for instructions.

use std::sync::{Mutex, PoisonError};

use musher_git::{Commit, CommitFile, ContentLimits, Git, GitError};
use musher_runtime::{
    FileEffect, FoundFile, MAX_PROJECT_FILE_SIZE_BYTES, ProjectFile, Snapshot, effect_of,
    executed_below, executed_roots, is_executed,
};

const LIMITS: ContentLimits = ContentLimits {
    // More files than these are nobody's settings.
    max_files: 2_000,
    max_file_bytes: MAX_PROJECT_FILE_SIZE_BYTES,
    max_total_bytes: 32 << 20,
};

/// The files of a commit that a program would execute, with their contents. Most runs start where others did, and a commit
/// does not change, so that what was found last is remembered.
pub(super) async fn executed_files(
    git: &Git,
    commit: &Commit,
    files: &[ProjectFile],
) -> Result<Snapshot, GitError> {
    static LAST: LastExecuted = LastExecuted(Mutex::new(Vec::new()));
    if let Some(found) = LAST.find(commit, files) {
        return Ok(found);
    }
    let found = read(git, commit, files).await?;
    LAST.add(commit, files, &found);
    Ok(found)
}

async fn read(git: &Git, commit: &Commit, files: &[ProjectFile]) -> Result<Snapshot, GitError> {
    let mut snapshot = Snapshot::default();
    let roots = executed_roots(files);
    if roots.is_empty() {
        return Ok(snapshot);
    }
    let below = match executed_below(files) {
        true => places_below(git, commit, files).await?,
        false => Vec::new(),
    };
    if below.len() > LIMITS.max_files {
        snapshot.add(files, &below[0], FoundFile::Odd("one of too many such files".into()));
        return Ok(snapshot);
    }
    let paths: Vec<&str> = roots.iter().copied().chain(below.iter().map(String::as_str)).collect();
    match git.file_contents(commit, &paths, LIMITS).await? {
        Some(found) => {
            for (path, file) in found {
                let file = match file {
                    CommitFile::Bytes(bytes) => FoundFile::Bytes(bytes),
                    CommitFile::Odd(what) => FoundFile::Odd(what),
                };
                snapshot.add(files, &path, file);
            }
        }
        None => {
            for root in roots {
                snapshot.add(files, root, FoundFile::Odd("a folder with too much in it".into()));
            }
        }
    }
    Ok(snapshot)
}

/// Where a commit has such files below its top.
async fn places_below(
    git: &Git,
    commit: &Commit,
    files: &[ProjectFile],
) -> Result<Vec<String>, GitError> {
    let mut names = git.file_names(commit).await?;
    let roots = executed_roots(files);
    let is_at_top = |path: &str| roots.contains(&path.split('/').next().unwrap_or_default());
    names.retain(|path| !is_at_top(path) && is_executed(files, path));
    Ok(names)
}

/// The files of a commit that a program would take for instructions.
pub(super) async fn obeyed_files(
    git: &Git,
    commit: &Commit,
    files: &[ProjectFile],
) -> Result<Vec<String>, GitError> {
    let mut names = git.file_names(commit).await?;
    names.retain(|path| effect_of(files, path) == Some(FileEffect::Obeys));
    names.truncate(LIMITS.max_files);
    Ok(names)
}

/// What was found in the last commits that were looked at, the newest last. The name of a commit stands for its contents in
/// whatever repository it is.
#[derive(Debug)]
struct LastExecuted(Mutex<Vec<(Commit, Vec<ProjectFile>, Snapshot)>>);

impl LastExecuted {
    /// One for each runtime, twice over.
    const MAX_COMMITS: usize = 8;

    fn find(&self, commit: &Commit, files: &[ProjectFile]) -> Option<Snapshot> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = last.iter();
        last.find(|it| it.0 == *commit && it.1 == files).map(|it| it.2.clone())
    }

    fn add(&self, commit: &Commit, files: &[ProjectFile], found: &Snapshot) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == Self::MAX_COMMITS {
            last.remove(0);
        }
        last.push((commit.clone(), files.to_vec(), found.clone()));
    }
}
