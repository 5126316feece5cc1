//! A file's text, and where in it an offset is.

use std::ops::Range;
use std::path::PathBuf;

use unicode_width::UnicodeWidthChar;

use super::problem::{ConfigProblem, TextSpan};

/// What is shown of a line on each side of a mistake, in characters.
const SHOWN: usize = 60;

/// The text of one file.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// As seen from the repository.
    pub(super) file: PathBuf,
    pub(super) text: String,
}

impl Source {
    pub(super) fn problem(&self, span: Range<usize>, message: impl Into<String>) -> ConfigProblem {
        let place = Some(self.place(span));
        ConfigProblem { file: self.file.clone(), place, message: message.into(), fix: None }
    }

    /// Where a stretch of bytes begins, and how far it goes on that line.
    fn place(&self, span: Range<usize>) -> TextSpan {
        let start = floor(&self.text, span.start);
        let end = floor(&self.text, span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line = self.text[line_start..line_end].trim_end_matches('\r');
        let inside = (start - line_start).min(line.len());
        let marked = (end - line_start).clamp(inside, line.len());
        let (before, after) = (&line[..inside], &line[marked..]);
        // A line that fits a screen is shown whole.
        let room = if line.len() <= 2 * SHOWN { line.len() } else { SHOWN };
        let left: Vec<char> = before.chars().rev().take(room).collect();
        let left: String = left.into_iter().rev().map(visible).collect();
        let middle: String = line[inside..marked].chars().take(room).map(visible).collect();
        let right: String = after.chars().take(room).map(visible).collect();
        TextSpan {
            line: self.text[..line_start].matches('\n').count() + 1,
            column: before.chars().count() + 1,
            before: columns(&left),
            width: columns(&middle).max(1),
            excerpt: left + &middle + &right,
        }
    }
}

/// The nearest character boundary at or before an offset.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// What a terminal shows as one harmless character.
fn visible(c: char) -> char {
    match c.is_control() {
        true => ' ',
        false => c,
    }
}

fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The offset in the file of an offset in the text that a TOML string stands for. `raw` is the string as it is written,
/// quotes included.
pub(super) fn offset_in_raw(raw: &str, meant: &str, wanted: usize) -> usize {
    let quote = if raw.starts_with('"') { "\"\"\"" } else { "'''" };
    let mut at = 1;
    if raw.starts_with(quote) {
        at = 3;
        let first = &raw[at.min(raw.len())..];
        at += ["\r\n", "\n"].iter().find(|end| first.starts_with(**end)).map_or(0, |end| end.len());
    }
    let escapes = raw.starts_with('"');
    let mut meant = meant.char_indices();
    let mut next = meant.next();
    while let Some((reached, c)) = next {
        let rest = raw.get(at..).unwrap_or_default();
        let Some(written) = rest.chars().next() else { break };
        let folded = escapes && folded_line(rest) > 0;
        if folded {
            at += folded_line(rest);
            continue;
        }
        if reached >= wanted {
            break;
        }
        if written == '\r' && c != '\r' {
            at += 1;
            continue;
        }
        at += if escapes && written == '\\' { escape_length(rest) } else { written.len_utf8() };
        next = meant.next();
    }
    at.min(raw.len())
}

/// How much of the text is a backslash at a line's end with the white space that it swallows.
fn folded_line(rest: &str) -> usize {
    let Some(after) = rest.strip_prefix('\\') else { return 0 };
    let space = after.len() - after.trim_start_matches([' ', '\t', '\r', '\n']).len();
    match after[..space].contains('\n') {
        true => 1 + space,
        false => 0,
    }
}

fn escape_length(rest: &str) -> usize {
    match rest.as_bytes().get(1) {
        Some(b'x') => 4,
        Some(b'u') => 6,
        Some(b'U') => 10,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(text: &str, span: Range<usize>) -> TextSpan {
        Source { file: "f".into(), text: text.into() }.place(span)
    }

    #[test]
    fn an_offset_becomes_a_line_a_column_and_an_excerpt() {
        let place = placed("one\r\nzwölf = 日本 x\r\nthree", 21..22);
        assert_eq!((place.line, place.column), (2, 12));
        assert_eq!(place.excerpt, "zwölf = 日本 x");
        assert_eq!((place.before, place.width), (13, 1));
    }

    #[test]
    fn a_stretch_ends_with_its_line_and_an_offset_past_the_end_is_the_end() {
        let place = placed("ab\ncd\n", 1..5);
        assert_eq!((place.line, place.column, place.width), (1, 2, 1));
        let place = placed("ab\ncd", 99..200);
        assert_eq!((place.line, place.column, place.width), (2, 3, 1));
        assert_eq!(placed("", 0..0).excerpt, "");
    }

    #[test]
    fn a_long_line_is_cut_around_the_mistake() {
        let text = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let place = placed(&text, 5000..5001);
        assert_eq!(place.column, 5001);
        assert_eq!((place.before, place.excerpt.len()), (SHOWN, 2 * SHOWN + 1));
    }

    #[test]
    fn an_offset_in_a_string_leads_back_to_where_it_is_written() {
        for (raw, meant, word) in [
            (r#""a X""#, "a X", "X"),
            (r#""a\n\u00e9 X""#, "a\né X", "X"),
            ("\"\"\"\none\nX\"\"\"", "one\nX", "X"),
            ("\"\"\"\r\none\r\nX\"\"\"", "one\nX", "X"),
            ("\"\"\"one \\\n   \n  X\"\"\"", "one X", "X"),
            ("'''\na\\n X'''", "a\\n X", "X"),
            (r"'\X'", "\\X", "X"),
        ] {
            let at = offset_in_raw(raw, meant, meant.find(word).unwrap());
            assert_eq!(&raw[at..=at], word, "{raw}");
        }
    }
}
