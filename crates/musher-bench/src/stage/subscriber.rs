//! A subscriber made by hand: it costs this process little, reads when it is told to, and checks every number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{bail, ensure};
use memchr::{memchr, memmem};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::place::Place;

/// How much of a line is looked at.
const HEAD: usize = 512;
const BUFFER: usize = 128 * 1024;
/// No chunk is longer.
const LONGEST: usize = 1 << 32;

/// A connection that has asked for a run's log, and has read nothing so far.
#[derive(Debug)]
pub struct Subscriber {
    pub(super) stream: TcpStream,
    progress: Arc<AtomicU64>,
    /// What was read of the reply and not looked at yet.
    pub(super) rest: Vec<u8>,
}

/// What a subscriber has got.
#[derive(Debug, Default, Clone, Copy)]
pub struct Got {
    /// The number of the last event.
    pub last: u64,
    /// Events that did not have the number after the last one's.
    pub strays: u64,
    pub ended: bool,
}

impl Subscriber {
    /// Asks for a run's log from its beginning, and returns when the server has begun to reply.
    pub async fn connect(place: &Place, run: &str) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(&place.address).await?;
        let request = format!(
            "GET /api/v1/runs/{run}/events/stream HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             accept: text/event-stream\r\n\r\n",
            place.address, place.token
        );
        stream.write_all(request.as_bytes()).await?;
        stream.readable().await?;
        Ok(Self { stream, progress: Arc::default(), rest: Vec::new() })
    }

    /// Where to look how far it is.
    pub fn progress(&self) -> Arc<AtomicU64> {
        self.progress.clone()
    }

    /// Reads up to an event, and keeps the connection.
    pub async fn read_to(&mut self, event: u64) -> anyhow::Result<Got> {
        let mut lines = Lines::default();
        let mut chunks = self.begin().await?;
        let mut buffer = vec![0; 4096];
        while lines.got.last < event {
            self.more(&mut buffer, &mut chunks, &mut |data| lines.feed(data)).await?;
        }
        Ok(lines.got)
    }

    /// Reads to the end of the run.
    pub async fn read_all(mut self) -> anyhow::Result<Got> {
        let mut lines = Lines::default();
        let mut chunks = self.begin().await?;
        let mut buffer = vec![0; BUFFER];
        while !lines.got.ended {
            self.more(&mut buffer, &mut chunks, &mut |data| lines.feed(data)).await?;
            self.progress.store(lines.got.last, Ordering::Relaxed);
        }
        Ok(lines.got)
    }

    /// Reads to the end of the run and hands on the head of each line.
    pub async fn watch(mut self, mut seen: impl FnMut(&[u8])) -> anyhow::Result<Got> {
        let mut lines = Lines::default();
        let mut chunks = self.begin().await?;
        let mut buffer = vec![0; BUFFER];
        while !lines.got.ended {
            let mut take = |data: &[u8]| lines.each(data, &mut seen);
            self.more(&mut buffer, &mut chunks, &mut take).await?;
        }
        Ok(lines.got)
    }

    /// Reads the head of the reply.
    pub(super) async fn begin(&mut self) -> anyhow::Result<Chunks> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = memmem::find(&self.rest, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.rest[..end]).to_lowercase();
                ensure!(head.starts_with("http/1.1 200"), "the server said {head}");
                ensure!(head.contains("transfer-encoding: chunked"), "no chunks: {head}");
                self.rest.drain(..end + 4);
                return Ok(Chunks::default());
            }
            let count = self.stream.read(&mut buffer).await?;
            ensure!(count > 0, "the server hung up before it replied");
            self.rest.extend_from_slice(&buffer[..count]);
        }
    }

    async fn more(
        &mut self,
        buffer: &mut [u8],
        chunks: &mut Chunks,
        take: &mut impl FnMut(&[u8]),
    ) -> anyhow::Result<()> {
        if !self.rest.is_empty() {
            return chunks.feed(&std::mem::take(&mut self.rest), take);
        }
        let count = self.stream.read(buffer).await?;
        ensure!(count > 0, "the server hung up");
        chunks.feed(&buffer[..count], take)
    }
}

/// The chunks of a reply.
#[derive(Debug)]
pub enum Chunks {
    /// In the line that tells a length, of which so much was read.
    Length(usize),
    /// In a chunk with so many bytes left, its line end included.
    Data(usize),
}

impl Default for Chunks {
    fn default() -> Self {
        Self::Length(0)
    }
}

impl Chunks {
    pub fn feed(&mut self, mut bytes: &[u8], take: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
        while let Some((first, after)) = bytes.split_first() {
            match self {
                Self::Length(length) => {
                    bytes = after;
                    match (*first, (*first as char).to_digit(16)) {
                        (_, Some(digit)) => *length = *length * 16 + digit as usize,
                        (b'\r', None) => {}
                        (b'\n', None) => *self = Self::Data(*length + 2),
                        (other, None) => bail!("a length has the byte {other}"),
                    }
                    ensure!(!matches!(self, Self::Length(LONGEST..)), "a chunk is too long");
                }
                Self::Data(left) => {
                    let here = bytes.len().min(*left);
                    // The last two bytes are the end of the line, not data.
                    take(&bytes[..here.min(left.saturating_sub(2))]);
                    bytes = &bytes[here..];
                    *left -= here;
                    if *left == 0 {
                        *self = Self::default();
                    }
                }
            }
        }
        Ok(())
    }
}

/// The lines of a stream of events.
#[derive(Debug, Default)]
pub(super) struct Lines {
    head: Vec<u8>,
    pub(super) got: Got,
}

impl Lines {
    fn feed(&mut self, data: &[u8]) {
        self.each(data, &mut |_| ());
    }

    pub(super) fn each(&mut self, mut data: &[u8], seen: &mut impl FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', data) {
            let (line, rest) = (&data[..end], &data[end + 1..]);
            data = rest;
            if self.head.is_empty() {
                self.got.line(line);
                seen(line);
                continue;
            }
            self.hold(line);
            self.got.line(&self.head);
            seen(&self.head);
            self.head.clear();
        }
        self.hold(data);
    }

    fn hold(&mut self, part: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len()).min(part.len());
        self.head.extend_from_slice(&part[..room]);
    }
}

impl Got {
    fn line(&mut self, line: &[u8]) {
        if let Some(id) = line.strip_prefix(b"id: ") {
            match id.iter().position(|byte| *byte == b'.').map(|dot| number(&id[dot + 1..])) {
                Some(seq) if seq == self.last + 1 => self.last = seq,
                _ => self.strays += 1,
            }
        } else if let Some(data) = line.strip_prefix(br#"data: {"seq":"#) {
            if number(data) != self.last {
                self.strays += 1;
            }
        } else if line == b"event: end" {
            self.ended = true;
        } else if line.starts_with(b"event: ") {
            self.strays += 1;
        }
    }

    /// Fails unless everything came, in order.
    pub fn whole(self, events: u64) -> anyhow::Result<()> {
        let Self { last, strays, .. } = self;
        if last != events || strays > 0 {
            bail!("got {last} of {events} events, {strays} out of order");
        }
        Ok(())
    }
}

/// The number that a text begins with.
pub fn number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}
