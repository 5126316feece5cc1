//! Server-sent events, read byte by byte: a character or an event may be cut anywhere.

/// The longest event that is taken in; a longer one is told and left out.
const MAX_SSE_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Names are short words.
const MAX_SSE_NAME_BYTES: usize = 256;

/// One thing that a stream said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    Event {
        name: String,
        data: String,
    },
    /// An event that was longer than can be taken in.
    TooLong {
        bytes: usize,
    },
}

/// Puts events together from pieces of a stream.
///
/// An event that is not closed by an empty line when the stream ends was cut off, and is never told.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    line: Vec<u8>,
    /// Bytes of the line that were left out because the event is too long.
    left_out: usize,
    data: Vec<u8>,
    has_data: bool,
    too_long: usize,
    name: String,
    /// The last byte ended a line as `\r`, so that a `\n` after it ends nothing.
    after_return: bool,
    /// The first line may begin with a byte order mark.
    begun: bool,
}

impl Sse {
    /// Takes in a piece of the stream and gives the events that it closes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            self.extend(&rest[..end]);
            let returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if returned {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            frames.extend(self.end_line());
        }
        self.extend(rest);
        frames
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX_SSE_EVENT_BYTES.saturating_sub(self.line.len() + self.data.len());
        let taken = bytes.len().min(room);
        self.line.extend_from_slice(&bytes[..taken]);
        self.left_out += bytes.len() - taken;
    }

    fn end_line(&mut self) -> Option<Frame> {
        let line = std::mem::take(&mut self.line);
        let left_out = std::mem::take(&mut self.left_out);
        let mut text = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if left_out > 0 {
            self.too_long += text.len() + left_out;
            return None;
        }
        if text.is_empty() {
            return self.end_event();
        }
        let (field, value) = match memchr::memchr(b':', text) {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => {
                let value = &value[..value.len().min(MAX_SSE_NAME_BYTES)];
                self.name = String::from_utf8_lossy(value).into_owned();
            }
            // A comment, or a field that matters only to a client that connects again.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Frame> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        let has_data = std::mem::take(&mut self.has_data);
        let too_long = std::mem::take(&mut self.too_long);
        if too_long > 0 {
            return Some(Frame::TooLong { bytes: too_long + data.len() });
        }
        has_data.then(|| Frame::Event { name, data: text(data) })
    }
}

/// The bytes as text; what is no text is shown as such.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> Frame {
        Frame::Event { name: name.into(), data: data.into() }
    }

    fn read(pieces: &[&[u8]]) -> Vec<Frame> {
        let mut sse = Sse::default();
        pieces.iter().flat_map(|piece| sse.push(piece)).collect()
    }

    const STREAM: &str = "\u{feff}event: a\r\ndata: Grüße, 日本語 👩‍👩‍👧‍👦\r\n\r\n: a comment\n\ndata:one\ndata: two\n\nid: 7\nretry: 3\ndata\n\ndata: x\r\rdata: cut off";

    fn whole() -> Vec<Frame> {
        vec![event("a", "Grüße, 日本語 👩‍👩‍👧‍👦"), event("", "one\ntwo"), event("", ""), event("", "x")]
    }

    #[test]
    fn an_event_is_the_same_wherever_the_stream_is_cut() {
        let bytes = STREAM.as_bytes();
        assert_eq!(read(&[bytes]), whole());
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(read(&[left, right]), whole(), "cut at {at}");
        }
        let singly: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&singly), whole());
    }

    #[test]
    fn an_event_without_its_empty_line_was_cut_off_and_is_not_told() {
        assert_eq!(read(&[b"data: {\"half\""]), []);
        assert_eq!(read(&[b"data: {}\n"]), []);
    }

    #[test]
    fn an_event_that_is_too_long_is_told_and_the_next_one_is_read() {
        let mut sse = Sse::default();
        let mut frames = sse.push(b"data: ");
        for _ in 0..20 {
            frames.extend(sse.push(&vec![b'x'; 1024 * 1024]));
            assert!(sse.line.len() <= MAX_SSE_EVENT_BYTES);
        }
        frames.extend(sse.push(b"\n\ndata: y\n\n"));
        let length = 20 * 1024 * 1024 + "data: ".len();
        assert_eq!(frames, [Frame::TooLong { bytes: length }, event("", "y")]);
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader_and_no_cut_changes_what_they_say(
            bytes in prop::collection::vec(prop::sample::select(&b"data: event\r\n\n\n\xff\xc3\x28{}\x00"[..]), 0..200),
            at in 0usize..200,
        ) {
            let (left, right) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(read(&[&bytes]), read(&[left, right]));
        }
    }
}
