//! Where one line of a text ends and what is said in the next one begins, as it is and as it looks inside JSON.

use std::ops::Range;

use memchr::memchr2;

/// What may stand before the words of a line, beside indentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePrefix {
    Nothing,
    /// The mark of a diff, a quotation or a comment, or the number of the line.
    Mark,
}

/// The number of a line has no more digits.
const MAX_NUMBER_DIGITS: usize = 7;

/// The next end of a line at or after `from`, as it is or escaped.
#[inline]
pub(super) fn next_line_end(text: &[u8], from: usize) -> Option<Range<usize>> {
    let mut at = from;
    loop {
        at += memchr2(b'\n', b'\\', text.get(at..)?)?;
        // Most ends are plain, and most backslashes are of other escapes.
        let len = match text[at] {
            b'\n' => Some(1),
            _ => line_end(&text[at..]),
        };
        if let Some(len) = len {
            let start = if at > from && text[at - 1] == b'\r' { at - 1 } else { at };
            return Some(start..at + len);
        }
        at += backslashes(&text[at..]);
    }
}

/// The next border of two lines at or after `from`: from the end of what one says to the beginning of what the other says.
pub(super) fn next_border(text: &[u8], from: usize, prefix: LinePrefix) -> Option<Range<usize>> {
    let Range { start, end } = next_line_end(text, from)?;
    Some(start..end + before_words(&text[end..], prefix))
}

/// Whether there is a border at all, or the beginning of one at the end.
pub(super) fn has_border(text: &[u8]) -> bool {
    memchr2(b'\n', b'\\', text).is_some() || text.last() == Some(&b'\r')
}

fn backslashes(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b'\\').count()
}

/// The length of a line's end that begins here: with a backslash that continues the line, and with any number of them
/// before the letter that stands for it in a string.
fn line_end(text: &[u8]) -> Option<usize> {
    let slashes = backslashes(text);
    match &text[slashes..] {
        [b'\n', ..] => Some(slashes + 1),
        [b'\r', b'\n', ..] => Some(slashes + 2),
        [b'n', ..] if slashes > 0 => Some(slashes + 1),
        [b'r', rest @ ..] if slashes > 0 => {
            let more = backslashes(rest);
            (more > 0 && rest.get(more) == Some(&b'n')).then_some(slashes + more + 2)
        }
        _ => None,
    }
}

fn indentation(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match &text[at..] {
            [b' ' | b'\t', ..] => at += 1,
            [b'\\', ..] => {
                let slashes = backslashes(&text[at..]);
                match text.get(at + slashes) {
                    Some(b't') => at += slashes + 1,
                    Some(_) | None => return at,
                }
            }
            _ => return at,
        }
    }
}

/// The length of what stands before the words of a line.
pub(super) fn before_words(line: &[u8], prefix: LinePrefix) -> usize {
    let spaces = indentation(line);
    match prefix {
        LinePrefix::Nothing => spaces,
        LinePrefix::Mark => {
            let words = &line[spaces..];
            let mark = mark(words);
            spaces + mark + indentation(&words[mark..])
        }
    }
}

/// The length of a mark: one sign, or a number with a sign after it.
fn mark(words: &[u8]) -> usize {
    let digits = words.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after = &words[digits..];
    match digits {
        0 => usize::from(matches!(after, [b'+' | b'-' | b'>' | b'|' | b'#', ..])),
        1..=MAX_NUMBER_DIGITS => match after {
            [b'\t' | b':' | b'|', ..] => digits + 1,
            [0xE2, 0x86, 0x92, ..] => digits + 3,
            [b'\\', ..] => {
                let slashes = backslashes(after);
                match &after[slashes..] {
                    [b't', ..] => digits + slashes + 1,
                    [b'u', b'2', b'1', b'9', b'2', ..] => digits + slashes + 5,
                    _ => 0,
                }
            }
            _ => 0,
        },
        _ => 0,
    }
}

/// The length of an end that may be the beginning of a line's end.
pub(super) fn unfinished_border(text: &[u8]) -> usize {
    let mut len = text.len();
    loop {
        len = match &text[..len] {
            [.., b'\\' | b'\r'] => len - 1,
            [.., b'\\', b'r'] => len - 2,
            _ => return text.len() - len,
        };
    }
}

/// Whether the words of a line may be the beginning of its number.
pub(super) fn is_unfinished_number(words: &[u8]) -> bool {
    let digits = words.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after = &words[digits..];
    let sign = |byte: &u8| matches!(byte, b'\\' | b'u' | b'1' | b'2' | b'9' | 0xE2 | 0x86);
    (1..=MAX_NUMBER_DIGITS).contains(&digits) && after.len() < 10 && after.iter().all(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_border_is_all_that_stands_between_the_words_of_two_lines() {
        for (text, prefix) in [
            ("a<\n>b", LinePrefix::Nothing),
            ("a<\r\n\t  >b", LinePrefix::Nothing),
            ("a<\\\n  >b", LinePrefix::Nothing),
            ("a<\\n>b", LinePrefix::Nothing),
            ("a<\\r\\n\\t>b", LinePrefix::Nothing),
            ("a<\\\\n>b", LinePrefix::Nothing),
            ("x\\a<\n>+b", LinePrefix::Nothing),
            ("a<\n+>b", LinePrefix::Mark),
            ("a<\n  >b", LinePrefix::Mark),
            ("a<\n  12\t>b", LinePrefix::Mark),
            ("a<\n  12→>b", LinePrefix::Mark),
            ("a<\\n  12\\t>b", LinePrefix::Mark),
            ("a<\\n12\\u2192>b", LinePrefix::Mark),
            ("a<\n>12b", LinePrefix::Mark),
        ] {
            let start = text.find('<').unwrap();
            let end = text.find('>').unwrap() - 1;
            let bare = text.replace(['<', '>'], "");
            assert_eq!(next_border(bare.as_bytes(), 0, prefix), Some(start..end), "{text:?}");
        }
        assert_eq!(next_border(b"C:\\temp \\ x", 0, LinePrefix::Nothing), None);
    }

    #[test]
    fn the_beginning_of_a_border_is_known() {
        for (text, len) in [("a\\", 1), ("a\r", 1), ("a\\r\\\\", 4), ("ar", 0), ("", 0)] {
            assert_eq!(unfinished_border(text.as_bytes()), len, "{text:?}");
        }
        assert!(is_unfinished_number(b"12") && is_unfinished_number(b"12\\\\u21"));
        assert!(!is_unfinished_number(b"12a") && !is_unfinished_number(b""));
    }
}
