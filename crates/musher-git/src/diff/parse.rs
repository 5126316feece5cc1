//! Reads what `git diff-tree --raw --numstat --patch -z` prints, at any point where it may be cut.

use super::{DiffLimits, FileStatus, GitDiff, GitDiffLine, GitFileDiff, GitHunk, LineKind};
use crate::error::GitError;
use crate::path::GitPath;

/// Reads a diff. `cut` says that the output ends too early, so that an unfinished end is no fault.
pub(super) fn diff(output: &[u8], limits: DiffLimits, cut: bool) -> Result<GitDiff, GitError> {
    let mut rest = output;
    let mut diff = GitDiff::default();
    if let Err(error) = lists(&mut rest, &mut diff.files) {
        // The lists stand before the patch; when even they are cut, what was read of them is all there is.
        return match cut {
            true => Ok(shortened(diff, limits)),
            false => Err(error),
        };
    }
    if rest.is_empty() {
        return Ok(shortened(diff, limits));
    }
    let mut patch = Patch { rest, left: limits.lines };
    for file in &mut diff.files {
        // A file that became a link is told as two: one that goes and one that comes.
        let blocks = match file.status {
            FileStatus::TypeChanged => 2,
            FileStatus::Added
            | FileStatus::Deleted
            | FileStatus::Modified
            | FileStatus::Renamed
            | FileStatus::Copied => 1,
        };
        for _ in 0..blocks {
            patch.file(file);
        }
        if patch.left == 0 {
            diff.truncated = true;
            break;
        }
    }
    Ok(shortened(diff, limits))
}

fn shortened(mut diff: GitDiff, limits: DiffLimits) -> GitDiff {
    diff.truncated |= diff.files.len() > limits.files;
    diff.files.truncate(limits.files);
    diff
}

/// Reads the list of files with their kinds, then the list with their counts, and the mark before the patch.
fn lists(rest: &mut &[u8], files: &mut Vec<GitFileDiff>) -> Result<(), GitError> {
    while rest.starts_with(b":") {
        let head = field(rest)?;
        let words: Vec<&[u8]> = head.split(|b| *b == b' ').collect();
        let [old_mode, new_mode, _, _, letter] = words[..] else {
            return Err(GitError::unexpected("diff-tree", head));
        };
        let status = status(letter).ok_or_else(|| GitError::unexpected("diff-tree", head))?;
        let first = GitPath::new(field(rest)?);
        let (path, old_path) = match status {
            FileStatus::Renamed | FileStatus::Copied => (GitPath::new(field(rest)?), Some(first)),
            FileStatus::Added
            | FileStatus::Deleted
            | FileStatus::Modified
            | FileStatus::TypeChanged => (first, None),
        };
        let mode = |mode: &[u8]| String::from_utf8_lossy(mode).trim_start_matches(':').to_owned();
        let (old_mode, new_mode) = (mode(old_mode), mode(new_mode));
        let (added, removed, binary, hunks) = (0, 0, false, Vec::new());
        files.push(GitFileDiff {
            path,
            old_path,
            status,
            old_mode,
            new_mode,
            added,
            removed,
            binary,
            hunks,
        });
    }
    for file in files {
        let counts = field(rest)?;
        let mut words = counts.splitn(3, |b| *b == b'\t');
        let (added, removed) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        file.binary = added == b"-";
        file.added = number(added);
        file.removed = number(removed);
        // Both paths of a renamed file follow in fields of their own.
        if words.next().unwrap_or_default().is_empty() {
            field(rest)?;
            field(rest)?;
        }
    }
    if let [0, patch @ ..] = rest {
        *rest = patch;
    }
    Ok(())
}

fn status(letter: &[u8]) -> Option<FileStatus> {
    Some(match letter.first()? {
        b'A' => FileStatus::Added,
        b'D' => FileStatus::Deleted,
        b'M' => FileStatus::Modified,
        b'R' => FileStatus::Renamed,
        b'C' => FileStatus::Copied,
        b'T' => FileStatus::TypeChanged,
        _ => return None,
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], GitError> {
    let at = memchr::memchr(0, rest).ok_or_else(|| GitError::unexpected("diff-tree", rest))?;
    let (field, after) = rest.split_at(at);
    *rest = &after[1..];
    Ok(field)
}

fn number(digits: &[u8]) -> u64 {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The patch, read line by line; counts in its hunks tell contents from headings.
struct Patch<'a> {
    rest: &'a [u8],
    /// How many lines of hunks may still be taken.
    left: usize,
}

impl<'a> Patch<'a> {
    fn peek(&self) -> Option<&'a [u8]> {
        match memchr::memchr(b'\n', self.rest) {
            Some(at) => Some(&self.rest[..at]),
            None if self.rest.is_empty() => None,
            None => Some(self.rest),
        }
    }

    fn pass(&mut self, line: &[u8]) {
        self.rest = &self.rest[(line.len() + 1).min(self.rest.len())..];
    }

    /// Reads one file's part.
    fn file(&mut self, file: &mut GitFileDiff) {
        match self.peek() {
            Some(line) if line.starts_with(b"diff --git ") => self.pass(line),
            _ => return,
        }
        while let Some(line) = self.peek() {
            if line.starts_with(b"diff --git ") {
                return;
            }
            self.pass(line);
            if let Some(mut hunk) = heading(line) {
                self.hunk(&mut hunk);
                file.hunks.push(hunk);
                if self.left == 0 {
                    return;
                }
            }
        }
    }

    fn hunk(&mut self, hunk: &mut GitHunk) {
        let (mut old, mut new) = (hunk.old_lines, hunk.new_lines);
        while let Some(line) = self.peek() {
            let (kind, text) = match line {
                [b'\\', ..] => {
                    if let Some(last) = hunk.lines.last_mut() {
                        last.no_newline = true;
                    }
                    self.pass(line);
                    continue;
                }
                _ if old == 0 && new == 0 => return,
                [b'+', text @ ..] => (LineKind::Added, text),
                [b'-', text @ ..] => (LineKind::Removed, text),
                [b' ', text @ ..] => (LineKind::Context, text),
                _ => return,
            };
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.pass(line);
            match kind {
                LineKind::Added => new = new.saturating_sub(1),
                LineKind::Removed => old = old.saturating_sub(1),
                LineKind::Context => {
                    old = old.saturating_sub(1);
                    new = new.saturating_sub(1);
                }
            }
            let text = String::from_utf8_lossy(text).into_owned();
            hunk.lines.push(GitDiffLine { kind, text, no_newline: false });
        }
    }
}

/// Reads `@@ -1,2 +3,4 @@ section`.
fn heading(line: &[u8]) -> Option<GitHunk> {
    let rest = line.strip_prefix(b"@@ -")?;
    let end = memchr::memmem::find(rest, b" @@")?;
    let ranges = std::str::from_utf8(&rest[..end]).ok()?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u64, u64)> {
        let (start, lines) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, lines.parse().ok()?))
    };
    let ((old_start, old_lines), (new_start, new_lines)) = (range(old)?, range(new)?);
    let section = String::from_utf8_lossy(&rest[end + 3..]).trim_start().to_owned();
    Some(GitHunk { old_start, old_lines, new_start, new_lines, section, lines: Vec::new() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAMPLE: &[u8] = b":100644 100644 a b M\0a\0:100644 100644 a b R090\0old\0new\x001\t1\ta\x001\t0\t\0old\0new\0\0\
diff --git a/a b/a\nindex a..b 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ fn f()\n x\n--- a/fake\n+++ b/fake\n\\ No newline at end of file\n\
diff --git a/old b/new\nsimilarity index 90%\n@@ -0,0 +1 @@\n+diff --git a/x b/x\n";

    #[test]
    fn contents_that_look_like_headings_stay_contents() {
        let diff = diff(SAMPLE, DiffLimits::default(), false).unwrap();
        let [a, renamed] = &diff.files[..] else { panic!("{diff:?}") };
        let texts: Vec<_> = a.hunks[0].lines.iter().map(|line| (line.kind, &*line.text)).collect();
        assert_eq!(
            texts,
            [
                (LineKind::Context, "x"),
                (LineKind::Removed, "-- a/fake"),
                (LineKind::Added, "++ b/fake"),
            ]
        );
        assert!(a.hunks[0].lines[2].no_newline && !a.hunks[0].lines[1].no_newline);
        assert_eq!(a.hunks[0].section, "fn f()");
        assert_eq!(renamed.old_path, Some(GitPath::new("old")));
        assert_eq!((renamed.added, renamed.removed), (1, 0));
        assert_eq!(renamed.hunks[0].lines[0].text, "diff --git a/x b/x");
    }

    #[test]
    fn a_diff_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
        for end in 0..SAMPLE.len() {
            let read = diff(&SAMPLE[..end], DiffLimits::default(), true).unwrap();
            assert!(read.files.len() <= 2);
        }
    }

    #[test]
    fn limits_on_lines_and_files_are_kept_and_told() {
        let two = DiffLimits { lines: 2, ..DiffLimits::default() };
        let read = diff(SAMPLE, two, false).unwrap();
        assert!(read.truncated && read.files.len() == 2);
        assert_eq!(read.files.iter().flat_map(|f| &f.hunks).flat_map(|h| &h.lines).count(), 2);
        let one = DiffLimits { files: 1, ..DiffLimits::default() };
        let read = diff(SAMPLE, one, false).unwrap();
        assert!(read.truncated && read.files.len() == 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), cut: bool) {
            diff(&bytes, DiffLimits::default(), cut).ok();
            let mut spoiled = SAMPLE.to_vec();
            for (at, byte) in bytes.iter().enumerate() {
                let place = (at * 7 + usize::from(*byte)) % spoiled.len();
                spoiled[place] = *byte;
            }
            diff(&spoiled, DiffLimits::default(), cut).ok();
        }
    }
}
