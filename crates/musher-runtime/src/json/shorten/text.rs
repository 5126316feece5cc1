//! One text on its way through: written as it comes, and cut once it is too long.

use memchr::memchr2;
use musher_core::{cut_mark, cut_place, kept_of_cut};

/// A text that is being read.
#[derive(Debug)]
pub(super) struct TextScanner {
    fate: Fate,
    escape: Escape,
}

#[derive(Debug)]
enum Fate {
    Skipped,
    /// It was written so far, from this place on.
    Kept {
        start: usize,
        longest: usize,
    },
    /// Its beginning was written, and this may be its end. That begins between two characters.
    Cut {
        gone: u64,
        tail: Vec<u8>,
        kept: usize,
    },
}

/// Where in an escape it stands.
#[derive(Debug, Clone, Copy)]
enum Escape {
    None,
    Begun,
    Digits(u8),
}

impl TextScanner {
    pub(super) fn kept(longest: usize, out: &mut Vec<u8>) -> Self {
        out.push(b'"');
        Self { fate: Fate::Kept { start: out.len(), longest }, escape: Escape::None }
    }

    pub(super) fn skipped() -> Self {
        Self { fate: Fate::Skipped, escape: Escape::None }
    }

    /// Takes what belongs to it, at least one byte, and tells how much that was and whether it has ended.
    pub(super) fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> (usize, bool) {
        match self.escape {
            Escape::None => {
                let plain = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                self.fate.add(&bytes[..plain], out);
                match bytes.get(plain) {
                    None => (plain, false),
                    Some(b'"') => {
                        self.fate.end(out);
                        (plain + 1, true)
                    }
                    Some(backslash) => {
                        self.fate.add(&[*backslash], out);
                        self.escape = Escape::Begun;
                        (plain + 1, false)
                    }
                }
            }
            Escape::Begun => {
                self.escape = if bytes[0] == b'u' { Escape::Digits(4) } else { Escape::None };
                self.fate.add(&bytes[..1], out);
                (1, false)
            }
            Escape::Digits(left) => {
                self.escape = if left > 1 { Escape::Digits(left - 1) } else { Escape::None };
                self.fate.add(&bytes[..1], out);
                (1, false)
            }
        }
    }
}

impl Fate {
    fn add(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Skipped => {}
            Self::Kept { start, longest } => {
                // No more than is needed to know that it is too long, though a piece may be of megabytes.
                let (now, later) = bytes.split_at(bytes.len().min(*longest + 1));
                out.extend_from_slice(now);
                if out.len() - *start > *longest {
                    let (head, kept) = kept_of_cut(*longest);
                    let head = *start + cut_place(&out[*start..], head);
                    let tail = out.split_off(head);
                    *self = Self::Cut { gone: 0, tail, kept };
                    self.add(later, out);
                }
            }
            Self::Cut { gone, tail, kept } => {
                if bytes.len() > 2 * *kept {
                    // It has no escapes, or it would have come in shorter pieces.
                    let from = cut_place(bytes, bytes.len() - *kept);
                    *gone += (tail.len() + from) as u64;
                    tail.clear();
                    tail.extend_from_slice(&bytes[from..]);
                } else {
                    tail.extend_from_slice(bytes);
                    if tail.len() > 4 * *kept {
                        drop_front(tail, *kept, gone);
                    }
                }
            }
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Skipped => return,
            Self::Kept { .. } => {}
            Self::Cut { gone, tail, kept } => {
                drop_front(tail, *kept, gone);
                out.extend_from_slice(cut_mark(*gone).as_bytes());
                out.extend_from_slice(tail);
            }
        }
        out.push(b'"');
    }
}

/// Keeps the end alone.
fn drop_front(tail: &mut Vec<u8>, kept: usize, gone: &mut u64) {
    let from = cut_place(tail, tail.len().saturating_sub(kept));
    tail.drain(..from);
    *gone += from as u64;
}
