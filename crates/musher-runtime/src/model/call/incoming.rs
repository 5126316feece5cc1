//! An answer on its way: what has come of it, and what that means to the driver.

use std::collections::BTreeMap;

use musher_core::{Channel, Delta, EventKind, EventScope, ItemBody, ItemId, OutputStream, RawRef};

use super::super::refusal::{Billed, RequestFailure, RetryAdvice};
use super::super::wire::{AnswerReader, StreamPiece};
use super::bill::SeenAnswer;
use crate::session::Signal;

/// Of an event that cannot be read, this much is shown.
const SHOWN: usize = 2000;
/// So much of the beginning is kept to tell what came.
const HEAD: usize = 512;

/// An answer on its way.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) reader: Box<dyn AnswerReader>,
    /// Blocks that were begun and are not whole.
    open: BTreeMap<u32, (Channel, String)>,
    /// Whether anything of the answer was told.
    pub(super) begun: bool,
    /// The text that was told.
    pub(super) said: String,
    /// What the items of this try are named after.
    name: String,
    /// Nobody is told of it.
    quiet: bool,
    pub(super) failed: Option<RequestFailure>,
    /// Bytes of the request.
    asked: usize,
    pub(super) bytes: usize,
    words: Words,
    /// Events that could be read.
    readable: u32,
    /// What the service says that it sends.
    pub(super) kind: String,
    /// The first bytes that came.
    pub(super) head: Vec<u8>,
    pub(super) came_whole: bool,
}

/// Counts words in texts that come in pieces.
#[derive(Debug, Default)]
struct Words {
    count: u64,
    inside: bool,
}

impl Words {
    fn push(&mut self, text: &str) {
        for character in text.chars() {
            let inside = !character.is_whitespace();
            self.count += u64::from(inside && !self.inside);
            self.inside = inside;
        }
    }
}

impl Incoming {
    pub(super) fn new(
        reader: Box<dyn AnswerReader>,
        name: String,
        quiet: bool,
        asked: usize,
    ) -> Self {
        Self {
            reader,
            open: BTreeMap::new(),
            begun: false,
            said: String::new(),
            name,
            quiet,
            failed: None,
            asked,
            bytes: 0,
            words: Words::default(),
            readable: 0,
            kind: String::new(),
            head: Vec::new(),
            came_whole: false,
        }
    }

    pub(super) fn seen(&self) -> SeenAnswer {
        SeenAnswer { asked: self.asked, bytes: self.bytes, words: self.words.count }
    }

    /// Keeps the beginning of what comes, in case it is no answer.
    pub(super) fn head(&mut self, chunk: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len());
        self.head.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }

    /// Something of the answer has come.
    fn came(&mut self, text: &str) {
        self.begun = true;
        self.bytes += text.len();
        self.words.push(text);
    }

    /// What pieces mean to the driver.
    pub(super) fn signals(&mut self, pieces: Vec<StreamPiece>, raw: Option<RawRef>) -> Vec<Signal> {
        let mut signals = Vec::new();
        let mut understood = true;
        for piece in pieces {
            match piece {
                StreamPiece::Text { block, text } => {
                    self.grow(block, Channel::Text, text, &mut signals);
                }
                StreamPiece::Thought { block, text } => {
                    self.grow(block, Channel::Reasoning, text, &mut signals);
                }
                StreamPiece::Input { call, text } => {
                    self.came(&text);
                    let (item, channel) = (ItemId::new(call), Channel::ToolInput);
                    signals.push(Signal::Delta(Delta {
                        item,
                        channel,
                        text,
                        scope: EventScope::Main,
                    }));
                }
                StreamPiece::Done { block, body } => {
                    self.begun = true;
                    if self.open.remove(&block).is_none() {
                        self.came_at_once(&body);
                    }
                    let (item, aborted) = (self.item(block), false);
                    let kind = EventKind::ItemDone { item, body, aborted };
                    signals.push(Signal::Event { kind, scope: EventScope::Main, raw });
                }
                StreamPiece::Failed(refusal) => self.failed = Some(self.after_all(refusal)),
                StreamPiece::Native { name } => {
                    let kind = EventKind::Native { name, frame: None };
                    signals.push(Signal::Event { kind, scope: EventScope::Main, raw });
                }
                StreamPiece::Unparsed { text } => {
                    understood = false;
                    signals.push(unparsed(&text, text.len()));
                }
            }
        }
        self.readable += u32::from(understood);
        self.heard(signals)
    }

    /// An error is a refusal for which no model has worked only if it is the first thing that comes.
    fn after_all(&self, refusal: RequestFailure) -> RequestFailure {
        let billed = if self.begun || self.readable > 0 { Billed::Maybe } else { refusal.billed };
        RequestFailure { billed, ..refusal }
    }

    /// What is for us alone is a sign of life and nothing more.
    fn heard(&self, signals: Vec<Signal>) -> Vec<Signal> {
        if self.quiet { vec![Signal::Alive] } else { signals }
    }

    /// A block came whole, without any piece of it before.
    fn came_at_once(&mut self, body: &ItemBody) {
        match body {
            ItemBody::Text { text } => {
                self.came(text);
                self.said.push_str(text);
            }
            ItemBody::Reasoning { text, .. } => self.came(text),
            ItemBody::Other { .. } => {}
        }
    }

    fn grow(&mut self, block: u32, channel: Channel, text: String, signals: &mut Vec<Signal>) {
        self.came(&text);
        let open = self.open.entry(block).or_insert_with(|| (channel, String::new()));
        open.1.push_str(&text);
        if channel == Channel::Text {
            self.said.push_str(&text);
        }
        let item = self.item(block);
        signals.push(Signal::Delta(Delta { item, channel, text, scope: EventScope::Main }));
    }

    fn item(&self, block: u32) -> ItemId {
        ItemId::new(format!("{}-{block}", self.name))
    }

    /// What was begun ends here.
    pub(super) fn abort(&mut self) -> Vec<Signal> {
        let open = std::mem::take(&mut self.open);
        let done = open.into_iter().map(|(block, (channel, text))| {
            let body = match channel {
                Channel::Reasoning => ItemBody::Reasoning { text, opaque: None },
                Channel::Text | Channel::ToolInput | Channel::ToolOutput => ItemBody::Text { text },
            };
            Signal::event(EventKind::ItemDone { item: self.item(block), body, aborted: true })
        });
        self.heard(done.collect())
    }

    /// Why there is no whole answer: what came may have been something else from the start.
    pub(super) fn why(&self, refusal: RequestFailure, format: &str) -> RequestFailure {
        let again = match (self.came_whole, self.readable) {
            // What could be read is an answer of another kind, and will be the next time.
            (true, 1..) => RetryAdvice::Never,
            (true, 0) => RetryAdvice::Later,
            (false, 0) if !self.begun && !may_be_events(&self.head) => RetryAdvice::Later,
            (false, _) => return refusal,
        };
        RequestFailure::no_answer(&self.kind, format, &self.head, again)
    }
}

/// Whether bytes may be the beginning of a stream of events.
fn may_be_events(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let fields: [&[u8]; 5] = [b":", b"data", b"event", b"id", b"retry"];
    !head.is_empty()
        && fields.iter().any(|field| head.starts_with(field) || field.starts_with(head))
}

pub(super) fn unparsed(text: &str, bytes: usize) -> Signal {
    let cut = text.floor_char_boundary(text.len().min(SHOWN));
    Signal::event(EventKind::Unparsed {
        stream: OutputStream::Stdout,
        text: text[..cut].to_owned(),
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        truncated: cut < bytes,
    })
}
