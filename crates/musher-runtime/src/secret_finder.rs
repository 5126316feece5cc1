//! Finds secrets in texts and byte streams: in every form that programs give them, also across the borders of lines.
//!
//! Nearly every text holds none, so that is what has to be quick. One of each few bytes is looked at with the two after it: if no
//! form of a secret has these three in a row, none is there. Borders of lines are looked at in the same way.

mod forms;
mod grams;
mod lines;
mod stream;
#[cfg(test)]
mod tests;
mod wrapped;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use forms::forms;
use grams::{ByteSet, GRAM, GramSet, beginning, gram};
pub(crate) use stream::MaskedStream;

/// So much of the beginning of each form is looked for at most. More would be quicker and take more memory.
const MAX_WINDOW_BYTES: usize = 26;
/// A wrapped secret is found if it takes no more bytes than so many times its own, and these.
const WRAPPED_TIMES: usize = 4;
const WRAPPED_MORE_BYTES: usize = 256;

/// Secrets that are known by value, ready to be looked for.
#[derive(Debug)]
pub(crate) struct SecretFinder {
    names: Vec<String>,
    /// In the order of their bytes.
    patterns: Vec<Pattern>,
    /// All grams of all patterns, and their beginnings.
    grams: GramSet,
    /// All bytes of all patterns, and those with which patterns begin.
    bytes: ByteSet,
    firsts: ByteSet,
    /// The grams of the first bytes of patterns, in order.
    heads: Vec<Head>,
    /// How many of the first bytes of each pattern have their grams among the heads.
    window: usize,
    longest: usize,
}

/// One form of a secret.
#[derive(Debug)]
struct Pattern {
    bytes: Box<[u8]>,
    name: u32,
}

#[derive(Debug)]
struct Head {
    gram: u32,
    pattern: u32,
    offset: u32,
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundSecret<'a> {
    pub(crate) name: &'a str,
    /// Where it stands: one place, or one in each line that it is wrapped over.
    pub(crate) pieces: Vec<Range<usize>>,
}

impl FoundSecret<'_> {
    pub(crate) fn range(&self) -> Range<usize> {
        let start = self.pieces.first().map_or(0, |piece| piece.start);
        start..self.pieces.last().map_or(start, |piece| piece.end)
    }
}

/// A pattern in a text without borders of lines.
struct Match {
    range: Range<usize>,
    pattern: usize,
}

impl SecretFinder {
    /// `secrets` are names with values. There is none without a secret that is long enough to be looked for.
    pub(crate) fn new(secrets: &[(String, String)]) -> Option<Arc<Self>> {
        let names = secrets.iter().map(|(name, _)| name.clone()).collect();
        let mut patterns: Vec<Pattern> = Vec::new();
        for (name, (_, secret)) in (0..).zip(secrets) {
            let forms = forms(secret).into_iter().filter(|form| form.len() >= GRAM);
            patterns.extend(forms.map(|form| Pattern { bytes: form.into_bytes().into(), name }));
        }
        // A value that has two names is shown with the first.
        patterns.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.name.cmp(&b.name)));
        patterns.dedup_by(|later, first| later.bytes == first.bytes);
        let lengths = patterns.iter().map(|pattern| pattern.bytes.len());
        let longest = lengths.clone().max()?;
        let window = lengths.min()?.min(MAX_WINDOW_BYTES);
        let mut heads = Vec::new();
        let (mut all, mut firsts) = (ByteSet::default(), ByteSet::default());
        for (at, Pattern { bytes, .. }) in (0..).zip(&patterns) {
            firsts.add(bytes[0]);
            bytes.iter().for_each(|byte| all.add(*byte));
            for (offset, part) in (0..).zip(bytes[..window].windows(GRAM)) {
                heads.push(Head { gram: gram(part, 0), pattern: at, offset });
            }
        }
        heads.sort_by_key(|head| head.gram);
        let grams = GramSet::of(patterns.iter().map(|pattern| &pattern.bytes));
        Some(Arc::new(Self { names, patterns, grams, bytes: all, firsts, heads, window, longest }))
    }

    /// Whether a secret is in a text.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        !self.matches(text).is_empty() || !self.wrapped(text).is_empty()
    }

    /// The secrets in a text from its beginning on: of those that overlap the first, and of those that begin alike the longest.
    pub(crate) fn find(&self, text: &[u8]) -> Vec<FoundSecret<'_>> {
        let mut all = self.wrapped(text);
        let whole = self.matches(text).into_iter();
        all.extend(whole.map(|found| self.found(found.pattern, vec![found.range])));
        all.sort_by_key(|found| (found.range().start, Reverse(found.range().end)));
        let mut end = 0;
        all.retain(|found| {
            let apart = found.range().start >= end;
            if apart {
                end = found.range().end;
            }
            apart
        });
        all
    }

    fn found(&self, pattern: usize, pieces: Vec<Range<usize>>) -> FoundSecret<'_> {
        let name = self.names.get(self.patterns[pattern].name as usize);
        FoundSecret { name: name.map_or("secret", String::as_str), pieces }
    }

    /// Every pattern that stands in a text in one piece.
    ///
    /// The first bytes of a pattern hold as many grams as there are bytes from one look to the next, so one look falls on each.
    fn matches(&self, text: &[u8]) -> Vec<Match> {
        let mut found = Vec::new();
        let mut at = self.window - GRAM;
        while let Some(&[a, b, c]) = text.get(at..at + GRAM) {
            let gram = u32::from_le_bytes([a, b, c, 0]);
            if self.grams.has(gram) {
                self.look_at(text, at, gram, &mut found);
            }
            at += self.window - GRAM + 1;
        }
        found
    }

    fn look_at(&self, text: &[u8], at: usize, gram: u32, found: &mut Vec<Match>) {
        let first = self.heads.partition_point(|head| head.gram < gram);
        for head in self.heads[first..].iter().take_while(|head| head.gram == gram) {
            let (start, pattern) = (at - head.offset as usize, head.pattern as usize);
            let bytes = &self.patterns[pattern].bytes;
            let range = start..start + bytes.len();
            if text.get(range.clone()) == Some(bytes) {
                found.push(Match { range, pattern });
            }
        }
    }

    /// Whether a text neither holds a secret nor ends with the beginning of one: quick, because nearly every text is so.
    pub(crate) fn is_clear(&self, text: &[u8]) -> bool {
        if lines::has_border(text) {
            self.open_end(text) == 0 && !self.is_in(text)
        } else {
            self.open_end_in_line(text) == 0 && self.matches(text).is_empty()
        }
    }

    /// The length of the longest end of `text`, short of a whole secret, with which a secret may begin.
    pub(crate) fn open_end(&self, text: &[u8]) -> usize {
        let tail = &text[text.len() - self.reach().min(text.len())..];
        let open = self.open_end_in_line(tail);
        if lines::has_border(tail) { open.max(self.open_end_over_lines(tail)) } else { open }
    }

    /// The same, if borders of lines were not there.
    fn open_end_in_line(&self, text: &[u8]) -> usize {
        let begins = |len: &usize| self.begins_with(&text[text.len() - len..]);
        (1..=self.longest_open_end(text)).rev().find(begins).unwrap_or(0)
    }

    /// How long the end of a text can be with which a secret begins.
    fn longest_open_end(&self, text: &[u8]) -> usize {
        // All grams of what may be the beginning of a secret are known; only one or two bytes have none.
        let mut known = text.len();
        while known >= GRAM
            && text.len() - known < self.longest
            && self.grams.has(gram(text, known - GRAM))
        {
            known -= 1;
        }
        (text.len() - known + GRAM - 1).min(text.len()).min(self.longest - 1)
    }

    /// Whether a pattern begins with this and goes on.
    fn begins_with(&self, start: &[u8]) -> bool {
        if start.len() < 2 || !self.firsts.has(start[0]) {
            return self.firsts.has(start[0]);
        }
        if !self.grams.has(beginning(start)) {
            return false;
        }
        let at = self.patterns.partition_point(|pattern| *pattern.bytes < *start);
        let mut after = self.patterns[at..].iter().take(2).map(|pattern| &pattern.bytes);
        after.any(|bytes| bytes.len() > start.len() && bytes.starts_with(start))
    }

    /// How many bytes a wrapped secret takes at most.
    fn reach(&self) -> usize {
        self.longest * WRAPPED_TIMES + WRAPPED_MORE_BYTES
    }
}
