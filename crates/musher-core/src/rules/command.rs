//! Command lines in rules: a grant for one command must not smuggle in another.

use super::order::{begins_like, is_literal};
use super::wildcard::{self, Star};

/// Words that run the command after them.
const WRAPPERS: &[&str] = &[
    "!", ">", "-c", "-exec", "-execdir", "-ok", "bash", "dash", "sh", "trap", "zsh", "builtin",
    "busybox", "chroot", "command", "coproc", "do", "doas", "elif", "else", "env", "eval", "exec",
    "flock", "if", "ionice", "nice", "nohup", "parallel", "setsid", "stdbuf", "strace", "sudo",
    "taskset", "then", "time", "timeout", "until", "watch", "while", "xargs",
];

/// How far into a command a hidden one is looked for. A command may be a megabyte of text, and judging it must not
/// take longer than running it.
const DEEP: usize = 8 * 1024;
const WORDS: usize = 128;
/// A line of more commands than this is banned by any ban.
const PIECES: usize = 4096;

/// Whether the pattern fits the whole line or any one command in it; for bans, which should rather strike too often.
pub(super) fn any_part(pattern: &str, line: &str) -> bool {
    let strikes = |command: &str| {
        one(pattern, command) || unwrapped(command).iter().any(|command| one(pattern, command))
    };
    let pieces = pieces(line);
    // Nobody reads that many commands, so nobody can vouch for them.
    pieces.len() > PIECES
        || strikes(line.trim())
        || pieces.into_iter().any(strikes)
        || Line::read(line).commands.into_iter().any(strikes)
}

/// The commands that may hide behind what stands before them: `X=1 sudo -u me /bin/rm x` runs `rm x`. Which words
/// are a wrapper's own nobody can tell, so after one every word may begin a command.
fn unwrapped(command: &str) -> Vec<String> {
    // Quotes and backslashes change how a command is written, not which one it is.
    let command = &command[..command.floor_char_boundary(DEEP)];
    let joined = command.replace("\\\n", "").replace(['<', '>'], " > ");
    let plain: String = joined.chars().filter(|c| !matches!(c, '\'' | '"')).collect();
    let plain = plain.replace("\\ ", " ").replace('\\', "");
    let words: Vec<&str> = plain
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .take(WORDS)
        .collect();
    let assigns = |word: &str| {
        word.split_once('=')
            .is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
    };
    let start = words.iter().take_while(|word| assigns(word)).count();
    let from = |at: usize| {
        let (program, arguments) = words.get(at..)?.split_first()?;
        Some([&[base_name(program)], arguments].concat().join(" "))
    };
    let wrapper = words.iter().position(|word| WRAPPERS.contains(&base_name(word)));
    let behind = wrapper.map_or(words.len(), |at| at + 1);
    std::iter::once(start).chain(behind..words.len()).filter_map(from).collect()
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
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

/// Whether a pattern fits every command that another one fits.
pub(super) fn covers(wide: &str, narrow: &str) -> bool {
    wide == "*"
        || begins_like(wide, narrow)
        // `git *` also means plain `git`.
        || (wide.strip_suffix(" *") == Some(narrow) && is_literal(narrow))
        || (is_literal(narrow) && one(wide, narrow))
}

/// Whether a pattern can fit a command that stands alone and hides nothing.
pub(super) fn may_be_one(pattern: &str) -> bool {
    let parsed = Line::read(pattern);
    !parsed.hides && parsed.commands.len() == 1
}

/// The one command of a line that hides nothing and holds nothing else.
pub(super) fn only(line: &str) -> Option<&str> {
    let parsed = Line::read(line);
    match parsed.commands[..] {
        // A backslash at the end takes the meaning of whatever is written behind it.
        [command] if parsed.hides || command.ends_with('\\') => None,
        [command] if command == line.trim() => Some(command),
        _ => None,
    }
}

/// Whether a program runs the command that is named after it.
pub(super) fn runs_others(program: &str) -> bool {
    WRAPPERS.contains(&base_name(program))
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
                    // A line that goes on may bring together what was read apart.
                    hides |= chars.next().is_some_and(|(_, next)| next == '\n');
                }
                (_, '`') => hides = true,
                (_, '$') if matches!(chars.peek(), Some((_, '(' | '{' | '[' | '\''))) => {
                    hides = true;
                }
                (Some('"'), '"') => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '<' | '>' | '(' | ')' | '{' | '}') => hides = true,
                // What stands in a comment is not run, and a quote in it would hide what is.
                (None, '#')
                    if line[..at].ends_with(|c: char| c.is_whitespace() || ";&|".contains(c))
                        || at == 0 =>
                {
                    hides = true;
                }
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
