//! The changes of one file as clients read them, wherever they come from.

mod marks;
mod texts;

use musher_runtime::{FileEffect, effect_of};
use serde::Serialize;
use utoipa::ToSchema;

use crate::runtimes;

pub(in crate::api) use marks::Budget;
pub(in crate::api) use texts::Changes;

/// A longer line is cut; nobody reads it, and one such line could fill a page.
const MAX_DIFF_LINE_CHARS: usize = 4_000;

/// The changes of one file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FileDiff)]
pub(in crate::api) struct FileDiffReply {
    /// Bytes that are no text are written as `\xNN`.
    pub(in crate::api) path: String,
    /// Where a renamed or copied file was.
    pub(in crate::api) old_path: Option<String>,
    #[schema(value_type = String, examples("added", "deleted", "modified", "renamed", "copied", "type_changed"))]
    pub(in crate::api) status: musher_git::FileStatus,
    pub(in crate::api) old_mode: String,
    pub(in crate::api) new_mode: String,
    pub(in crate::api) added: u64,
    pub(in crate::api) removed: u64,
    pub(in crate::api) binary: bool,
    /// What agents' programs do with such a file: they run what it names, or obey what it says. Absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, examples("executes", "obeys"))]
    pub(in crate::api) effect: Option<FileEffect>,
    pub(in crate::api) hunks: Vec<DiffHunk>,
}

/// A run of lines that changed, with the lines around them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hunk)]
pub(in crate::api) struct DiffHunk {
    pub(in crate::api) old_start: u64,
    pub(in crate::api) old_lines: u64,
    pub(in crate::api) new_start: u64,
    pub(in crate::api) new_lines: u64,
    /// What git takes for the heading of the place, such as a function.
    pub(in crate::api) section: String,
    pub(in crate::api) lines: Vec<DiffLineReply>,
}

/// One line of a hunk.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Line)]
pub(in crate::api) struct DiffLineReply {
    #[schema(value_type = String, examples("context", "added", "removed"))]
    pub(in crate::api) kind: musher_git::LineKind,
    pub(in crate::api) text: String,
    /// It is the last of its file and has no line end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::api) no_newline: bool,
    /// Its end is missing, because it is longer than 4,000 letters.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::api) cut: bool,
    /// Which words differ from the line that this one replaces, or that replaces it: each from where to where, counted
    /// in UTF-16 units. Absent where the lines have little in common.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::api) marks: Vec<(u32, u32)>,
}

impl DiffLineReply {
    pub(in crate::api) fn new(kind: musher_git::LineKind, text: String, no_newline: bool) -> Self {
        let (text, cut) = match text.char_indices().nth(MAX_DIFF_LINE_CHARS) {
            Some((end, _)) => (text[..end].to_owned(), true),
            None => (text, false),
        };
        Self { kind, text, no_newline, cut, marks: Vec::new() }
    }
}

impl FileDiffReply {
    /// What git says of one file, with its words marked as far as the budget goes.
    pub(in crate::api) fn of_git(file: musher_git::GitFileDiff, budget: &mut Budget) -> Self {
        let (path, old_path) = (file.path.to_string(), file.old_path.map(|path| path.to_string()));
        Self {
            effect: effect(&path).or_else(|| effect(old_path.as_deref()?)),
            path,
            old_path,
            status: file.status,
            old_mode: file.old_mode,
            new_mode: file.new_mode,
            added: file.added,
            removed: file.removed,
            binary: file.binary,
            hunks: file.hunks.into_iter().map(|hunk| DiffHunk::of_git(hunk, budget)).collect(),
        }
    }
}

/// What agents' programs do with the file at this path.
pub(in crate::api) fn effect(path: &str) -> Option<FileEffect> {
    effect_of(runtimes::project_files(), path)
}

impl DiffHunk {
    fn of_git(hunk: musher_git::GitHunk, budget: &mut Budget) -> Self {
        let line = |musher_git::GitDiffLine { kind, text, no_newline }| {
            DiffLineReply::new(kind, text, no_newline)
        };
        let mut lines: Vec<DiffLineReply> = hunk.lines.into_iter().map(line).collect();
        marks::mark(&mut lines, budget);
        Self {
            old_start: hunk.old_start,
            old_lines: hunk.old_lines,
            new_start: hunk.new_start,
            new_lines: hunk.new_lines,
            section: hunk.section,
            lines,
        }
    }
}
