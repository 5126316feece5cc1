//! One line of an agent as a frame: what is read of it, and what becomes of one that cannot be read.

use std::borrow::Cow;

use bytes::Bytes;
use musher_core::{
    ErrorClass, ErrorInfo, EventKind, EventScope, Level, OutputStream, RawRef, TurnEnded,
    TurnOutcome,
};
use serde::Deserialize;

use super::{ToolProcesses, Translation};
use crate::json;
use crate::process::{LineBody, OutputLine};
use crate::session::Signal;

/// A frame of unknown kind is kept whole up to this size.
const MAX_NATIVE_FRAME_BYTES: usize = 32 * 1024;

/// Where the signals of one frame are gathered.
pub(crate) struct AgentFrame<'a> {
    pub(crate) raw: RawRef,
    pub(crate) text: &'a str,
    pub(crate) step: Translation,
    /// How many signals earlier frames have left.
    before: usize,
}

impl<'a> AgentFrame<'a> {
    pub(crate) fn new(raw: RawRef, text: &'a str, step: Translation) -> Self {
        let before = step.signals.len();
        Self { raw, text, step, before }
    }

    /// All that was gathered. A frame that was not understood, or led to nothing, is told as it is, under its name.
    pub(crate) fn finish(
        mut self,
        understood: Option<()>,
        name: impl FnOnce() -> String,
    ) -> Translation {
        if understood.is_none() || self.step.signals.len() == self.before {
            if !json::is_whole(self.text) {
                return self.step.unparsed_bytes(self.raw, self.text.as_bytes());
            }
            self.native(name());
        }
        self.step
    }

    pub(crate) fn event(&mut self, kind: EventKind) {
        self.event_in(EventScope::Main, kind);
    }

    pub(crate) fn event_in(&mut self, scope: EventScope, kind: EventKind) {
        self.step.signals.push(Signal::Event { kind, scope, raw: Some(self.raw) });
    }

    pub(crate) fn notice(&mut self, level: Level, code: &str, text: impl Into<String>) {
        let code = Some(code.to_owned());
        self.event(EventKind::Notice { level, code, text: text.into() });
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.step.signals.push(signal);
    }

    pub(crate) fn reply(&mut self, line: Option<Bytes>) {
        self.step.replies.extend(line);
    }

    /// Adds what something else led to.
    pub(crate) fn add(&mut self, other: Translation) {
        self.step.signals.extend(other.signals);
        self.step.replies.extend(other.replies);
        if other.tools != ToolProcesses::Left {
            self.step.tools = other.tools;
        }
    }

    /// The frame as the shape that is expected; a frame of another shape becomes native.
    pub(crate) fn read<T: Deserialize<'a>>(&self) -> Option<T> {
        json::read(self.text)
    }

    fn native(&mut self, name: String) {
        let short = self.text.len() <= MAX_NATIVE_FRAME_BYTES;
        let frame = short.then(|| json::read(self.text)).flatten();
        self.event(EventKind::Native { name, frame });
    }
}

/// What can be read of a line.
pub(crate) enum LineText<'a> {
    Text(RawRef, Cow<'a, str>),
    /// It is no text, or nothing that could be JSON.
    NoText(RawRef, &'a [u8]),
    /// It was too long, or nested too deep, and is no JSON that could be shortened: its beginning and its end.
    Edges(RawRef, String),
}

/// The text of a line. Where it is too long or nested too deep, long texts and deep values of it are cut.
pub(crate) fn line_text(line: &OutputLine) -> LineText<'_> {
    let raw = RawRef::new(line.offset, line.len);
    match &line.body {
        LineBody::Whole(bytes) => text(raw, bytes),
        LineBody::Shortened(short) => text(RawRef { shortened: true, ..raw }, short),
        LineBody::Cut { head, tail } => LineText::Edges(raw, joined(head, tail)),
    }
}

fn text(raw: RawRef, bytes: &[u8]) -> LineText<'_> {
    let Ok(text) = std::str::from_utf8(bytes) else { return LineText::NoText(raw, bytes) };
    if !json::is_too_deep(text) {
        return LineText::Text(raw, text.into());
    }
    let short = json::shorten(bytes).filter(|_| !raw.shortened);
    match short.and_then(|short| String::from_utf8(short).ok()) {
        Some(short) => LineText::Text(RawRef { shortened: true, ..raw }, short.into()),
        None => {
            let head = bytes.len().min(MAX_NATIVE_FRAME_BYTES / 2);
            let tail = bytes.len().saturating_sub(MAX_NATIVE_FRAME_BYTES / 2).max(head);
            LineText::Edges(raw, joined(&bytes[..head], &bytes[tail..]))
        }
    }
}

fn joined(head: &[u8], tail: &[u8]) -> String {
    format!("{} … {}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
}

impl Translation {
    /// Adds a line that could not be read as a frame.
    pub(crate) fn unparsed_bytes(self, raw: RawRef, bytes: &[u8]) -> Self {
        let kept = &bytes[..bytes.len().min(MAX_NATIVE_FRAME_BYTES)];
        let truncated = bytes.len() > MAX_NATIVE_FRAME_BYTES || raw.shortened;
        self.unparsed(raw, String::from_utf8_lossy(kept).into_owned(), truncated)
    }

    /// Adds a line that ended the turn and cannot be read. The turn has ended, or it never would; but nobody knows how, so it
    /// is not told as done.
    pub(crate) fn unreadable_end(self, raw: RawRef, text: String) -> Self {
        let mut step = self.unparsed(raw, text, true);
        let message = "the agent ended its turn with a message that cannot be read";
        let error = ErrorInfo::new(ErrorClass::Protocol, message);
        let ended = TurnEnded::synthesised(TurnOutcome::Failed, Some(error));
        let kind = EventKind::TurnEnded(Box::new(ended));
        step.signals.push(Signal::Event { kind, scope: EventScope::Main, raw: Some(raw) });
        step
    }

    /// Adds a line that could not be read as a frame, with what is shown of it.
    pub(crate) fn unparsed(mut self, raw: RawRef, text: String, truncated: bool) -> Self {
        let stream = OutputStream::Stdout;
        let kind = EventKind::Unparsed { stream, text, bytes: raw.len, truncated };
        self.signals.push(Signal::Event { kind, scope: EventScope::Main, raw: Some(raw) });
        self
    }
}
