//! The changes between two texts, as git would tell them.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use musher_client::api::{ApiHunk, ApiLineKind};

use super::{Budget, diff_line, marks};

/// Lines around each change.
const CONTEXT: usize = 3;
/// Two long texts that have nothing in common are compared no longer than this; the rest is told as replaced.
const COMPARE_TIMEOUT: Duration = Duration::from_millis(500);

/// The changes between two texts.
#[derive(Debug, Default)]
pub(in crate::api) struct Changes {
    pub(in crate::api) added: u64,
    pub(in crate::api) removed: u64,
    pub(in crate::api) hunks: Vec<ApiHunk>,
    /// Lines are missing, because there were too many.
    pub(in crate::api) truncated: bool,
}

impl Changes {
    /// Compares two texts, and shows at most so many lines.
    pub(in crate::api) fn between(old: &str, new: &str, most: usize, budget: &mut Budget) -> Self {
        let (before, after) = (lines(old), lines(new));
        let deadline = Instant::now().checked_add(COMPARE_TIMEOUT);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, deadline);
        let mut changes = Self::default();
        for op in &ops {
            let (_, old, new) = op.as_tag_tuple();
            if !matches!(op, DiffOp::Equal { .. }) {
                changes.removed += old.len() as u64;
                changes.added += new.len() as u64;
            }
        }
        let mut left = most;
        for group in group_diff_ops(ops, CONTEXT) {
            let mut hunk = around(&group);
            for op in &group {
                let (_, old, new) = op.as_tag_tuple();
                match op {
                    DiffOp::Equal { .. } => {
                        push(&mut hunk, ApiLineKind::Context, &before, old, &mut left);
                    }
                    DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                        push(&mut hunk, ApiLineKind::Removed, &before, old, &mut left);
                        push(&mut hunk, ApiLineKind::Added, &after, new, &mut left);
                    }
                }
            }
            marks::mark(&mut hunk.lines, budget);
            changes.hunks.push(hunk);
            if left == 0 {
                changes.truncated = true;
                break;
            }
        }
        changes
    }
}

/// A hunk with the place of some changes, and without lines.
fn around(group: &[DiffOp]) -> ApiHunk {
    let place = |range: fn(&DiffOp) -> Range<usize>| {
        let start = group.first().map_or(0, |op| range(op).start);
        let end = group.last().map_or(0, |op| range(op).end);
        // Where there is no line, the one before is named.
        let first = if start == end { start } else { start + 1 };
        (first as u64, (end - start) as u64)
    };
    let (old_start, old_lines) = place(DiffOp::old_range);
    let (new_start, new_lines) = place(DiffOp::new_range);
    let section = String::new();
    ApiHunk { old_start, old_lines, new_start, new_lines, section, lines: Vec::new() }
}

fn push(hunk: &mut ApiHunk, kind: ApiLineKind, of: &[&str], range: Range<usize>, left: &mut usize) {
    for line in of.get(range).unwrap_or_default().iter().take(*left) {
        let whole = line.strip_suffix('\n');
        let text = whole.unwrap_or(line).to_owned();
        hunk.lines.push(diff_line(kind, text, whole.is_none()));
        *left -= 1;
    }
}

/// The lines of a text, each with its end.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn between(old: &str, new: &str) -> Changes {
        Changes::between(old, new, 10_000, &mut Budget::default())
    }

    /// The new text, made of the old one and the hunks.
    fn applied(old: &str, changes: &Changes) -> String {
        let before = lines(old);
        let mut out = String::new();
        let mut at = 0;
        for hunk in &changes.hunks {
            let first = hunk.old_start as usize;
            let start = if hunk.old_lines == 0 { first } else { first - 1 };
            out.extend(before[at..start].iter().copied());
            at = start + hunk.old_lines as usize;
            for line in hunk.lines.iter().filter(|line| line.kind != ApiLineKind::Removed) {
                out.push_str(&line.text);
                if !line.no_newline {
                    out.push('\n');
                }
            }
        }
        out.extend(before[at..].iter().copied());
        out
    }

    #[test]
    fn a_change_is_told_with_three_lines_around_it() {
        let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let changes = between(&old, &old.replace("line 10\n", "line ten\nand more\n"));
        assert_eq!((changes.added, changes.removed), (2, 1));
        let hunk = &changes.hunks[0];
        assert_eq!((hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines), (7, 7, 7, 8));
        assert_eq!(hunk.lines.len(), 9);
    }

    #[test]
    fn a_new_text_is_all_added_and_a_missing_line_end_is_told() {
        let changes = between("", "a\nb");
        let hunk = &changes.hunks[0];
        assert_eq!((hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines), (0, 0, 1, 2));
        assert!(hunk.lines[1].no_newline && !hunk.lines[0].no_newline);
    }

    #[test]
    fn more_lines_than_are_wanted_are_left_out_and_that_is_told() {
        let new: String = (0..500).map(|n| format!("{n}\n")).collect();
        let changes = Changes::between("", &new, 100, &mut Budget::default());
        assert_eq!((changes.added, changes.hunks[0].lines.len()), (500, 100));
        assert!(changes.truncated);
    }

    proptest! {
        #[test]
        fn the_hunks_make_the_new_text_of_the_old_one(old in "([abc]{0,2}\n){0,30}[ab]?", new in "([abc]{0,2}\n){0,30}[ab]?") {
            prop_assert_eq!(applied(&old, &between(&old, &new)), new);
        }
    }
}
