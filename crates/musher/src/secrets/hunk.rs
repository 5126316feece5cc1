//! The secrets in one hunk of a diff, also those that are wrapped over several of its lines.

use std::ops::Range;

use musher_git::{GitHunk, LineKind};
use musher_runtime::Secrets;

/// Which file of the two that a diff compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffSide {
    Old,
    New,
}

/// A secret in a hunk: its name, and its part of each line that it is in, by the line's place in the hunk.
pub(super) struct HunkSecret<'a> {
    pub(super) name: &'a str,
    pub(super) parts: Vec<(usize, Range<usize>)>,
}

/// Lines that follow each other in one of the two files, whatever of the other file stands between them.
pub(super) fn find<'a>(
    hunk: &GitHunk,
    side: DiffSide,
    secrets: &'a Secrets,
) -> Vec<HunkSecret<'a>> {
    let other = match side {
        DiffSide::Old => LineKind::Added,
        DiffSide::New => LineKind::Removed,
    };
    let mut text = String::new();
    // Where each line begins in the text, and its place in the hunk.
    let mut lines: Vec<(usize, usize)> = Vec::new();
    for (at, line) in hunk.lines.iter().enumerate().filter(|(_, line)| line.kind != other) {
        lines.push((text.len(), at));
        text.push_str(&line.text);
        text.push('\n');
    }
    let found = secrets.find(&text).into_iter();
    let parts = |piece: Range<usize>| {
        let first = lines.partition_point(|(start, _)| *start <= piece.start).saturating_sub(1);
        let touched = lines[first..].iter().take_while(|(start, _)| *start < piece.end);
        let parts = touched.map(|(start, at)| {
            let end = start + hunk.lines[*at].text.len();
            (*at, piece.start.max(*start) - start..piece.end.min(end).saturating_sub(*start))
        });
        parts.filter(|(_, part)| !part.is_empty()).collect::<Vec<_>>()
    };
    found
        .map(|(name, pieces)| HunkSecret {
            name,
            parts: pieces.into_iter().flat_map(parts).collect(),
        })
        .collect()
}

/// Puts names in place of the secrets in every line of a hunk.
pub(super) fn hide(hunk: &mut GitHunk, secrets: &Secrets) {
    let mut parts: Vec<(usize, Range<usize>, &str)> = Vec::new();
    for side in [DiffSide::Old, DiffSide::New] {
        for HunkSecret { name, parts: found } in find(hunk, side, secrets) {
            parts.extend(found.into_iter().map(|(line, part)| (line, part, name)));
        }
    }
    // A line of both files has its secrets twice, and may have parts
    // of two that overlap.
    parts.sort_by_key(|(line, part, _)| (*line, part.start, part.end));
    parts.dedup_by(|later, first| {
        let overlap = later.0 == first.0 && later.1.start < first.1.end;
        if overlap {
            first.1.end = first.1.end.max(later.1.end);
        }
        overlap
    });
    let mut parts = parts.into_iter().peekable();
    while let Some((line, ..)) = parts.peek() {
        let line = *line;
        // Each line is written once, however many secrets it has.
        let text = std::mem::take(&mut hunk.lines[line].text);
        let (mut clean, mut until) = (String::with_capacity(text.len()), 0);
        while let Some((_, part, name)) = parts.next_if(|(of, ..)| *of == line) {
            clean.push_str(text.get(until..part.start).unwrap_or_default());
            clean.push_str(&format!("[redacted {name}]"));
            until = part.end;
        }
        clean.push_str(text.get(until..).unwrap_or_default());
        hunk.lines[line].text = clean;
    }
    secrets.hide(&mut hunk.section);
}

#[cfg(test)]
mod tests {
    use musher_git::GitDiffLine;

    use super::*;

    fn hunk(lines: &[(LineKind, &str)]) -> GitHunk {
        let lines = lines.iter().map(|(kind, text)| GitDiffLine {
            kind: *kind,
            text: (*text).to_owned(),
            no_newline: false,
        });
        GitHunk {
            old_start: 1,
            old_lines: 1,
            new_start: 1,
            new_lines: 1,
            section: String::new(),
            lines: lines.collect(),
        }
    }

    #[test]
    fn a_secret_over_lines_of_one_file_is_hidden_whatever_of_the_other_is_between_them() {
        let secrets = Secrets::new([("KEY".to_owned(), "sk-live-0123456789".to_owned())]);
        let mut hunk = hunk(&[
            (LineKind::Context, "key: sk-"),
            (LineKind::Removed, "live-0123456789 old"),
            (LineKind::Added, "  live-0123"),
            (LineKind::Added, "  456789"),
            (LineKind::Context, "other"),
        ]);
        hide(&mut hunk, &secrets);
        let shown: Vec<&str> = hunk.lines.iter().map(|line| line.text.as_str()).collect();
        let name = "[redacted KEY]";
        assert_eq!(
            shown,
            [
                &format!("key: {name}") as &str,
                &format!("{name} old"),
                &format!("  {name}"),
                &format!("  {name}"),
                "other"
            ]
        );
    }

    #[test]
    fn a_key_of_several_lines_is_hidden_line_by_line() {
        let key = "first line of it\nab\nlast line of it";
        let secrets = Secrets::new([("KEY".to_owned(), key.to_owned())]);
        let lines: Vec<(LineKind, &str)> =
            key.lines().map(|line| (LineKind::Added, line)).collect();
        let mut hunk = hunk(&lines);
        hide(&mut hunk, &secrets);
        assert!(hunk.lines.iter().all(|line| line.text == "[redacted KEY]"), "{hunk:?}");
    }

    #[test]
    fn a_line_full_of_one_secret_is_written_once() {
        let secrets = Secrets::new([("KEY".to_owned(), "sk-live-0123456789".to_owned())]);
        let mut hunk = hunk(&[(LineKind::Added, &"sk-live-0123456789 ".repeat(200_000))]);
        hide(&mut hunk, &secrets);
        assert_eq!(hunk.lines[0].text, "[redacted KEY] ".repeat(200_000));
    }
}
