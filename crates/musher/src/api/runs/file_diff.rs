//! The changes of one file as clients read them, wherever they come from.

mod effects;
mod marks;
mod texts;

use musher_client::api::{ApiDiffLine, ApiFileDiff, ApiHunk, ApiLineKind, word};
use musher_runtime::ProjectFile;

pub(in crate::api) use effects::effect;
pub(in crate::api) use marks::Budget;
pub(in crate::api) use texts::Changes;

/// A longer line is cut; nobody reads it, and one such line could fill a page.
const MAX_DIFF_LINE_CHARS: usize = 4_000;

/// A line, cut where nobody reads on.
fn diff_line(kind: ApiLineKind, text: String, no_newline: bool) -> ApiDiffLine {
    let (text, cut) = match text.char_indices().nth(MAX_DIFF_LINE_CHARS) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text, false),
    };
    ApiDiffLine { kind, text, no_newline, cut, marks: Vec::new() }
}

fn line_kind(kind: musher_git::LineKind) -> ApiLineKind {
    match kind {
        musher_git::LineKind::Context => ApiLineKind::Context,
        musher_git::LineKind::Added => ApiLineKind::Added,
        musher_git::LineKind::Removed => ApiLineKind::Removed,
    }
}

/// What git says of one file, with its words marked as far as the budget goes.
pub(in crate::api) fn of_git(
    file: musher_git::GitFileDiff,
    files: &[ProjectFile],
    budget: &mut Budget,
) -> ApiFileDiff {
    let (path, old_path) = (file.path.to_string(), file.old_path.map(|path| path.to_string()));
    let mut diff = ApiFileDiff {
        effect: None,
        path,
        old_path,
        status: word(&file.status),
        old_mode: file.old_mode,
        new_mode: file.new_mode,
        added: file.added,
        removed: file.removed,
        binary: file.binary,
        hunks: file.hunks.into_iter().map(|hunk| hunk_now(hunk, budget)).collect(),
    };
    diff.effect = effects::effect_of_change(files, &diff);
    diff
}

fn hunk_now(hunk: musher_git::GitHunk, budget: &mut Budget) -> ApiHunk {
    let line = |musher_git::GitDiffLine { kind, text, no_newline }| {
        diff_line(line_kind(kind), text, no_newline)
    };
    let mut lines: Vec<ApiDiffLine> = hunk.lines.into_iter().map(line).collect();
    marks::mark(&mut lines, budget);
    ApiHunk {
        old_start: hunk.old_start,
        old_lines: hunk.old_lines,
        new_start: hunk.new_start,
        new_lines: hunk.new_lines,
        section: hunk.section,
        lines,
    }
}
