//! Which words of a replaced line differ, within bounds: it is a help to the eye, and must not cost more than the diff.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use musher_client::api::{ApiDiffLine, ApiLineKind};

/// Blocks of more lines are rewritten rather than corrected, and marks in them would only confuse.
const MAX_MARKED_LINES: usize = 40;
/// Longer lines are not looked at.
const MAX_MARKED_LINE_BYTES: usize = 1_000;
/// Lines that share less than this are different lines.
const MIN_SIMILARITY: f32 = 0.4;

/// How many bytes of lines may still be compared for one reply.
#[derive(Debug)]
pub(in crate::api) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(2 << 20)
    }
}

/// Marks the words of every line that another one replaces.
pub(super) fn mark(lines: &mut [ApiDiffLine], budget: &mut Budget) {
    let mut rest = lines;
    while !rest.is_empty() {
        let context = leading(rest, ApiLineKind::Context);
        let removed = leading(&rest[context..], ApiLineKind::Removed);
        let added = leading(&rest[context + removed..], ApiLineKind::Added);
        let (block, after) = rest.split_at_mut(context + removed + added);
        let (old, new) = block[context..].split_at_mut(removed);
        if (1..=MAX_MARKED_LINES).contains(&removed) && (1..=MAX_MARKED_LINES).contains(&added) {
            for (old, new) in old.iter_mut().zip(new) {
                pair(old, new, budget);
            }
        }
        rest = after;
    }
}

fn leading(lines: &[ApiDiffLine], kind: ApiLineKind) -> usize {
    lines.iter().take_while(|line| line.kind == kind).count()
}

fn pair(old: &mut ApiDiffLine, new: &mut ApiDiffLine, budget: &mut Budget) {
    let bytes = old.text.len() + new.text.len();
    if old.text.len() > MAX_MARKED_LINE_BYTES
        || new.text.len() > MAX_MARKED_LINE_BYTES
        || budget.0 < bytes
    {
        return;
    }
    budget.0 -= bytes;
    let (before, after) = (words(&old.text), words(&new.text));
    let ops = capture_diff_slices(Algorithm::Myers, &before, &after);
    let alike: usize = ops
        .iter()
        .map(|op| match op {
            DiffOp::Equal { old_index, len, .. } => visible(&before[*old_index..old_index + len]),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => 0,
        })
        .sum();
    let longer = visible(&before).max(visible(&after));
    if longer == 0 || (alike as f32) < MIN_SIMILARITY * longer as f32 {
        return;
    }
    for op in ops {
        match op {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { old_index, old_len, .. } => {
                push(&mut old.marks, &before, old_index, old_len);
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                push(&mut new.marks, &after, new_index, new_len);
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                push(&mut old.marks, &before, old_index, old_len);
                push(&mut new.marks, &after, new_index, new_len);
            }
        }
    }
}

/// Letters that can be seen.
fn visible(words: &[&str]) -> usize {
    words.iter().map(|word| word.trim().len()).sum()
}

/// Marks some words that stand together.
fn push(marks: &mut Vec<(u32, u32)>, words: &[&str], first: usize, count: usize) {
    let units = |words: &[&str]| -> u32 {
        let units: usize = words.iter().map(|word| word.encode_utf16().count()).sum();
        u32::try_from(units).unwrap_or(u32::MAX)
    };
    let start = units(&words[..first]);
    let end = start + units(&words[first..first + count]);
    match marks.last_mut() {
        Some((_, last)) if *last == start => *last = end,
        Some(_) | None => marks.push((start, end)),
    }
}

/// The words of a line, the gaps and each other sign between them.
fn words(text: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Class {
        Word,
        Gap,
        Sign,
    }
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => Class::Word,
        c if c.is_whitespace() => Class::Gap,
        _ => Class::Sign,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before: Option<Class> = None;
    for (at, c) in text.char_indices() {
        let now = class(c);
        if before.as_ref().is_some_and(|before| *before != now || now == Class::Sign) {
            words.push(&text[start..at]);
            start = at;
        }
        before = Some(now);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(old: &[&str], new: &[&str]) -> Vec<ApiDiffLine> {
        let line =
            |kind| move |text: &&str| super::super::diff_line(kind, (*text).to_owned(), false);
        let removed = old.iter().map(line(ApiLineKind::Removed));
        let mut lines: Vec<ApiDiffLine> =
            removed.chain(new.iter().map(line(ApiLineKind::Added))).collect();
        mark(&mut lines, &mut Budget::default());
        lines
    }

    #[test]
    fn the_words_that_differ_are_marked_on_both_sides() {
        let lines = marked(&["let count = old_value(1);"], &["let count = new_value(1, 2);"]);
        assert_eq!(lines[0].marks, [(12, 21)]);
        assert_eq!(lines[1].marks, [(12, 21), (23, 26)]);
    }

    #[test]
    fn marks_are_counted_as_a_browser_counts_letters() {
        let lines = marked(&["🦀🦀 one two"], &["🦀🦀 one 2"]);
        assert_eq!(lines[0].marks, [(9, 12)]);
        assert_eq!(lines[1].marks, [(9, 10)]);
    }

    #[test]
    fn lines_that_have_little_in_common_are_not_marked() {
        let lines = marked(&["fn first() -> Result<()> {"], &["// nothing of the kind at all"]);
        assert!(lines.iter().all(|line| line.marks.is_empty()), "{lines:?}");
    }

    #[test]
    fn no_more_is_compared_than_the_budget_allows() {
        let mut lines = marked(&["a b c d"; 3], &["a b c e"; 3]);
        assert!(lines.iter().all(|line| line.marks == [(6, 7)]), "{lines:?}");
        lines.iter_mut().for_each(|line| line.marks.clear());
        mark(&mut lines, &mut Budget(20));
        assert_eq!(lines.iter().filter(|line| !line.marks.is_empty()).count(), 2);
    }

    proptest! {
        #[test]
        fn marks_stay_inside_of_their_lines_and_never_overlap(old in "\\PC{0,40}", new in "\\PC{0,40}") {
            for line in marked(&[&old, "same"], &[&new, "same but"]) {
                let units = u32::try_from(line.text.encode_utf16().count()).unwrap();
                let mut end = 0;
                for (from, to) in line.marks {
                    prop_assert!(from < to && from >= end && to <= units);
                    end = to;
                }
            }
        }
    }
}
