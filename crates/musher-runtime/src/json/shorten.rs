//! Makes a line of JSON short enough to be read, while it is still being heard: whatever its length, its short fields
//! stay as they are.
//!
//! Long texts keep their beginning and their end. Each field of the line has room of its own, so that none takes it from
//! another; where that is used up, further elements of lists are left out, and what is nested too deep is left out
//! everywhere. What is left is JSON again. A line that is not an object becomes nothing.

mod text;

use super::DEEPEST;
use text::TextScanner;

/// A text of more bytes is cut to its beginning and its end.
const MAX_SHORTENED_TEXT_BYTES: usize = 32 * 1024;
/// The same where there is no room any more; names and ids are shorter.
const MAX_TEXT_BYTES_WHEN_FULL: usize = 1024;
/// How much of one field of the line is kept.
const FIELD: usize = 512 * 1024;
/// How much of one list is kept that stands deep inside a field.
const LIST: usize = 64 * 1024;
/// Lists that are nested less deep may take the whole room of their field: the parts of a message stand there.
const SHALLOW: usize = 3;
/// A line that needs more than this, though all that can be is left out, is not worth reading.
const MAX_SHORTENED_LINE_BYTES: usize = 2 * 1024 * 1024;
/// What is nested deeper than this was not written by an agent.
const NESTED: usize = 10_000;
/// No number has more digits.
const LITERAL: usize = 512;

/// Takes a line piece by piece, and holds no more than is left of it.
#[derive(Debug, Default)]
pub(crate) struct Shortener {
    out: Vec<u8>,
    /// The lists and objects that are open, from the outside in.
    open: Vec<Open>,
    next: Next,
    token: Token,
    /// How many were open when something began that is left out.
    left_out: Option<usize>,
    /// Where the field of the line begins that is being written.
    field: usize,
    hopeless: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    object: bool,
    /// Something was written in it, so that a comma must come before the next.
    filled: bool,
    start: usize,
}

/// What may come next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Line,
    ValueOrEnd,
    Value,
    NameOrEnd,
    Name,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// What is being read.
#[derive(Debug, Default)]
enum Token {
    #[default]
    Between,
    Literal {
        len: usize,
    },
    Text(TextScanner),
}

/// A whole line at once.
#[cfg(feature = "frames")]
pub(crate) fn shorten(line: &[u8]) -> Option<Vec<u8>> {
    let mut shortener = Shortener::default();
    shortener.push(line);
    shortener.finish()
}

impl Shortener {
    /// Whether it is known already that nothing will come of it.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    /// Takes the next bytes of the line.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first().filter(|_| !self.hopeless) {
            let taken = match &mut self.token {
                Token::Text(text) => {
                    let (taken, ended) = text.take(bytes, &mut self.out);
                    if ended {
                        self.token = Token::Between;
                        self.ended_text();
                    }
                    taken
                }
                Token::Literal { len } if is_literal(*first) => {
                    *len += 1;
                    self.hopeless |= *len > LITERAL;
                    if self.left_out.is_none() {
                        self.out.push(*first);
                    }
                    1
                }
                Token::Literal { .. } => {
                    self.token = Token::Between;
                    self.ended_value();
                    0
                }
                Token::Between => {
                    self.between(*first);
                    1
                }
            };
            bytes = &bytes[taken..];
        }
        if self.out.len() > MAX_SHORTENED_LINE_BYTES {
            self.hopeless = true;
        }
        if self.hopeless {
            self.out = Vec::new();
            self.open = Vec::new();
        }
    }

    /// What is left of the line, if all of it was there.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        (!self.hopeless && self.next == Next::Nothing).then_some(self.out)
    }

    fn between(&mut self, byte: u8) {
        match (byte, self.next) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            (b'{', Next::Line) => self.begin_container(true),
            (b'{' | b'[', Next::Value | Next::ValueOrEnd) => {
                self.begin_value();
                self.begin_container(byte == b'{');
            }
            (b'"', Next::Value | Next::ValueOrEnd) => {
                self.begin_value();
                self.begin_text();
            }
            (b'"', Next::Name | Next::NameOrEnd) => {
                self.begin_name();
                self.begin_text();
            }
            (b':', Next::Colon) => {
                self.write(b':');
                self.next = Next::Value;
            }
            (b',', Next::CommaOrEnd) => {
                let object = self.open.last().is_some_and(|open| open.object);
                self.next = if object { Next::Name } else { Next::Value };
            }
            (b']', Next::ValueOrEnd | Next::CommaOrEnd) => self.end_container(false),
            (b'}', Next::NameOrEnd | Next::CommaOrEnd) => self.end_container(true),
            (_, Next::Value | Next::ValueOrEnd) if is_literal(byte) => {
                self.begin_value();
                self.write(byte);
                self.token = Token::Literal { len: 1 };
            }
            _ => self.hopeless = true,
        }
    }

    /// A value begins: inside an object its name has settled whether it is written.
    fn begin_value(&mut self) {
        if self.open.last().is_some_and(|open| !open.object) {
            self.begin_member();
        }
    }

    /// A name begins, and with it a field.
    fn begin_name(&mut self) {
        if self.open.len() == 1 {
            self.field = self.out.len();
        }
        self.begin_member();
    }

    /// Leaves out what there is no room for, or makes ready to write it.
    fn begin_member(&mut self) {
        if self.left_out.is_some() {
            return;
        }
        let depth = self.open.len();
        let full = self.out.len() - self.field >= FIELD;
        let Some(open) = self.open.last_mut() else { return };
        let room = if open.object {
            !full || depth < SHALLOW
        } else {
            !full && (depth <= SHALLOW || self.out.len() - open.start < LIST)
        };
        if !room {
            self.left_out = Some(depth);
        } else if std::mem::replace(&mut open.filled, true) {
            self.out.push(b',');
        }
    }

    fn begin_text(&mut self) {
        let full = self.out.len() - self.field >= FIELD;
        let longest = if full { MAX_TEXT_BYTES_WHEN_FULL } else { MAX_SHORTENED_TEXT_BYTES };
        self.token = Token::Text(match self.left_out {
            None => TextScanner::kept(longest, &mut self.out),
            Some(_) => TextScanner::skipped(),
        });
    }

    fn begin_container(&mut self, object: bool) {
        let depth = self.open.len();
        self.write(if object { b'{' } else { b'[' });
        self.open.push(Open { object, filled: false, start: self.out.len() });
        self.hopeless |= depth >= NESTED;
        if depth + 1 >= DEEPEST && self.left_out.is_none() {
            self.write(if object { b'}' } else { b']' });
            self.left_out = Some(depth);
        }
        self.next = if object { Next::NameOrEnd } else { Next::ValueOrEnd };
    }

    fn end_container(&mut self, object: bool) {
        if self.open.pop().is_none_or(|open| open.object != object) {
            self.hopeless = true;
            return;
        }
        self.write(if object { b'}' } else { b']' });
        self.ended_value();
    }

    /// A text was read to its end: a name, or a value.
    fn ended_text(&mut self) {
        match self.next {
            Next::Name | Next::NameOrEnd => self.next = Next::Colon,
            Next::Line
            | Next::Value
            | Next::ValueOrEnd
            | Next::Colon
            | Next::CommaOrEnd
            | Next::Nothing => self.ended_value(),
        }
    }

    fn ended_value(&mut self) {
        let depth = self.open.len();
        self.next = if depth == 0 { Next::Nothing } else { Next::CommaOrEnd };
        if self.left_out == Some(depth) {
            self.left_out = None;
        }
    }

    fn write(&mut self, byte: u8) {
        if self.left_out.is_none() {
            self.out.push(byte);
        }
    }
}

fn is_literal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
#[cfg(feature = "frames")]
mod tests;
