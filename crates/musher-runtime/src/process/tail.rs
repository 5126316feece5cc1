//! Keeps the end of a stream: the last words of a program are the ones that explain its death.

use std::collections::VecDeque;

/// How much is kept.
const KEPT: usize = 64 * 1024;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct StreamTail {
    bytes: VecDeque<u8>,
    dropped: u64,
}

impl StreamTail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let last = &bytes[bytes.len().saturating_sub(KEPT)..];
        self.dropped += (bytes.len() - last.len()) as u64;
        let excess = (self.bytes.len() + last.len()).saturating_sub(KEPT);
        self.dropped += excess as u64;
        self.bytes.drain(..excess);
        self.bytes.extend(last);
    }

    /// The text kept, from the first whole line on when something was dropped.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let start = if self.dropped == 0 {
            0
        } else {
            memchr::memchr(b'\n', &bytes).map_or(0, |newline| newline + 1)
        };
        String::from_utf8_lossy(&bytes[start..]).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_beginning_is_dropped() {
        let mut tail = StreamTail::default();
        for n in 0..20_000 {
            tail.push(format!("line {n}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.len() <= KEPT);
        assert!(text.starts_with("line "));
        assert!(text.ends_with("line 19999"));
    }

    #[test]
    fn one_huge_write_keeps_its_end() {
        let mut tail = StreamTail::default();
        tail.push(&vec![b'x'; 3 * KEPT]);
        tail.push(b"\nthe end");
        assert_eq!(tail.text(), "the end");
    }
}
