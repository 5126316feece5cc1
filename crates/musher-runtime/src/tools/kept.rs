//! The output of a command in bounded room: its beginning and its end stay, the middle goes first.

use std::collections::VecDeque;

/// How much of the beginning and of the end is kept.
const HEAD: usize = 16 * 1024;
const TAIL: usize = 48 * 1024;

/// What a command has printed and nobody has taken yet.
#[derive(Debug)]
pub(crate) struct UnreadOutput {
    room: OutputRoom,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

/// How many bytes of the beginning and of the end are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputRoom {
    pub(crate) head: usize,
    pub(crate) tail: usize,
}

impl Default for UnreadOutput {
    fn default() -> Self {
        Self::with_room(OutputRoom { head: HEAD, tail: TAIL })
    }
}

impl UnreadOutput {
    /// Keeps so much and no more.
    pub(crate) fn with_room(room: OutputRoom) -> Self {
        Self { room, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.room.head.saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        let last = &rest[rest.len().saturating_sub(self.room.tail)..];
        let excess = (self.tail.len() + last.len()).saturating_sub(self.room.tail);
        self.dropped += (rest.len() - last.len() + excess) as u64;
        self.tail.drain(..excess);
        self.tail.extend(last);
    }

    /// Takes it as a text, with a word about what is missing. What is printed from now on begins anew.
    pub(crate) fn take(&mut self) -> String {
        let fresh = Self::with_room(self.room);
        let Self { mut head, mut tail, mut dropped, .. } = std::mem::replace(self, fresh);
        let tail = tail.make_contiguous();
        if dropped == 0 {
            head.extend_from_slice(tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        // Whole lines are kept on both sides of the gap, unless a line is longer than what is kept.
        let head_end = memchr::memrchr(b'\n', &head).map_or(head.len(), |at| at + 1);
        let tail_start = memchr::memchr(b'\n', tail).map_or(0, |at| at + 1);
        dropped += (head.len() - head_end + tail_start) as u64;
        let (head, tail) = (&head[..head_end], &tail[tail_start..]);
        format!(
            "{}\n[… {dropped} bytes left out …]\n{}",
            String::from_utf8_lossy(head).trim_end_matches('\n'),
            String::from_utf8_lossy(tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_beginning_and_the_end_stay_and_the_middle_is_counted() {
        let mut kept = UnreadOutput::default();
        (0..100_000).for_each(|n| kept.push(format!("line {n}\n").as_bytes()));
        let text = kept.take();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 99998\nline 99999\n"));
        assert!(text.contains("bytes left out …]\nline "), "whole lines begin after the gap");
        assert!(text.len() <= HEAD + TAIL + 100);
        assert!(kept.take().is_empty(), "what was taken is gone");
    }

    proptest! {
        #[test]
        fn what_fits_is_kept_byte_for_byte_and_nothing_else_grows(
            chunks in prop::collection::vec((any::<u8>(), 0usize..40_000), 0..8),
        ) {
            let mut kept = UnreadOutput::default();
            let mut all = Vec::new();
            for (byte, count) in chunks {
                let chunk = vec![byte & 0x7f; count];
                kept.push(&chunk);
                all.extend(chunk);
            }
            prop_assert!(kept.head.len() <= HEAD && kept.tail.len() <= TAIL);
            let held = (kept.head.len() + kept.tail.len()) as u64 + kept.dropped;
            prop_assert_eq!(held, all.len() as u64);
            if kept.dropped == 0 {
                prop_assert_eq!(kept.take().into_bytes(), all);
            }
        }
    }
}
