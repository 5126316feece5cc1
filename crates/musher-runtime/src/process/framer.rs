//! Cuts an agent's output into lines, whatever bytes come and however they are split.

use bytes::{Buf, Bytes, BytesMut};

use crate::json::Shortener;

/// Lines up to this size are kept whole; a longer one is shortened while it is read.
const WHOLE: usize = 4 * 1024 * 1024;
/// A line that is no JSON is reported at the latest after this many bytes, so that output without a newline is still
/// heard of.
const CAP: u64 = 64 * 1024 * 1024;
/// The same for a line that may yet turn out to be JSON. Longer than this is no frame of any agent.
const MAX_FRAME_BYTES: u64 = 1024 * 1024 * 1024;
/// How much of the beginning and end is kept of a long line that is no JSON.
const EDGE: usize = 16 * 1024;
/// How much is read at a time from an agent that says much, and from one that says little: there may be a thousand of
/// those, and each has its room.
const MAX_READ_BYTES: usize = 64 * 1024;
const MIN_READ_BYTES: usize = 4 * 1024;

/// What a line weighs beside its bytes.
const OWN_WEIGHT: usize = 256;

/// One line of output, without its line ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// Where it starts in the output.
    pub offset: u64,
    /// How long it was, line ending excluded.
    pub len: u64,
    pub body: LineBody,
}

/// The bytes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineBody {
    Whole(Bytes),
    /// Too long: JSON with its long texts and lists cut.
    Shortened(Bytes),
    /// Too long, and no JSON: only its edges are kept.
    Cut {
        head: Bytes,
        tail: Bytes,
    },
}

impl OutputLine {
    /// How many bytes of it are in memory. Also a short line costs something, and what it means costs more.
    pub(crate) fn kept(&self) -> usize {
        let bytes = match &self.body {
            LineBody::Whole(bytes) | LineBody::Shortened(bytes) => bytes.len(),
            LineBody::Cut { head, tail } => head.len() + tail.len(),
        };
        bytes + OWN_WEIGHT
    }
}

/// Collects bytes and gives out lines. Its memory is bounded by the longest whole line.
#[derive(Debug)]
pub(crate) struct Framer {
    buffer: BytesMut,
    /// How much room the next read gets.
    room: usize,
    /// How far `buffer` is known to hold no newline.
    scanned: usize,
    /// Where `buffer` starts in the output.
    offset: u64,
    long: Option<LongLine>,
}

/// A line that outgrew the buffer.
#[derive(Debug)]
struct LongLine {
    offset: u64,
    len: u64,
    head: Bytes,
    tail: BytesMut,
    /// What is left of it, as long as it can be JSON.
    shortener: Option<Shortener>,
}

impl Default for Framer {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl Framer {
    /// A framer whose first byte stands at this place of a longer output.
    pub(crate) fn starting_at(offset: u64) -> Self {
        Self { buffer: BytesMut::new(), room: MIN_READ_BYTES, scanned: 0, offset, long: None }
    }

    /// The last bytes that were read, before any line is taken out.
    pub(crate) fn fresh(&self, read: usize) -> &[u8] {
        &self.buffer[self.buffer.len().saturating_sub(read)..]
    }

    /// The place to read into; call [`Framer::next_line`] until it gives nothing before reading again.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        let filled = self.buffer.len() == self.buffer.capacity();
        self.room = if filled {
            MAX_READ_BYTES.min(2 * self.room)
        } else {
            MIN_READ_BYTES.max(self.room / 2)
        };
        self.buffer.reserve(self.room);
        &mut self.buffer
    }

    /// Whether there was more to read of late than a little room could hold.
    pub(crate) fn is_flooded(&self) -> bool {
        self.room > MIN_READ_BYTES
    }

    /// The next line that is complete. Blank lines are skipped.
    pub(crate) fn next_line(&mut self) -> Option<OutputLine> {
        loop {
            match memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                Some(found) => {
                    let end = self.scanned + found;
                    let bytes = self.buffer.split_to(end);
                    self.buffer.advance(1);
                    self.scanned = 0;
                    let line = self.finish_line(bytes.freeze());
                    self.offset += 1;
                    if line.is_some() {
                        return line;
                    }
                }
                None => {
                    self.scanned = self.buffer.len();
                    return self.shorten();
                }
            }
        }
    }

    /// What is left when the output has ended without a newline.
    pub(crate) fn finish(&mut self) -> Option<OutputLine> {
        let rest = self.buffer.split().freeze();
        self.scanned = 0;
        self.finish_line(rest)
    }

    fn finish_line(&mut self, bytes: Bytes) -> Option<OutputLine> {
        let start = self.offset;
        self.offset += bytes.len() as u64;
        // One read may bring the end of a line together with what makes it too long.
        let outgrown = (bytes.len() > WHOLE).then(|| LongLine::starting(start, &bytes));
        if let Some(mut long) = self.long.take().or(outgrown) {
            long.extend(&bytes);
            return Some(long.into_line());
        }
        let bytes = if bytes.ends_with(b"\r") { bytes.slice(..bytes.len() - 1) } else { bytes };
        if bytes.is_empty() {
            return None;
        }
        Some(OutputLine { offset: start, len: bytes.len() as u64, body: LineBody::Whole(bytes) })
    }

    /// Lets go of what is too long to keep, and reports it when even that has gone on for too long.
    fn shorten(&mut self) -> Option<OutputLine> {
        if self.long.is_none() {
            if self.buffer.len() <= WHOLE {
                return None;
            }
            self.long = Some(LongLine::starting(self.offset, &self.buffer));
        }
        let bytes = std::mem::take(&mut self.buffer);
        self.scanned = 0;
        self.offset += bytes.len() as u64;
        let long = self.long.as_mut()?;
        long.extend(&bytes);
        if long.len < (if long.shortener.is_some() { MAX_FRAME_BYTES } else { CAP }) {
            return None;
        }
        let next = LongLine {
            offset: self.offset,
            len: 0,
            head: Bytes::new(),
            tail: BytesMut::new(),
            shortener: None,
        };
        self.long.replace(next).map(LongLine::into_line)
    }
}

impl LongLine {
    /// A line that begins at `offset` with these bytes, which [`LongLine::extend`] has yet to take.
    fn starting(offset: u64, bytes: &[u8]) -> Self {
        Self {
            offset,
            len: 0,
            head: Bytes::copy_from_slice(&bytes[..EDGE]),
            tail: BytesMut::new(),
            shortener: Some(Shortener::default()),
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        let last = &bytes[bytes.len().saturating_sub(EDGE)..];
        let excess = (self.tail.len() + last.len()).saturating_sub(EDGE);
        self.tail.advance(excess.min(self.tail.len()));
        self.tail.extend_from_slice(last);
        if let Some(shortener) = &mut self.shortener {
            shortener.push(bytes);
        }
        self.shortener.take_if(|shortener| shortener.is_hopeless());
    }

    fn into_line(self) -> OutputLine {
        let short = self.shortener.and_then(Shortener::finish);
        let body = match short {
            Some(short) => LineBody::Shortened(short.into()),
            None => LineBody::Cut { head: self.head, tail: self.tail.freeze() },
        };
        OutputLine { offset: self.offset, len: self.len, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(chunks: &[&[u8]]) -> Vec<OutputLine> {
        let mut framer = Framer::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            framer.buffer().extend_from_slice(chunk);
            lines.extend(std::iter::from_fn(|| framer.next_line()));
        }
        lines.extend(framer.finish());
        lines
    }

    fn whole(lines: &[OutputLine]) -> Vec<&[u8]> {
        lines
            .iter()
            .map(|line| match &line.body {
                LineBody::Whole(bytes) => bytes.as_ref(),
                LineBody::Shortened(_) | LineBody::Cut { .. } => panic!("a short line was cut"),
            })
            .collect()
    }

    #[test]
    fn one_that_says_little_gets_little_room_and_one_that_says_much_gets_more() {
        let mut framer = Framer::default();
        let say = |framer: &mut Framer, much: bool| {
            let buffer = framer.buffer();
            let room = buffer.capacity() - buffer.len();
            let said = if much { room } else { 10 };
            let line = [vec![b'x'; said - 1], vec![b'\n']].concat();
            buffer.extend_from_slice(&line);
            assert_eq!(framer.next_line().unwrap().len as usize, said - 1);
            room
        };
        for _ in 0..10 {
            assert!(say(&mut framer, false) <= 2 * MIN_READ_BYTES);
        }
        for _ in 0..10 {
            say(&mut framer, true);
        }
        assert!(say(&mut framer, false) >= MAX_READ_BYTES);
    }

    #[test]
    fn line_endings_of_every_kind_and_a_missing_one() {
        let lines = frame(&[b"a\r\nb\n\n\r\n", b"\0\xff\n", b"last"]);
        assert_eq!(whole(&lines), [b"a".as_slice(), b"b", b"\0\xff", b"last"]);
        assert_eq!(lines[1].offset, 3);
        assert_eq!(lines[3].offset, 11);
    }

    #[test]
    fn a_64_mib_line_is_reported_by_its_edges_and_the_next_line_is_whole() {
        let mut framer = Framer::default();
        let mut lines = Vec::new();
        let chunk = vec![b'x'; 64 * 1024];
        for _ in 0..1024 {
            framer.buffer().extend_from_slice(&chunk);
            lines.extend(std::iter::from_fn(|| framer.next_line()));
            assert!(framer.buffer.capacity() <= 2 * WHOLE + 64 * 1024);
        }
        framer.buffer().extend_from_slice(b"end\nafter\n");
        lines.extend(std::iter::from_fn(|| framer.next_line()));
        let total: u64 = lines[..lines.len() - 1].iter().map(|line| line.len).sum();
        assert_eq!(total, 64 * 1024 * 1024 + 3);
        let LineBody::Cut { head, .. } = &lines[0].body else { panic!("not cut") };
        assert_eq!(head.len(), EDGE);
        assert_eq!(whole(&lines[lines.len() - 1..]), [b"after"]);
    }

    #[test]
    fn promise_10_a_frame_of_any_length_keeps_its_short_fields_and_costs_little() {
        let mut framer = Framer::default();
        let mut lines = Vec::new();
        let mut say = |bytes: &[u8]| {
            framer.buffer().extend_from_slice(bytes);
            lines.extend(std::iter::from_fn(|| framer.next_line()));
            assert!(framer.buffer.capacity() <= 2 * WHOLE + 64 * 1024);
        };
        let chunk = vec![b'x'; 64 * 1024];
        say(b"before\n{\"text\":\"");
        for _ in 0..(100 << 20) / chunk.len() {
            say(&chunk);
        }
        say(b"\",\"type\":\"result\"}\nafter\n");
        let LineBody::Shortened(short) = &lines[1].body else { panic!("{:?}", lines[1]) };
        assert!(short.len() < 64 * 1024 && short.ends_with(b"\"type\":\"result\"}"));
        assert_eq!((lines[1].offset, lines[1].len), (7, (100 << 20) + 27));
        assert_eq!(lines[2].body, LineBody::Whole(Bytes::from_static(b"after")));
    }

    #[test]
    fn a_line_is_long_by_its_length_alone_however_it_is_split() {
        let line = format!("{{\"text\":\"{}\"}}\n", "x".repeat(WHOLE));
        let (first, rest) = line.as_bytes().split_at(WHOLE);
        for chunks in [
            vec![line.as_bytes()],
            vec![first, rest],
            vec![&line.as_bytes()[..WHOLE / 2], &line.as_bytes()[WHOLE / 2..]],
        ] {
            let lines = frame(&chunks);
            assert!(matches!(lines[0].body, LineBody::Shortened(_)), "{} chunks", chunks.len());
            assert_eq!(lines[0].len, line.len() as u64 - 1);
        }
    }

    #[test]
    fn output_without_a_newline_for_ever_is_still_heard_of() {
        let mut framer = Framer::default();
        let chunk = vec![b'x'; 1024 * 1024];
        let mut heard = 0;
        for _ in 0..200 {
            framer.buffer().extend_from_slice(&chunk);
            heard += std::iter::from_fn(|| framer.next_line()).count();
        }
        assert_eq!(heard, 3);
    }

    proptest! {
        #[test]
        fn any_bytes_split_anywhere_give_the_same_lines(
            bytes in proptest::collection::vec(
                prop_oneof![3 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')], 0..400),
            cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut start = 0;
            for cut in cuts {
                chunks.push(&bytes[start..cut]);
                start = cut;
            }
            chunks.push(&bytes[start..]);
            let expected: Vec<&[u8]> = bytes
                .split(|&b| b == b'\n')
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
                .filter(|line| !line.is_empty())
                .collect();
            let lines = frame(&chunks);
            prop_assert_eq!(whole(&lines), expected);
            for line in &lines {
                let at = usize::try_from(line.offset).unwrap();
                let len = usize::try_from(line.len).unwrap();
                let LineBody::Whole(body) = &line.body else { unreachable!() };
                prop_assert_eq!(&bytes[at..at + len], body.as_ref());
            }
        }
    }
}
