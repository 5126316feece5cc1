//! What a run changed, as the API tells it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a run's branch changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = DiffReply)]
pub struct ApiDiff {
    #[schema(required)]
    pub run: String,
    #[schema(required)]
    pub branch: String,
    #[schema(required, value_type = ApiSince)]
    pub since: String,
    /// Whether what is not committed yet is in it, as long as the run has its worktree.
    #[schema(required)]
    pub uncommitted: bool,
    #[schema(required)]
    pub added: u64,
    #[schema(required)]
    pub removed: u64,
    #[schema(required)]
    pub files: Vec<ApiFileDiff>,
    /// Files or lines are missing, because there were too many.
    #[schema(required)]
    pub truncated: bool,
    /// Where the lines that were added hold secrets of the run or of the server, which are hidden in the lines themselves, or
    /// what looks like a key of a well-known service.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<ApiSecretFound>,
}

/// What the changes are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Since)]
pub enum ApiSince {
    /// Where the branch left the project's own.
    Base,
    /// Where this run began.
    Start,
}

/// A line that holds a secret.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = SecretFound)]
pub struct ApiSecretFound {
    #[schema(required)]
    pub path: String,
    /// The number of the line in the file as it is now.
    #[schema(required)]
    pub line: u64,
    /// What the secret goes by, such as its variable. Its value is never told.
    #[schema(required)]
    pub name: String,
}

/// The changes of one file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = FileDiff)]
pub struct ApiFileDiff {
    /// Bytes that are no text are written as `\xNN`.
    #[schema(required)]
    pub path: String,
    /// Where a renamed or copied file was.
    pub old_path: Option<String>,
    #[schema(
        required,
        examples("added", "deleted", "modified", "renamed", "copied", "type_changed")
    )]
    pub status: String,
    #[schema(required)]
    pub old_mode: String,
    #[schema(required)]
    pub new_mode: String,
    #[schema(required)]
    pub added: u64,
    #[schema(required)]
    pub removed: u64,
    #[schema(required)]
    pub binary: bool,
    /// What should be looked at before it is merged: agents' programs run what such a file names, or obey what it says; other programs
    /// run it later; it became executable; it is a link, or another repository. Absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(examples("executes", "obeys", "runs_later", "executable", "link", "repository"))]
    pub effect: Option<String>,
    #[schema(required)]
    pub hunks: Vec<ApiHunk>,
}

/// A run of lines that changed, with the lines around them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Hunk)]
pub struct ApiHunk {
    #[schema(required)]
    pub old_start: u64,
    #[schema(required)]
    pub old_lines: u64,
    #[schema(required)]
    pub new_start: u64,
    #[schema(required)]
    pub new_lines: u64,
    /// What git takes for the heading of the place, such as a function.
    #[schema(required)]
    pub section: String,
    #[schema(required)]
    pub lines: Vec<ApiDiffLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Line)]
pub struct ApiDiffLine {
    #[schema(required, value_type = String, examples("context", "added", "removed"))]
    pub kind: ApiLineKind,
    #[schema(required)]
    pub text: String,
    /// It is the last of its file and has no line end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_newline: bool,
    /// Its end is missing, because it is longer than 4,000 letters.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Which words differ from the line that this one replaces, or that replaces it: each from where to where, counted
    /// in UTF-16 units. Absent where the lines have little in common.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<(u32, u32)>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiLineKind {
    #[default]
    Context,
    Added,
    Removed,
}
