//! What a branch changes against the point where it left another, file by file and line by line.

mod parse;

use std::ffi::OsStr;

use serde::Serialize;

use super::call::WRITE_CALL_TIMEOUT;
use super::error::GitError;
use super::name::Commit;
use super::path::{GitPath, RelPath};
use super::shadow::Shadow;
use super::{Checkout, Git};

/// How much of a diff is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLimits {
    pub bytes: usize,
    pub lines: usize,
    pub files: usize,
}

impl DiffLimits {
    /// For a list of files without their lines.
    pub const NUMBERS: Self = Self { bytes: 32 << 20, lines: 0, files: 20_000 };
    /// For one file, which may be shown with all that is around its changes.
    pub const ONE_FILE: Self = Self { bytes: 32 << 20, lines: 200_000, files: 1 };
}

/// How much of a diff is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffScope<'a> {
    /// Every file with its changed lines.
    Whole,
    /// Every file with its numbers alone.
    Numbers,
    /// One file, with so many lines around each change.
    File { path: &'a GitPath, old_path: Option<&'a GitPath>, context: u32 },
}

impl Default for DiffLimits {
    fn default() -> Self {
        Self { bytes: 8 << 20, lines: 50_000, files: 5_000 }
    }
}

/// The changes between two commits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GitDiff {
    pub files: Vec<GitFileDiff>,
    /// A limit was passed: files or lines are missing.
    pub truncated: bool,
}

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GitFileDiff {
    pub path: GitPath,
    /// Where a renamed or copied file was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<GitPath>,
    pub status: FileStatus,
    /// The kind and permission of the file before and after, as git writes them; `000000` for none.
    pub old_mode: String,
    pub new_mode: String,
    pub added: u64,
    pub removed: u64,
    pub binary: bool,
    pub hunks: Vec<GitHunk>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Added,
    Deleted,
    Modified,
    Renamed,
    Copied,
    /// A file became a link, or the like.
    TypeChanged,
}

/// A run of lines that changed, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GitHunk {
    pub old_start: u64,
    pub old_lines: u64,
    pub new_start: u64,
    pub new_lines: u64,
    /// What git takes for the heading of the place, such as a function.
    pub section: String,
    pub lines: Vec<GitDiffLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GitDiffLine {
    pub kind: LineKind,
    /// The line without its end; bytes that are no text are replaced.
    pub text: String,
    /// It is the last of its file and has no line end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_newline: bool,
}

/// Which side a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

impl Git {
    /// What `tip` changes since it left `base`.
    pub async fn diff(
        &self,
        base: &Commit,
        tip: &Commit,
        limits: DiffLimits,
    ) -> Result<GitDiff, GitError> {
        self.diff_of(base, tip, DiffScope::Whole, limits).await
    }

    /// As much as is wanted of what `tip` changes since it left `base`.
    pub async fn diff_of(
        &self,
        base: &Commit,
        tip: &Commit,
        scope: DiffScope<'_>,
        limits: DiffLimits,
    ) -> Result<GitDiff, GitError> {
        if base == tip {
            // Most runs that are stopped early have changed nothing, and a thousand may be stopped at once.
            return Ok(GitDiff::default());
        }
        let shadow = Shadow::of_objects(self).await?;
        let start = merge_base(&shadow, base, tip).await?;
        let call = shadow
            .call()
            .args(["diff-tree", "-r", "-z", "-M", "-l1000", "--raw", "--numstat"])
            .args(["--full-index", "--no-ext-diff", "--no-textconv", "--no-color"])
            .args(["--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"])
            .args(scope.patch())
            .args(["--end-of-options", start.as_str(), tip.as_str()])
            .args(scope.paths())
            .env("GIT_ATTR_SOURCE", tip.as_str())
            .limit(WRITE_CALL_TIMEOUT)
            .cut_at(limits.bytes);
        let output = call.run().await?;
        let mut diff = parse::diff(&output.stdout, limits, output.cut)?;
        diff.truncated |= output.cut;
        if let DiffScope::File { path, .. } = scope {
            // What lies beneath a folder of the same name is not meant.
            diff.files.retain(|file| file.path == *path);
        }
        Ok(diff)
    }

    /// What the files of a checkout change since its branch left `base`, uncommitted and untracked ones included.
    pub async fn diff_worktree(
        &self,
        checkout: &Checkout,
        base: &Commit,
        without: &[RelPath],
        limits: DiffLimits,
    ) -> Result<GitDiff, GitError> {
        let tip = self.snapshot(checkout, without).await?;
        self.diff(base, &tip, limits).await
    }

    /// Where two lines of commits parted.
    pub async fn merge_base(&self, base: &Commit, tip: &Commit) -> Result<Commit, GitError> {
        if base == tip {
            return Ok(base.clone());
        }
        merge_base(&Shadow::of_objects(self).await?, base, tip).await
    }
}

async fn merge_base(shadow: &Shadow<'_>, base: &Commit, tip: &Commit) -> Result<Commit, GitError> {
    let call = shadow.call().args(["merge-base", "--end-of-options", base.as_str(), tip.as_str()]);
    let output = call.fine(&[0, 1]).run().await?;
    match Commit::new(String::from_utf8_lossy(&output.stdout).trim_end()) {
        Ok(commit) => Ok(commit),
        Err(_) => Err(GitError::Unrelated { base: base.clone(), tip: tip.clone() }),
    }
}

impl<'a> DiffScope<'a> {
    fn patch(self) -> Vec<String> {
        match self {
            Self::Whole => vec!["--patch".to_owned(), "--unified=3".to_owned()],
            Self::Numbers => Vec::new(),
            Self::File { context, .. } => {
                vec!["--patch".to_owned(), format!("--unified={context}")]
            }
        }
    }

    /// A renamed file is told as one only if git may look at both its names.
    fn paths(self) -> Vec<&'a OsStr> {
        match self {
            Self::Whole | Self::Numbers => Vec::new(),
            Self::File { path, old_path, .. } => {
                let named = [old_path, Some(path)].into_iter().flatten();
                let named = named.map(|path| path.as_path().as_os_str());
                [OsStr::new("--")].into_iter().chain(named).collect()
            }
        }
    }
}
