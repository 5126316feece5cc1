//! Server-sent events as they come off the wire, whatever pieces they come in.

use std::time::Duration;

use memchr::memchr2;
use reqwest::Response;

/// What one message may hold. The longest event has 8 MiB.
const MAX_SSE_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// The server says something every 15 s; one that is silent for longer is gone, whatever its connection says.
const STREAM_SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

/// One message of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseMessage {
    /// The message's kind; the usual one has none.
    pub event: Option<String>,
    /// Where to go on after it.
    pub id: Option<String>,
    pub data: String,
}

/// A message is longer than any server of ours would send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of the stream is longer than {MAX_SSE_MESSAGE_BYTES} bytes")]
pub struct TooLong;

/// Makes messages of bytes.
#[derive(Debug, Default)]
pub struct Parser {
    /// What has come and was not looked at.
    bytes: Vec<u8>,
    /// How much of `bytes` is done with.
    done: usize,
    /// How much of what follows is known to hold no end of a line.
    scanned: usize,
    /// The last line ended in a carriage return, so a line feed next belongs to it.
    after_return: bool,
    begun: bool,
    event: Option<String>,
    id: Option<String>,
    /// The id of the last whole message, of one without data too.
    last: Option<String>,
    data: Vec<u8>,
    has_data: bool,
}

impl Parser {
    /// Takes bytes in.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.bytes.drain(..self.done);
        self.done = 0;
        self.bytes.extend_from_slice(bytes);
        match self.bytes.len() + self.data.len() > 2 * MAX_SSE_MESSAGE_BYTES {
            true => Err(TooLong),
            false => Ok(()),
        }
    }

    /// The next whole message.
    pub fn next_message(&mut self) -> Result<Option<SseMessage>, TooLong> {
        loop {
            if self.after_return && self.bytes.get(self.done) == Some(&b'\n') {
                self.done += 1;
                self.after_return = false;
            }
            let rest = self.bytes.get(self.done..).unwrap_or_default();
            let fresh = rest.get(self.scanned..).unwrap_or_default();
            let Some(length) = memchr2(b'\n', b'\r', fresh).map(|at| at + self.scanned) else {
                self.scanned = rest.len();
                return if rest.len() > MAX_SSE_MESSAGE_BYTES { Err(TooLong) } else { Ok(None) };
            };
            self.scanned = 0;
            self.after_return = rest.get(length) == Some(&b'\r');
            let line = self.done..self.done + length;
            self.done = line.end + 1;
            if line.is_empty() {
                match self.dispatch() {
                    Some(message) => return Ok(Some(message)),
                    None => continue,
                }
            }
            self.line(line)?;
        }
    }

    /// The id that was told last. A server moves it on without a message when there is nothing to say for long.
    pub fn last_id(&self) -> Option<&str> {
        self.last.as_deref()
    }

    fn line(&mut self, line: std::ops::Range<usize>) -> Result<(), TooLong> {
        let mut line = self.bytes.get(line).unwrap_or_default();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(at) => line.split_at(at),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                if self.data.len() > MAX_SSE_MESSAGE_BYTES {
                    return Err(TooLong);
                }
            }
            b"event" => self.event = Some(text()).filter(|event| !event.is_empty()),
            b"id" if !value.contains(&0) => self.id = Some(text()),
            // A comment, or a field that means nothing to us.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseMessage> {
        let (event, id) = (self.event.take(), self.id.take());
        if id.is_some() {
            self.last.clone_from(&id);
        }
        let data = std::mem::take(&mut self.data);
        let said = std::mem::take(&mut self.has_data);
        said.then(|| SseMessage { event, id, data: String::from_utf8_lossy(&data).into_owned() })
    }
}

/// A stream that is open.
#[derive(Debug)]
pub struct Stream {
    response: Response,
    parser: Parser,
}

impl Stream {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, parser: Parser::default() }
    }

    /// Where to go on when the stream breaks off now.
    pub fn last_id(&self) -> Option<&str> {
        self.parser.last_id()
    }

    /// The next message; `None` when the stream is over, broken or too silent to be alive. Nothing is lost when a call is
    /// given up.
    pub async fn next(&mut self) -> Result<Option<SseMessage>, TooLong> {
        loop {
            if let Some(message) = self.parser.next_message()? {
                return Ok(Some(message));
            }
            match tokio::time::timeout(STREAM_SILENCE_TIMEOUT, self.response.chunk()).await {
                Ok(Ok(Some(bytes))) => self.parser.push(&bytes)?,
                Ok(Ok(None) | Err(_)) | Err(_) => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<SseMessage> {
        let mut parser = Parser::default();
        let mut messages = Vec::new();
        for piece in pieces {
            parser.push(piece).unwrap();
            while let Some(message) = parser.next_message().unwrap() {
                messages.push(message);
            }
        }
        messages
    }

    fn message(event: Option<&str>, id: Option<&str>, data: &str) -> SseMessage {
        SseMessage { event: event.map(Into::into), id: id.map(Into::into), data: data.into() }
    }

    #[test]
    fn messages_have_a_kind_an_id_and_lines_of_data() {
        let wire = b"\xef\xbb\xbfid: 1.7\ndata: {\"a\":1}\n\n: alive\n\nevent: delta\ndata:x\ndata: y\n\nid: 9\n\ndata\n\n";
        assert_eq!(
            all(&[wire]),
            [
                message(None, Some("1.7"), "{\"a\":1}"),
                message(Some("delta"), None, "x\ny"),
                message(None, None, "")
            ]
        );
    }

    #[test]
    fn every_line_ending_is_understood_even_across_pieces() {
        let expected = [message(Some("e"), None, "1\n2"), message(None, None, "3")];
        for wire in ["event: e\ndata: 1\ndata: 2\n\ndata: 3\n\n"] {
            for ending in ["\n", "\r\n", "\r"] {
                let wire = wire.replace('\n', ending);
                let bytes: Vec<&[u8]> = wire.as_bytes().chunks(1).collect();
                assert_eq!(all(&bytes), expected, "{ending:?}");
                assert_eq!(all(&[wire.as_bytes()]), expected, "{ending:?}");
            }
        }
    }

    #[test]
    fn an_id_without_a_message_still_says_where_to_go_on() {
        let mut parser = Parser::default();
        parser.push(b"id: 1.7\ndata: a\n\n: alive\n\nid: 1.9\n\nid: 2.1\n").unwrap();
        assert_eq!(parser.next_message().unwrap().unwrap().id.as_deref(), Some("1.7"));
        assert_eq!(parser.next_message().unwrap(), None);
        assert_eq!(parser.last_id(), Some("1.9"), "what is not whole does not count");
    }

    #[test]
    fn a_message_without_its_end_is_not_given() {
        assert_eq!(all(&[b"data: half\n"]), []);
        assert_eq!(all(&[b"data: half\r"]), []);
    }

    #[test]
    fn a_message_without_bounds_is_refused_before_it_fills_the_memory() {
        let mut parser = Parser::default();
        let flood = vec![b'x'; 1024 * 1024];
        let refused =
            (0..64).any(|_| parser.push(&flood).is_err() || parser.next_message().is_err());
        assert!(refused);
    }

    proptest! {
        #[test]
        fn the_pieces_that_bytes_come_in_change_nothing(
            lines in prop::collection::vec("(data|event|id|retry|):? ?[a-zé日: ]{0,6}|", 0..30),
            endings in prop::collection::vec(0..3usize, 30),
            cuts in prop::collection::vec(0..400usize, 0..12),
        ) {
            let ending = |at: usize| ["\n", "\r\n", "\r"][endings[at % endings.len()]];
            let wire: String =
                lines.iter().enumerate().map(|(at, line)| format!("{line}{}", ending(at))).collect();
            let wire = wire.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(wire.len())).collect();
            cuts.extend([0, wire.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &wire[ends[0]..ends[1]]).collect();
            prop_assert_eq!(all(&pieces), all(&[wire]));
        }

        #[test]
        fn no_bytes_break_it(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            all(&pieces);
        }
    }
}
