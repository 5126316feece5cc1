//! Text from an agent, made fit for a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// The text without escape sequences, control characters and tricks with direction.
pub(crate) fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => match rest.next() {
                Some('[') => {
                    // Parameters up to the letter that ends them.
                    while rest.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
                }
                Some(']') => {
                    while let Some(c) = rest.next() {
                        if c == BELL || (c == ESCAPE && rest.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            '\n' | '\t' => clean.push(c),
            c if hides(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// The text with everything that a terminal would not show, shown: for what a person is asked to approve.
pub(crate) fn visible(text: &str) -> String {
    let show = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if hides(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(show).collect()
}

/// Characters that a terminal acts upon or does not show. A joiner inside an emoji is part of it.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{3164}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// The first line of a text that says something, cut to a width.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let plain = plain(text);
    let mut lines = plain.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or_default().replace('\t', " ");
    if line.width() <= width && lines.next().is_none() {
        return line;
    }
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let wide = c.width().unwrap_or(0);
        let fits = wide <= room;
        room = room.saturating_sub(wide);
        fits
    };
    let kept: String = line.chars().take_while(fits).collect();
    format!("{kept}…")
}

/// The text in lines that fit. They are broken at blanks, and never inside a command between backticks; what does not
/// fit at all stays whole. The rest of a line stands below its first word, or this much further in.
pub(crate) fn wrapped(text: &str, width: usize, hang: usize) -> String {
    let wrapped = text.split('\n').map(|line| wrapped_line(line, width, hang));
    wrapped.collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize, hang: usize) -> String {
    let set_in = line.len() - line.trim_start_matches(' ').len() + hang;
    let (mut text, mut used) = (String::new(), 0);
    let mut quoted = false;
    for word in line.split_inclusive(|c: char| {
        quoted ^= c == '`';
        c == ' ' && !quoted
    }) {
        let wide = plain(word.trim_end_matches(' ')).width();
        if used > set_in && used + wide > width {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            text.push_str(&" ".repeat(set_in));
            used = set_in;
        }
        text.push_str(word);
        used += plain(word).width();
    }
    text
}

/// The last line of a text that says something, cut to a width.
pub(crate) fn last_line(text: &str, width: usize) -> String {
    let plain = plain(text);
    let last = plain.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    one_line(&last, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_shown_as_text() {
        let text = "a\x1b[31mb\x1b[0m\x07\u{202e}c\r\n\td\x1b]0;title\x07e\x1b]8;;x\x1b\\f";
        assert_eq!(plain(text), "abc\n\tdef");
        assert_eq!(plain("\x1b"), "");
        assert_eq!(plain("👩‍👧"), "👩‍👧");
    }

    #[test]
    fn what_is_approved_shows_what_it_hides() {
        assert_eq!(visible("rm a\u{202e}b\x1b[2J"), "rm a\\u{202e}b\\u{1b}[2J");
    }

    #[test]
    fn lines_are_cut_to_the_width_that_they_take() {
        assert_eq!(one_line("first\nsecond", 40), "first…");
        assert_eq!(one_line("0123456789", 5), "0123…");
        assert_eq!(one_line("日本語日本語", 6), "日本…");
        assert_eq!(wrapped("one two three", 8, 0), "one two\nthree");
        assert_eq!(wrapped("  fix: one two\nthree", 10, 0), "  fix: one\n  two\nthree");
        assert_eq!(wrapped("say `a b c d` now", 8, 2), "say\n  `a b c d`\n  now");
        assert_eq!(
            wrapped("x \u{1b}[31mred\u{1b}[0m blue", 5, 0),
            "x \u{1b}[31mred\u{1b}[0m\nblue"
        );
        assert_eq!(wrapped("unbreakable/path", 4, 3), "unbreakable/path");
        assert_eq!(last_line("Exit code 1\nno such file\n\n", 40), "no such file");
    }
}
