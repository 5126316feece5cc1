//! Server-sent events, framed by hand: the lines of a log are copied as they are, many to one piece.

use std::fmt::Display;
use std::io::Write;

use bytes::Bytes;
use memchr::{memchr, memchr_iter};

use musher_log::Kinds;

/// Keeps proxies and browsers from giving up a silent stream.
pub(crate) const HEARTBEAT: &[u8] = b":\n\n";
/// So much is given to one client before the others have a turn.
const TURN: usize = 256 * 1024;

/// Frames the lines of a batch that are of the chosen kinds.
pub(crate) fn frame(
    out: &mut Vec<u8>,
    epoch: u32,
    first: u64,
    batch: &[u8],
    kinds: Option<&Kinds>,
) {
    let mut head = Head::new(epoch, first);
    let mut start = 0;
    for end in memchr_iter(b'\n', batch) {
        let line = &batch[start..=end];
        if kinds.is_none_or(|kinds| kinds.has(line)) {
            // Two copies and a byte for each event: a log has very many, and they are short.
            out.extend_from_slice(&head.text);
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        start = end + 1;
        head.step();
    }
}

/// What stands before the line of an event. Its number is counted on in place, because to format it anew would take as long
/// as all the rest.
struct Head {
    text: Vec<u8>,
    /// Where the number stands.
    number: std::ops::Range<usize>,
}

impl Head {
    const DATA: &[u8] = b"\ndata: ";

    fn new(epoch: u32, first: u64) -> Self {
        let before = format!("id: {epoch}.");
        let mut text = format!("{before}{first}").into_bytes();
        let number = before.len()..text.len();
        text.extend_from_slice(Self::DATA);
        Self { text, number }
    }

    fn step(&mut self) {
        for digit in self.text[self.number.clone()].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.text.insert(self.number.start, b'1');
        self.number.end += 1;
    }
}

/// One event of a named kind that moves nobody's place.
pub(crate) fn named(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    let _infallible = write!(out, "event: {name}\ndata: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

/// One event of a named kind, with the id from which its reader can go on.
pub(crate) fn named_with_id(out: &mut Vec<u8>, id: &impl Display, name: &str, data: &[u8]) {
    let _infallible = writeln!(out, "id: {id}");
    named(out, name, data);
}

/// Moves a reader's place without an event, as when nothing of late was of a kind that it wants.
pub(crate) fn moved(id: impl Display) -> Bytes {
    format!("id: {id}\n\n").into()
}

/// The events of a framed piece of a log: each with its place, its line, and the whole of its bytes.
pub(crate) fn events(framed: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    let mut rest = framed;
    std::iter::from_fn(move || {
        let id = memchr(b'\n', rest)?;
        let data = id + 1 + memchr(b'\n', rest.get(id + 1..)?)?;
        let (whole, after) = rest.split_at_checked(data + 2)?;
        rest = after;
        let place = whole[..id].strip_prefix(b"id: ")?;
        Some((place, whole[id + 1..data].strip_prefix(b"data: ")?, whole))
    })
}

/// What remains of a framed piece when only some kinds are wanted.
pub(crate) fn chosen(framed: &Bytes, kinds: Option<&Kinds>) -> Bytes {
    let Some(kinds) = kinds else { return framed.clone() };
    let mut out = Vec::new();
    for (_, line, whole) in events(framed) {
        if kinds.has(line) {
            out.extend_from_slice(whole);
        }
    }
    out.into()
}

/// Counts what a client was given, and lets the others have a turn now and then: many who are far behind would otherwise
/// keep the threads from those who are not.
#[derive(Debug, Default)]
pub(crate) struct FairTurns {
    given: usize,
}

impl FairTurns {
    pub(crate) async fn take(&mut self, piece: &Bytes) {
        self.given += piece.len();
        if self.given >= TURN {
            self.given = 0;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_framed_with_its_place() {
        for first in [0, 9, 10, 99, 123_456_789, u64::MAX - 9] {
            let mut out = Vec::new();
            frame(&mut out, 7, first, b"{\"a\":1}\n{}\n", None);
            let second = first + 1;
            let text =
                format!("id: 7.{first}\ndata: {{\"a\":1}}\n\nid: 7.{second}\ndata: {{}}\n\n");
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }
}
