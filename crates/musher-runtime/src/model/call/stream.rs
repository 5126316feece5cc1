//! One try at a model call: the request goes out, the stream comes in, and everything in it is told as it comes.

use std::time::Duration;

use bytes::Bytes;
use musher_core::{ErrorClass, RawRef};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode};

use super::super::agent::ModelAgent;
use super::super::inbox::WaitBroken;
use super::super::refusal::{HttpRefusal, RequestFailure, RetryAdvice};
use super::super::sse::{Frame, Sse};
use super::super::told::Told;
use super::super::wire::{HistoryEntry, ModelAnswer, Outgoing, StreamPiece};
use super::Miss;
use super::bill::{Bill, SeenAnswer};
use super::incoming::{Incoming, unparsed};
use crate::session::Signal;

/// An answer of more bytes than this is broken off.
const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// How long the end of a stream is waited for once its last event has come.
const STREAM_END_TIMEOUT: Duration = Duration::from_millis(100);
/// What a person can do about an answer that broke off.
const GO_ON: &str = "the text so far is kept: resume the session to continue";

impl ModelAgent {
    /// Makes one try. However it ends, its last word is in the books.
    pub(super) async fn attempt(&mut self, outgoing: Outgoing) -> Result<ModelAnswer, Miss> {
        let body = outgoing.body.to_string().into_bytes();
        let asked = body.len();
        let mut bill = self.open_bill().await?;
        let sent = self.inbox.during(self.door.post(&outgoing.path, body)).await;
        let mut response = match sent.map_err(Miss::from).and_then(|sent| Ok(sent?)) {
            Ok(response) => response,
            Err(miss) => {
                self.close_cut(bill, Told::Nothing, None, SeenAnswer::default(), miss.billed())
                    .await;
                return Err(miss);
            }
        };
        if response.status() != StatusCode::OK {
            self.close_free(bill).await;
            return Err(self.refused(&mut response).await?.into());
        }
        let mut incoming = Incoming::new(self.wire.reader(), self.mint("item"), self.quiet, asked);
        let read = self.read(&mut response, &mut incoming, &mut bill).await;
        drop(response);
        let answer = match read {
            Ok(()) => self.whole_answer(&mut incoming).await,
            Err(miss) => Err(miss),
        };
        match answer {
            Ok(answer) => {
                let told = incoming.reader.usage().believed(!answer.is_empty());
                let seen = incoming.seen();
                self.close_whole(bill, told, incoming.reader.model(), seen).await?;
                Ok(answer)
            }
            Err(miss) => Err(self.broken_off(incoming, bill, miss).await),
        }
    }

    /// The answer, now that the stream is over, unless its end says that it is none.
    async fn whole_answer(&mut self, incoming: &mut Incoming) -> Result<ModelAnswer, Miss> {
        let (mut pieces, answer) = incoming.reader.finish();
        let format = self.wire.name();
        let answer = answer.map_err(|refusal| incoming.why(refusal, format));
        let answer = answer.and_then(|answer| match answer.end.refusal(answer.calls.len()) {
            None => Ok(answer),
            Some(refusal) => {
                self.stopped(answer.end.native);
                Err(refusal)
            }
        });
        if answer.is_err() {
            // What is open did not come to its end.
            pieces.retain(|piece| !matches!(piece, StreamPiece::Done { .. }));
        }
        let signals = incoming.signals(pieces, None);
        self.outbox.send(signals, None).await?;
        Ok(answer?)
    }

    async fn refused(&mut self, response: &mut Response) -> Result<RequestFailure, WaitBroken> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = self.inbox.during(self.door.rest(response)).await?;
        self.copy(&body).await?;
        Ok(self.wire.refusal(&HttpRefusal { status, headers: &headers, body: &body }))
    }

    /// Reads an answer to its end. What it is, its first byte tells: services say all kinds of things of its type.
    async fn read(
        &mut self,
        response: &mut Response,
        incoming: &mut Incoming,
        bill: &mut Bill,
    ) -> Result<(), Miss> {
        let kind = response.headers().get(CONTENT_TYPE);
        incoming.kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_lowercase();
        let mut sse = Sse::default();
        let mut first = true;
        loop {
            let chunk = match self.inbox.during(self.door.chunk(response)).await?? {
                Some(chunk) => chunk,
                None => return Ok(()),
            };
            incoming.head(&chunk);
            if first {
                match first_byte(&chunk) {
                    None => {
                        self.outbox.send(vec![Signal::Alive], None).await?;
                        continue;
                    }
                    Some(b'{' | b'[') => return self.read_whole(response, incoming, chunk).await,
                    Some(b'<') => return Err(self.page(response, incoming).await?.into()),
                    Some(_) => first = false,
                }
            }
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
            let told = incoming.reader.usage();
            signals.extend(self.so_far(bill, told, incoming.reader.model()));
            if signals.is_empty() {
                // A comment or half an event is a sign of life.
                signals.push(Signal::Alive);
            }
            self.outbox.send(signals, weight).await?;
            if let Some(refusal) = incoming.failed.take() {
                return Err(refusal.into());
            }
            if incoming.bytes > MAX_ANSWER_BYTES {
                return Err(endless().into());
            }
            if incoming.reader.is_done() {
                // A connection that is read to its end can be used again.
                let end = async { while let Ok(Some(_)) = self.door.chunk(response).await {} };
                let _late =
                    self.inbox.during(tokio::time::timeout(STREAM_END_TIMEOUT, end)).await?;
                return Ok(());
            }
        }
    }

    /// Reads the answer of a service that does not stream although it was asked to.
    async fn read_whole(
        &mut self,
        response: &mut Response,
        incoming: &mut Incoming,
        first: Bytes,
    ) -> Result<(), Miss> {
        let mut all = first.to_vec();
        while let Some(chunk) = self.inbox.during(self.door.chunk(response)).await?? {
            incoming.head(&chunk);
            all.extend_from_slice(&chunk);
            if all.len() > MAX_ANSWER_BYTES {
                return Err(endless().into());
            }
            self.outbox.send(vec![Signal::Alive], None).await?;
        }
        let raw = self.copy(&all).await?;
        let pieces = incoming.reader.whole(&String::from_utf8_lossy(&all));
        incoming.came_whole = true;
        let signals = incoming.signals(pieces, raw);
        self.outbox.send(signals, None).await?;
        incoming.failed.take().map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// A page for people came. One that says so comes again.
    async fn page(
        &mut self,
        response: &mut Response,
        incoming: &mut Incoming,
    ) -> Result<RequestFailure, WaitBroken> {
        let rest = self.inbox.during(self.door.rest(response)).await?;
        incoming.head(&rest);
        let again =
            if incoming.kind.contains("html") { RetryAdvice::Never } else { RetryAdvice::Later };
        let (kind, format) = (&incoming.kind, self.wire.name());
        let refusal = RequestFailure::no_answer(kind, format, &incoming.head, again);
        Ok(if again == RetryAdvice::Never { refusal.unbilled() } else { refusal })
    }

    /// An answer did not come to its end: what was begun of it is told as such, and what it used is entered. Once a
    /// person has seen a part of it, it is not asked for again; that part stays in the conversation.
    async fn broken_off(&mut self, mut incoming: Incoming, bill: Bill, miss: Miss) -> Miss {
        let (told, seen) = (incoming.reader.usage().believed(incoming.begun), incoming.seen());
        self.close_cut(bill, told, incoming.reader.model(), seen, miss.billed()).await;
        let signals = incoming.abort();
        if let Err(broken) = self.outbox.send(signals, None).await {
            return broken.into();
        }
        if self.quiet || !incoming.begun {
            return miss;
        }
        match miss {
            Miss::Broken(WaitBroken::Interrupted) => self
                .keep_what_was_said(incoming.said)
                .err()
                .unwrap_or(WaitBroken::Interrupted)
                .into(),
            Miss::Refused(refusal) => {
                if let Err(broken) = self.limits(&refusal).await {
                    return broken.into();
                }
                let kept = self.keep_what_was_said(incoming.said);
                let error = match *refusal.error {
                    error if error.hint.is_some() => error,
                    error => error.with_hint(GO_ON),
                };
                kept.err().unwrap_or(WaitBroken::Failed(error)).into()
            }
            Miss::Broken(broken) => broken.into(),
        }
    }

    /// Half an answer, without the calls that it may have been about to make.
    fn keep_what_was_said(&mut self, text: String) -> Result<(), WaitBroken> {
        if text.is_empty() {
            return Ok(());
        }
        self.said_so_far(text.clone());
        let (wire, raw, calls) = (String::new(), Vec::new(), Vec::new());
        self.history
            .push(HistoryEntry::Model { wire, raw, text, calls })
            .map_err(WaitBroken::Failed)
    }

    /// Copies a frame for a host that keeps what came, and tells where it stands in the copy.
    async fn copy(&mut self, frame: &[u8]) -> Result<Option<RawRef>, WaitBroken> {
        let (Some(raw), Some(tap)) = (&mut self.raw, &self.tap) else { return Ok(None) };
        let offset = tap.position();
        for part in [frame, b"\n"] {
            raw.push(part);
            if raw.is_waiting() {
                self.outbox.unless_ended(raw.hand_on()).await?;
            }
        }
        Ok(Some(RawRef::new(offset, u64::try_from(frame.len()).unwrap_or(u64::MAX))))
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

/// The first byte that is not blank.
fn first_byte(chunk: &[u8]) -> Option<u8> {
    let chunk = chunk.strip_prefix(b"\xef\xbb\xbf").unwrap_or(chunk);
    chunk.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn endless() -> RequestFailure {
    let message = format!("the answer did not stop after {MAX_ANSWER_BYTES} bytes");
    RequestFailure::never(ErrorClass::MaxOutput, message)
}
