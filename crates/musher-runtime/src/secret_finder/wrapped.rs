//! Secrets that are wrapped over several lines.

use std::ops::Range;

use super::grams::{GRAM, gram};
use super::lines::{
    LinePrefix, before_words, has_border, is_unfinished_number, next_border, next_line_end,
    unfinished_border,
};
use super::{FoundSecret, MAX_WINDOW_BYTES, SecretFinder};

/// So much of the end of a text is looked at first.
const SHORT_END_BYTES: usize = 128;
/// No escaped end of a line in ordinary text is longer.
const MAX_LINE_END_BYTES: usize = 16;

/// A part of a text without the borders of its lines.
struct Joined {
    bytes: Vec<u8>,
    /// Where each line begins: here, and in the text.
    lines: Vec<(usize, usize)>,
}

impl Joined {
    fn of(text: &[u8], part: Range<usize>, prefix: LinePrefix) -> Self {
        let part_text = &text[..part.end];
        let mut joined = Self { bytes: Vec::with_capacity(part.len()), lines: Vec::new() };
        let mut from = part.start;
        loop {
            let border = next_border(part_text, from, prefix).unwrap_or(part.end..part.end);
            joined.lines.push((joined.bytes.len(), from));
            joined.bytes.extend_from_slice(&text[from..border.start]);
            if border.is_empty() {
                return joined;
            }
            from = border.end;
        }
    }

    /// Where something stands in the text, line by line.
    fn pieces(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let ends = self.lines.iter().skip(1).map(|(start, _)| *start).chain([self.bytes.len()]);
        let lines = self.lines.iter().zip(ends);
        let first = lines.skip_while(|(_, end)| *end <= range.start);
        let touched = first.take_while(|((start, _), _)| *start < range.end);
        touched
            .map(|((start, at), end)| {
                let (from, to) = (range.start.max(*start), range.end.min(end));
                at + from - start..at + to - start
            })
            .filter(|piece| !piece.is_empty())
            .collect()
    }

    fn place(&self, byte: usize) -> usize {
        let line = self.lines.partition_point(|(start, _)| *start <= byte).saturating_sub(1);
        let (start, at) = self.lines[line];
        at + byte - start
    }
}

/// The last bytes of what was said before a border.
#[derive(Debug, Default)]
struct LastBytes {
    bytes: [u8; MAX_WINDOW_BYTES],
    len: usize,
}

impl LastBytes {
    fn push(&mut self, words: &[u8]) {
        let words = &words[words.len().saturating_sub(MAX_WINDOW_BYTES)..];
        let kept = self.len.min(MAX_WINDOW_BYTES - words.len());
        self.bytes.copy_within(self.len - kept..self.len, 0);
        self.len = kept + words.len();
        self.bytes[kept..self.len].copy_from_slice(words);
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn last_two(&self) -> [u8; 2] {
        match self.bytes() {
            [] => [0, 0],
            [one] => [0, *one],
            [.., first, second] => [*first, *second],
        }
    }
}

impl SecretFinder {
    /// Every secret with a border of lines in it.
    pub(super) fn wrapped(&self, text: &[u8]) -> Vec<FoundSecret<'_>> {
        let mut found = Vec::new();
        if has_border(text) && self.look_at_borders(text, LinePrefix::Nothing, &mut found) {
            self.look_at_borders(text, LinePrefix::Mark, &mut found);
        }
        found
    }

    /// Looks closely where what is around a border may be part of a secret. Tells whether there are lines with marks.
    fn look_at_borders<'a>(
        &'a self,
        text: &[u8],
        prefix: LinePrefix,
        found: &mut Vec<FoundSecret<'a>>,
    ) -> bool {
        let (mut line, mut looked_until, mut marks) = (0, 0, false);
        let mut before = LastBytes::default();
        while let Some(end) = next_line_end(text, line) {
            if end.start == line && before.len == 0 {
                line = end.end;
                continue;
            }
            let last = text[..end.start].last().copied().unwrap_or_default();
            // A line that ends with a byte that no secret has is not the beginning of one; an empty line changes nothing.
            if self.bytes.has(last) || last.is_ascii_whitespace() {
                // What comes before the words of the first line is unknown, so all of it counts.
                let skipped =
                    if line == 0 { 0 } else { before_words(&text[line..end.start], prefix) };
                before.push(&text[line + skipped..end.start]);
                let after = end.end + before_words(&text[end.end..], prefix);
                let first = text.get(after).copied().unwrap_or_default();
                marks |=
                    first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'>' | b'|' | b'#');
                // Of several line ends in a row the last one is looked at, or each would be looked at from every other.
                let more = next_line_end(text, end.end).is_some_and(|next| next.start == end.end);
                let suspect = !more
                    && end.start >= looked_until
                    && self.may_cross(before.last_two(), &text[after..])
                    && self.is_known_around(&before, &text[after..], prefix);
                if suspect {
                    let reach = self.reach();
                    let part = end.start.saturating_sub(reach)..text.len().min(end.end + 2 * reach);
                    self.look_at_part(text, part, prefix, found);
                    looked_until = end.end + reach;
                }
            } else {
                before.len = 0;
            }
            line = end.end;
        }
        marks
    }

    /// Whether one of the two grams with a border in them is of a secret.
    fn may_cross(&self, [left, right]: [u8; 2], after: &[u8]) -> bool {
        let (first, second) = (after.first().copied(), after.get(1).copied());
        let first = first.unwrap_or_default();
        self.grams.has(gram(&[left, right, first], 0))
            || self.grams.has(gram(&[right, first, second.unwrap_or_default()], 0))
    }

    /// Whether so many bytes around a border as the shortest secret has may be of one.
    fn is_known_around(&self, before: &LastBytes, after: &[u8], prefix: LinePrefix) -> bool {
        let after = &after[..after.len().min(self.reach())];
        let mut bytes = before.bytes().to_vec();
        let border = bytes.len();
        let mut from = 0;
        while bytes.len() < border + self.window {
            let end = next_border(after, from, prefix).unwrap_or(after.len()..after.len());
            bytes.extend(&after[from..end.start.min(from + self.window)]);
            if end.is_empty() {
                break;
            }
            from = end.end;
        }
        let known = |at: &usize| bytes.len() >= at + GRAM && self.grams.has(gram(&bytes, *at));
        [2, 1].into_iter().filter_map(|left| border.checked_sub(left)).any(|at| {
            let left = (0..=at).rev().take_while(known).count();
            let right = (at..).take_while(known).count();
            left + right > self.window - GRAM + 1
        })
    }

    fn look_at_part<'a>(
        &'a self,
        text: &[u8],
        part: Range<usize>,
        prefix: LinePrefix,
        found: &mut Vec<FoundSecret<'a>>,
    ) {
        let joined = Joined::of(text, part, prefix);
        for one in self.matches(&joined.bytes) {
            let pieces = joined.pieces(&one.range);
            if pieces.len() > 1 {
                found.push(self.found(one.pattern, pieces));
            }
        }
    }

    /// The length of the longest end with which a secret may begin that has a border of lines in it, or comes before one.
    pub(super) fn open_end_over_lines(&self, text: &[u8]) -> usize {
        let mut longest = 0;
        for prefix in [LinePrefix::Nothing, LinePrefix::Mark] {
            // Few ends need all of the text.
            let short = &text[text.len().saturating_sub(SHORT_END_BYTES)..];
            longest = longest.max(match self.open_end_of_joined(short, prefix) {
                OpenEnd { len, certain } if certain || short.len() == text.len() => len,
                OpenEnd { .. } => self.open_end_of_joined(text, prefix).len,
            });
        }
        longest
    }

    fn open_end_of_joined(&self, text: &[u8], prefix: LinePrefix) -> OpenEnd {
        let joined = Joined::of(text, 0..text.len(), prefix);
        let whole = joined.bytes.len();
        let last = joined.lines.last().map_or(0, |(start, _)| *start);
        let words = &joined.bytes[last..];
        let unfinished = whole - unfinished_border(words);
        let number = prefix == LinePrefix::Mark && is_unfinished_number(words);
        // The text may begin in the middle of a border.
        let first = before_words(text, prefix) + MAX_LINE_END_BYTES;
        let first = joined.lines.get(1).map_or(first, |(start, _)| *start);
        let mut longest = OpenEnd { len: 0, certain: true };
        for end in [whole, unfinished, if number { last } else { whole }] {
            let words = &joined.bytes[..end];
            longest.certain &= self.longest_open_end(words) + first < end;
            let open = self.open_end_in_line(words);
            if open > 0 {
                longest.len = longest.len.max(text.len() - joined.place(end - open));
            }
        }
        longest
    }
}

/// The length of an end with which a secret may begin.
struct OpenEnd {
    len: usize,
    /// Whether it would be the same with more of the text.
    certain: bool,
}
