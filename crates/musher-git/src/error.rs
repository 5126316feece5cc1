//! What can go wrong with git, each with the thing, the cause and the fix.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use musher_os::untrusted::Unfit;

use super::head::Operation;
use super::merge::ConflictFile;
use super::name::{BadName, Branch, Commit};
use super::path::GitPath;

/// How many files an error names.
const NAMED: usize = 10;

/// A git operation that was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git was not found in PATH ({path}); install git 2.38 or newer")]
    Missing { path: String },
    #[error("git {found} is too old to check merges; install git 2.38 or newer")]
    TooOld { found: String },
    #[error("git {found} is too old for the merge queue; install git 2.41 or newer")]
    TooOldForQueue { found: String },
    #[error(
        "{path} is a shallow clone, so merges in it may be wrong; fetch the whole history: `git fetch --unshallow`"
    )]
    Shallow { path: PathBuf },
    #[error(
        "{path} is a partial clone, whose files are not all there to merge; clone it again without `--filter`"
    )]
    PartialClone { path: PathBuf },
    #[error(
        "there is no remote {remote} in {path}; add it (`git remote add`) and restart the server"
    )]
    NoRemote { remote: String, path: PathBuf },
    #[error(
        "the address of remote {remote} cannot be used; give it as https://, ssh://, file:///, host:path or an absolute path"
    )]
    BadAddress { remote: String },
    #[error("there is no branch {branch} at {address}; create it there or name another")]
    NoRemoteBranch { branch: Branch, address: String },
    #[error("{address} cannot be reached or refuses access: {said}; try `git ls-remote {address}`")]
    Remote { address: String, said: String },
    #[error("{path} does not exist; give the folder of a git repository")]
    NoSuchFolder { path: PathBuf },
    #[error("{path} is not in a git repository; run `git init` there or give another folder")]
    NotARepository { path: PathBuf },
    #[error("{path} is a bare repository; give a clone with files in it")]
    Bare { path: PathBuf },
    #[error(
        "{path} has no commit yet; make the first one (`git commit`), because work starts from a commit"
    )]
    Empty { path: PathBuf },
    #[error(
        "{path} belongs to another user, so git refuses it; own it, or run `git config --global --add safe.directory {path}`"
    )]
    NotOurs { path: PathBuf },
    #[error("there is no branch {branch} in {path}; {hint}")]
    NoBranch { branch: Branch, path: PathBuf, hint: String },
    #[error("{path} is on no branch (HEAD is detached); switch to one (`git switch <branch>`)")]
    Detached { path: PathBuf },
    #[error("{path} is in the middle of a {operation}; finish or abort it first")]
    Busy { path: PathBuf, operation: Operation },
    #[error("{path} has uncommitted changes ({files}); commit or stash them first")]
    Dirty { path: PathBuf, files: FirstFiles },
    #[error("{path} cannot be written: {why}; make it writable")]
    ReadOnly { path: PathBuf, why: String },
    #[error(transparent)]
    BadName(#[from] BadName),
    #[error("there is no commit {commit} in {path}")]
    NoCommit { commit: Commit, path: PathBuf },
    #[error("{tip} does not merge into {branch}: conflicts in {files}; merge {branch} into it and resolve them there", files = Conflicted(files))]
    Conflicts { branch: Branch, tip: Commit, files: Vec<ConflictFile> },
    #[error("{base} and {tip} have no common history, so they can be neither compared nor merged")]
    Unrelated { base: Commit, tip: Commit },
    #[error(
        "the merge would overwrite files in {path} that git does not know ({files}); move them away first"
    )]
    InTheWay { path: PathBuf, files: FirstFiles },
    #[error("{name} was moved by someone else at the same moment; try again")]
    Moved { name: String },
    #[error(
        "another git process is at work in {path} (index.lock is there); try again when it has ended, or remove the file if there is none"
    )]
    Locked { path: PathBuf },
    #[error(
        "a git process that Musher started earlier is still at work (it holds {path}); try again when it has ended, or end it"
    )]
    Held { path: PathBuf },
    #[error("{branch} is checked out in {path}; choose another branch or free that one")]
    CheckedOut { branch: Branch, path: PathBuf },
    #[error("there is no worktree of this repository in {path}")]
    NoWorktree { path: PathBuf },
    #[error("`git {what}` did not end within {after:?} and was killed")]
    TimedOut { what: String, after: Duration },
    #[error("`git {what}` printed more than {bytes} bytes")]
    TooMuch { what: String, bytes: usize },
    #[error("`git {what}` failed ({how}): {said}")]
    Failed { what: String, how: String, said: String },
    #[error("`git {what}` printed something unexpected: {said:?}")]
    Unexpected { what: &'static str, said: String },
    #[error("the merge of {tip} into {branch} was made but is not as it should be: {why}")]
    Unverified { branch: Branch, tip: Commit, why: String },
    #[error(
        "this repository cannot be shown to a sandbox: {why}; set profile = \"off\" for agents that work on it"
    )]
    Unenclosable { why: &'static str },
    #[error("git cannot be run in a sandbox: {why}")]
    Sandbox { why: String },
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error(
        "{what} did not come to an end within {after:?}, because a look at its files hangs; see what is mounted there"
    )]
    Stuck { what: &'static str, after: Duration },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
}

impl GitError {
    /// Whether the same call can succeed when it is made again, with nothing changed by a person.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Moved { .. }
                | Self::Locked { .. }
                | Self::Held { .. }
                | Self::TimedOut { .. }
                | Self::Remote { .. }
        )
    }

    /// Wraps what the system said about a path.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() == std::io::ErrorKind::ReadOnlyFilesystem {
            true => Self::ReadOnly { path, why: source.to_string() },
            false => Self::Io { path, source },
        }
    }

    /// Output that does not have the shape that git's documentation gives it.
    pub(super) fn unexpected(what: &'static str, said: &[u8]) -> Self {
        let head = &said[..said.len().min(200)];
        Self::Unexpected { what, said: String::from_utf8_lossy(head).into_owned() }
    }
}

/// The first files of a list, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FirstFiles {
    pub named: Vec<GitPath>,
    pub more: usize,
}

impl FromIterator<GitPath> for FirstFiles {
    fn from_iter<I: IntoIterator<Item = GitPath>>(files: I) -> Self {
        let mut files = files.into_iter();
        let named: Vec<GitPath> = files.by_ref().take(NAMED).collect();
        Self { named, more: files.count() }
    }
}

impl fmt::Display for FirstFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, file) in self.named.iter().enumerate() {
            match at {
                0 => write!(f, "{file}")?,
                _ => write!(f, ", {file}")?,
            }
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

struct Conflicted<'a>(&'a [ConflictFile]);

impl fmt::Display for Conflicted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().map(|file| file.path.clone()).collect::<FirstFiles>().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_ten_files_and_counts_the_rest() {
        let files: FirstFiles = (0..13).map(|n| GitPath::new(format!("f{n}"))).collect();
        assert_eq!(files.to_string(), "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 3 more");
    }
}
