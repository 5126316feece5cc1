//! One try at a model call: the request goes out, the stream comes in, and everything in it is told as it comes.

use std::collections::BTreeMap;
use std::time::Duration;

use musher_core::{
    Channel, Delta, ErrorClass, EventKind, ItemBody, ItemId, OutputStream, RawRef, Scope,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode};

use super::super::agent::Agent;
use super::super::inbox::Broken;
use super::super::refusal::{Refusal, Refused};
use super::super::sse::{Frame, Sse};
use super::super::wire::{Answer, Entry, Outgoing, Piece, Reader};
use super::Miss;
use crate::session::Signal;

/// An answer of more bytes than this is broken off.
const LONGEST_ANSWER: usize = 32 * 1024 * 1024;
/// How long the end of a stream is waited for once its last event has come.
const LAST: Duration = Duration::from_millis(100);
/// Of an event that cannot be read, this much is shown.
const SHOWN: usize = 2000;
/// What a person can do about an answer that broke off.
const GO_ON: &str = "what was said is kept: resume the session and tell the model to go on";

/// An answer on its way.
#[derive(Debug)]
struct Incoming {
    reader: Box<dyn Reader>,
    /// Blocks that were begun and are not whole.
    open: BTreeMap<u32, (Channel, String)>,
    /// Whether anything of the answer was told.
    begun: bool,
    /// The text that was told.
    said: String,
    /// What the items of this try are named after.
    name: String,
    /// Nobody is told of it.
    quiet: bool,
    failed: Option<Refusal>,
    bytes: usize,
    /// Events that could be read.
    readable: u32,
}

impl Agent {
    /// Makes one try.
    pub(super) async fn attempt(&mut self, outgoing: Outgoing) -> Result<Answer, Miss> {
        let body = outgoing.body.to_string().into_bytes();
        let asked = body.len();
        let sent = self.inbox.during(self.door.post(&outgoing.path, body)).await?;
        let mut response = sent?;
        if response.status() != StatusCode::OK {
            return Err(self.refused(&mut response).await?.into());
        }
        let mut incoming = Incoming {
            reader: self.wire.reader(),
            open: BTreeMap::new(),
            begun: false,
            said: String::new(),
            name: self.mint("item"),
            quiet: self.quiet,
            failed: None,
            bytes: 0,
            readable: 0,
        };
        let read = self.read(&mut response, &mut incoming).await;
        drop(response);
        let answer = match read {
            Ok(()) => {
                let (pieces, answer) = incoming.reader.finish();
                let signals = incoming.signals(pieces, None);
                self.outbox.send(signals, None).await?;
                answer.map_err(|refusal| incoming.why(refusal).into())
            }
            Err(miss) => Err(miss),
        };
        match answer {
            Ok(answer) => {
                let bytes = (asked, incoming.bytes);
                self.account(answer.usage, answer.model.as_deref(), bytes).await?;
                Ok(answer)
            }
            Err(miss) => Err(self.broken_off(incoming, miss).await),
        }
    }

    async fn refused(&mut self, response: &mut Response) -> Result<Refusal, Broken> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = self.inbox.during(self.door.rest(response)).await?;
        self.copy(&body).await?;
        Ok(self.wire.refusal(&Refused { status, headers: &headers, body: &body }))
    }

    /// Reads an answer to its end.
    async fn read(&mut self, response: &mut Response, incoming: &mut Incoming) -> Result<(), Miss> {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_lowercase();
        if kind.contains("html") {
            let message = format!("the service answered with `{kind}` instead of a stream");
            let mut refusal = Refusal::never(ErrorClass::Protocol, message);
            refusal.error.hint = Some("look at the base address; this is a page for people".into());
            return Err(refusal.into());
        }
        if kind.contains("json") {
            return self.read_whole(response, incoming).await;
        }
        let mut sse = Sse::default();
        loop {
            let chunk = self.inbox.during(self.door.chunk(response)).await?;
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                Err(refusal) => return Err(refusal.into()),
            };
            let weight = self.outbox.unless_ended(self.weights.room_for(chunk.len())).await?;
            let mut signals = Vec::new();
            for frame in sse.push(&chunk) {
                match frame {
                    Frame::Event { name, data } => {
                        let raw = self.copy(data.as_bytes()).await?;
                        let pieces = incoming.reader.event(&name, &data);
                        signals.extend(incoming.signals(pieces, raw));
                    }
                    Frame::TooLong { bytes } => signals.push(unparsed("", bytes)),
                }
            }
            if signals.is_empty() {
                // A comment or half an event is a sign of life.
                signals.push(Signal::Alive);
            }
            self.outbox.send(signals, weight).await?;
            if let Some(refusal) = incoming.failed.take() {
                return Err(refusal.into());
            }
            if incoming.bytes > LONGEST_ANSWER {
                let message = format!("the answer did not stop after {LONGEST_ANSWER} bytes");
                return Err(Refusal::never(ErrorClass::MaxOutput, message).into());
            }
            if incoming.reader.is_done() {
                // A connection that is read to its end can be used again.
                let end = async { while let Ok(Some(_)) = self.door.chunk(response).await {} };
                let _late = self.inbox.during(tokio::time::timeout(LAST, end)).await?;
                return Ok(());
            }
        }
    }

    /// Reads the answer of a service that does not stream although it was asked to.
    async fn read_whole(
        &mut self,
        response: &mut Response,
        incoming: &mut Incoming,
    ) -> Result<(), Miss> {
        let mut all = Vec::new();
        while let Some(chunk) = self.inbox.during(self.door.chunk(response)).await?? {
            all.extend_from_slice(&chunk);
            if all.len() > LONGEST_ANSWER {
                let message = format!("the answer did not stop after {LONGEST_ANSWER} bytes");
                return Err(Refusal::never(ErrorClass::MaxOutput, message).into());
            }
            self.outbox.send(vec![Signal::Alive], None).await?;
        }
        let raw = self.copy(&all).await?;
        let pieces = incoming.reader.event("", &String::from_utf8_lossy(&all));
        let signals = incoming.signals(pieces, raw);
        self.outbox.send(signals, None).await?;
        incoming.failed.take().map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// An answer did not come to its end: what was begun of it is told as such, and what it used is entered. Once a
    /// person has seen a part of it, it is not asked for again; that part stays in the conversation.
    async fn broken_off(&mut self, mut incoming: Incoming, miss: Miss) -> Miss {
        let signals = incoming.abort();
        if let Err(broken) = self.outbox.send(signals, None).await {
            return broken.into();
        }
        if let Some(told) = incoming.reader.usage()
            && let Err(broken) = self.account(Some(told), None, (0, 0)).await
        {
            return broken.into();
        }
        if self.quiet || !incoming.begun {
            return miss;
        }
        match miss {
            Miss::Broken(Broken::Interrupted) => {
                self.keep_what_was_said(incoming.said).err().unwrap_or(Broken::Interrupted).into()
            }
            Miss::Refused(refusal) => {
                if let Err(broken) = self.limits(&refusal).await {
                    return broken.into();
                }
                let kept = self.keep_what_was_said(incoming.said);
                let error = match refusal.error {
                    error if error.hint.is_some() => error,
                    error => error.with_hint(GO_ON),
                };
                kept.err().unwrap_or(Broken::Failed(error)).into()
            }
            Miss::Broken(broken) => broken.into(),
        }
    }

    /// Half an answer, without the calls that it may have been about to make.
    fn keep_what_was_said(&mut self, text: String) -> Result<(), Broken> {
        if text.is_empty() {
            return Ok(());
        }
        self.said_so_far(text.clone());
        let (wire, raw, calls) = (String::new(), Vec::new(), Vec::new());
        self.history.push(Entry::Model { wire, raw, text, calls }).map_err(Broken::Failed)
    }

    /// Copies a frame for a host that keeps what came, and tells where it stands in the copy.
    async fn copy(&mut self, frame: &[u8]) -> Result<Option<RawRef>, Broken> {
        let (Some(raw), Some(tap)) = (&mut self.raw, &self.tap) else { return Ok(None) };
        let offset = tap.position();
        for part in [frame, b"\n"] {
            raw.push(part);
            if raw.is_waiting() {
                self.outbox.unless_ended(raw.hand_on()).await?;
            }
        }
        Ok(Some(RawRef { offset, len: u64::try_from(frame.len()).unwrap_or(u64::MAX) }))
    }

    /// Hands on the rest of the copy.
    pub(in crate::model) async fn copy_the_end(&mut self) {
        let Some(raw) = &mut self.raw else { return };
        raw.finish();
        if raw.is_waiting() {
            // A host that is gone takes no copies.
            let _ending = self.outbox.unless_ended(raw.hand_on()).await;
        }
    }
}

impl Incoming {
    /// What pieces mean to the driver.
    fn signals(&mut self, pieces: Vec<Piece>, raw: Option<RawRef>) -> Vec<Signal> {
        let mut signals = Vec::new();
        let mut understood = true;
        for piece in pieces {
            match piece {
                Piece::Text { block, text } => self.grow(block, Channel::Text, text, &mut signals),
                Piece::Thought { block, text } => {
                    self.grow(block, Channel::Reasoning, text, &mut signals);
                }
                Piece::Input { call, text } => {
                    self.begun = true;
                    self.bytes += text.len();
                    let (item, channel) = (ItemId::new(call), Channel::ToolInput);
                    signals.push(Signal::Delta(Delta { item, channel, text, scope: Scope::Main }));
                }
                Piece::Done { block, body } => {
                    self.begun = true;
                    if let (None, ItemBody::Text { text }) = (self.open.remove(&block), &body) {
                        self.said.push_str(text);
                    }
                    let (item, aborted) = (self.item(block), false);
                    let kind = EventKind::ItemDone { item, body, aborted };
                    signals.push(Signal::Event { kind, scope: Scope::Main, raw });
                }
                Piece::Failed(refusal) => self.failed = Some(refusal),
                Piece::Native { name } => {
                    let kind = EventKind::Native { name, frame: None };
                    signals.push(Signal::Event { kind, scope: Scope::Main, raw });
                }
                Piece::Unparsed { text } => {
                    understood = false;
                    signals.push(unparsed(&text, text.len()));
                }
            }
        }
        self.readable += u32::from(understood);
        self.heard(signals)
    }

    /// What is for us alone is a sign of life and nothing more.
    fn heard(&self, signals: Vec<Signal>) -> Vec<Signal> {
        if self.quiet { vec![Signal::Alive] } else { signals }
    }

    fn grow(&mut self, block: u32, channel: Channel, text: String, signals: &mut Vec<Signal>) {
        self.begun = true;
        self.bytes += text.len();
        let open = self.open.entry(block).or_insert_with(|| (channel, String::new()));
        open.1.push_str(&text);
        if channel == Channel::Text {
            self.said.push_str(&text);
        }
        let item = self.item(block);
        signals.push(Signal::Delta(Delta { item, channel, text, scope: Scope::Main }));
    }

    fn item(&self, block: u32) -> ItemId {
        ItemId::new(format!("{}-{block}", self.name))
    }

    /// What was begun ends here.
    fn abort(&mut self) -> Vec<Signal> {
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

    /// Why an answer is not whole: a stream of which nothing could be read was none.
    fn why(&self, refusal: Refusal) -> Refusal {
        if self.readable == 0 && !self.begun {
            let message = "the service answered with something that is no stream of events";
            let mut refusal = Refusal::later(ErrorClass::Protocol, message);
            refusal.error.hint = Some("look at the base address and the wire format".into());
            return refusal;
        }
        refusal
    }
}

fn unparsed(text: &str, bytes: usize) -> Signal {
    let cut = text.floor_char_boundary(text.len().min(SHOWN));
    Signal::event(EventKind::Unparsed {
        stream: OutputStream::Stdout,
        text: text[..cut].to_owned(),
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        truncated: cut < bytes,
    })
}
