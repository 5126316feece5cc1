//! Command lines in rules: a grant for one command must not smuggle in another.

use super::wildcard::{self, Star};

/// Whether the pattern fits the whole line or any one command in it; for bans, which should rather strike too often.
pub(super) fn any_part(pattern: &str, line: &str) -> bool {
    one(pattern, line.trim())
        || pieces(line).iter().any(|piece| one(pattern, piece))
        || Line::read(line).commands.iter().any(|command| one(pattern, command))
}

/// Whether the pattern fits every command of a line that hides none; for grants.
pub(super) fn every_part(pattern: &str, line: &str) -> bool {
    // A bare star grants every command, however it is written.
    if pattern == "*" {
        return true;
    }
    let parsed = Line::read(line);
    !parsed.hides
        && !parsed.commands.is_empty()
        && parsed.commands.iter().all(|command| one(pattern, command))
}

fn one(pattern: &str, command: &str) -> bool {
    // `git *` also means plain `git`.
    wildcard::matches(pattern, command, Star::Any)
        || pattern
            .strip_suffix(" *")
            .is_some_and(|bare| wildcard::matches(bare, command, Star::Any))
}

/// Cuts at every character that can begin a command, quoted or not.
fn pieces(line: &str) -> Vec<&str> {
    line.split([';', '&', '|', '\n', '(', ')', '`', '{', '}', '"', '\''])
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .collect()
}

struct Line<'a> {
    commands: Vec<&'a str>,
    /// It redirects, substitutes or groups: what it does cannot be read off its commands.
    hides: bool,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Self {
        let mut commands = Vec::new();
        let mut hides = false;
        let mut start = 0;
        let mut quote: Option<char> = None;
        let mut chars = line.char_indices().peekable();
        let mut push = |piece: &'a str| {
            let piece = piece.trim();
            if !piece.is_empty() {
                commands.push(piece);
            }
        };
        while let Some((at, c)) = chars.next() {
            match (quote, c) {
                (Some('\''), '\'') => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => {
                    chars.next();
                }
                (_, '`') => hides = true,
                (_, '$') if matches!(chars.peek(), Some((_, '(' | '{' | '\''))) => hides = true,
                (Some('"'), '"') => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '<' | '>' | '(' | ')' | '{' | '}') => hides = true,
                (None, ';' | '&' | '|' | '\n') => {
                    push(&line[start..at]);
                    start = at + c.len_utf8();
                }
                (None, _) => {}
            }
        }
        push(&line[start..]);
        Self { commands, hides: hides || quote.is_some() }
    }
}
