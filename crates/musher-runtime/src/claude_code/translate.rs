//! The translator: Claude Code's frames in, signals and replies out. A pure state machine, apart from the process.

mod answer;
mod calls;
mod content;
mod control;
mod outcome;
mod reason;
mod stream;
mod system;

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use musher_core::{
    AskId, CallId, ErrorClass, ErrorInfo, EventKind, EventScope, ItemId, OutputStream, PromptId,
    RawRef, Recent, SessionInfo, TurnEnded, TurnOutcome,
};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::control::{Control, ControlSubject, PermissionHook};
use crate::json;
use crate::peer::{self, Id, Peer};
use crate::process::{LineBody, OutputLine};
use crate::session::{BackendOrder, Signal};

/// A frame of unknown kind is kept whole up to this size.
const NATIVE_KEPT: usize = 32 * 1024;
/// Messages that can still be retracted.
const RETRACTABLE: usize = 512;
/// Messages that can be under way at the same time: the agent's own and those of its sub-agents.
const UNDER_WAY: usize = 256;

/// What a frame or an order led to.
#[derive(Debug, Default)]
pub(super) struct Translation {
    pub(super) signals: Vec<Signal>,
    /// After how many signals a frame ended, where there are several.
    pub(super) ends: Vec<usize>,
    /// Lines to write to the agent.
    pub(super) replies: Vec<Bytes>,
}

/// The state of one conversation with the agent.
#[derive(Debug, Default)]
pub(super) struct Translator {
    peer: Peer<Control, ControlSubject>,
    /// The agent has answered our first request; a big prompt before that may be cut off.
    ready: bool,
    /// Prompts that wait for it.
    held: Vec<Bytes>,
    turn_open: bool,
    /// The agent has said anything about a session.
    spoke: bool,
    model: Option<String>,
    /// Prompts of ours; the agent repeats them.
    own_prompts: HashSet<String>,
    /// How many blocks of a message were seen, by message.
    blocks: Recent<u64, UNDER_WAY>,
    /// The message that is being streamed, by the call it belongs to.
    streaming: HashMap<Option<String>, stream::Streaming>,
    /// The content that a frame brought, for retraction.
    items: Recent<Vec<ItemId>, RETRACTABLE>,
    /// Plans that were proposed, by call: the approval does not repeat them.
    plans: HashMap<CallId, String>,
    asks: HashMap<AskId, control::OpenAsk>,
    permissions: HashMap<String, Id>,
    tasks: HashSet<String>,
    trouble: reason::TurnTrouble,
    calls: calls::UnbilledCalls,
    /// The session to resume is unknown; these are the agent's words for it.
    pub(super) unknown_session: Option<ErrorInfo>,
    /// The work cannot go on.
    pub(super) fatal: Option<ErrorInfo>,
}

/// Where the signals of one frame are gathered.
struct Frame<'a> {
    raw: RawRef,
    text: &'a str,
    step: Translation,
}

impl<'a> Frame<'a> {
    fn event(&mut self, kind: EventKind) {
        self.event_in(EventScope::Main, kind);
    }

    fn event_in(&mut self, scope: EventScope, kind: EventKind) {
        self.step.signals.push(Signal::Event { kind, scope, raw: Some(self.raw) });
    }

    fn signal(&mut self, signal: Signal) {
        self.step.signals.push(signal);
    }

    fn reply(&mut self, line: Option<Bytes>) {
        self.step.replies.extend(line);
    }

    /// The frame as the shape that is expected; a frame of another shape becomes native.
    fn read<T: Deserialize<'a>>(&self) -> Option<T> {
        json::read(self.text)
    }

    fn native(&mut self, name: String) {
        let short = self.text.len() <= NATIVE_KEPT;
        let frame = short.then(|| json::read(self.text)).flatten();
        self.event(EventKind::Native { name, frame });
    }
}

impl Translator {
    /// The first thing to say.
    pub(super) fn hello(&mut self, initialize: Json, hook: PermissionHook) -> Bytes {
        let hook = initialize.get("hooks").map(|_| hook);
        self.peer.request("initialize", initialize, ControlSubject::Initialize { hook })
    }

    /// Whether the agent has said anything about a session.
    pub(super) fn has_spoken(&self) -> bool {
        self.spoke
    }

    /// Takes in one line, and adds what it leads to. Every line gives at least one signal.
    pub(super) fn read(&mut self, line: &OutputLine, step: Translation) -> Translation {
        let raw = RawRef::new(line.offset, line.len);
        match &line.body {
            LineBody::Whole(bytes) => self.read_line(raw, bytes, step),
            LineBody::Shortened(short) => {
                self.read_line(RawRef { shortened: true, ..raw }, short, step)
            }
            LineBody::Cut { head, tail } => self.unreadable(raw, head, tail, step),
        }
    }

    fn read_line(&mut self, raw: RawRef, bytes: &[u8], step: Translation) -> Translation {
        let Ok(text) = std::str::from_utf8(bytes) else { return unparsed_line(raw, bytes, step) };
        if json::is_too_deep(text) {
            let short = json::shorten(bytes).filter(|_| !raw.shortened);
            if let Some(short) = short {
                return self.read_line(RawRef { shortened: true, ..raw }, &short, step);
            }
            let (head, tail) = edges(bytes);
            return self.unreadable(raw, head, tail, step);
        }
        let Some(kind) = json::text_in(text, "type") else {
            return unparsed_line(raw, bytes, step);
        };
        let subtype = || json::text_in(text, "subtype");
        let before = step.signals.len();
        let mut frame = Frame { raw, text, step };
        let understood = match &*kind {
            "stream_event" => self.stream_event(&mut frame),
            "assistant" => self.assistant(&mut frame),
            "user" => self.user(&mut frame),
            "result" => self.result(&mut frame),
            "system" => self.system(&mut frame, &subtype().unwrap_or_default()),
            "rate_limit_event" => self.rate_limit(&mut frame),
            "tool_progress" => self.tool_progress(&mut frame),
            "control_request" => self.control_request(&mut frame),
            "control_response" => self.control_response(&mut frame),
            "control_cancel_request" => self.control_cancelled(&mut frame),
            "command_lifecycle" => self.command_lifecycle(&mut frame),
            "keep_alive" => {
                frame.signal(Signal::Alive);
                Some(())
            }
            _ => None,
        };
        if understood.is_none() || frame.step.signals.len() == before {
            if !json::is_whole(text) {
                return unparsed_line(raw, bytes, frame.step);
            }
            let name = match subtype() {
                Some(subtype) => format!("{}/{}", &*kind, &*subtype),
                None => kind.to_string(),
            };
            frame.native(name);
        }
        frame.step
    }

    /// A long line that is no JSON. If its edges say that it ends the turn, the turn has ended, or it never would; but
    /// nobody knows how, so it is not told as done.
    fn unreadable(
        &mut self,
        raw: RawRef,
        head: &[u8],
        tail: &[u8],
        step: Translation,
    ) -> Translation {
        let text = format!("{} … {}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        let ends = self.turn_open && text.contains(r#""type":"result""#);
        let mut step = unparsed(raw, text, true, step);
        if ends {
            self.turn_open = false;
            let message = "the agent ended its turn with a message that cannot be read";
            let error = ErrorInfo::new(ErrorClass::Protocol, message);
            let ended = TurnEnded::synthesised(TurnOutcome::Failed, Some(error));
            let kind = EventKind::TurnEnded(Box::new(ended));
            step.signals.push(Signal::Event { kind, scope: EventScope::Main, raw: Some(raw) });
        }
        step
    }

    /// Carries out an order.
    pub(super) fn order(&mut self, order: BackendOrder) -> Translation {
        let mut step = Translation::default();
        match order {
            BackendOrder::Prompt { id, text } => {
                step.replies.extend(self.user_message(&id, &text, "later"));
            }
            // "next" reaches the agent at its next tool; "now" would throw away the tool that runs.
            BackendOrder::Steer { id, text } => {
                step.replies.extend(self.user_message(&id, &text, "next"));
            }
            BackendOrder::Answer { ask, answer } => step.replies.extend(self.answer(&ask, answer)),
            BackendOrder::Permission { request, verdict } => {
                step.replies.extend(self.permission_verdict(&request, &verdict));
            }
            BackendOrder::Interrupt => {
                step.replies.push(self.peer.request(
                    "interrupt",
                    json!({}),
                    ControlSubject::Interrupt,
                ));
            }
            BackendOrder::SetModel { model } => {
                let params = json!({ "model": model });
                step.replies.push(self.peer.request(
                    "set_model",
                    params,
                    ControlSubject::SetModel(model),
                ));
            }
            BackendOrder::SetMode { mode } => {
                let params = json!({ "mode": mode });
                let asked = ControlSubject::SetMode(mode);
                step.replies.push(self.peer.request("set_permission_mode", params, asked));
            }
            BackendOrder::Close => {}
        }
        step
    }

    fn user_message(&mut self, id: &PromptId, text: &str, priority: &str) -> Option<Bytes> {
        self.own_prompts.insert(id.as_str().to_owned());
        let line = peer::line(&json!({
            "type": "user",
            "message": { "role": "user", "content": text },
            "parent_tool_use_id": null,
            "session_id": "",
            "uuid": id,
            "priority": priority,
        }));
        if self.ready {
            Some(line)
        } else {
            self.held.push(line);
            None
        }
    }

    /// What is known before the agent has said anything.
    pub(super) fn opening(info: SessionInfo) -> Signal {
        Signal::event(EventKind::SessionInfo(Box::new(info)))
    }
}

fn unparsed_line(raw: RawRef, bytes: &[u8], step: Translation) -> Translation {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(NATIVE_KEPT)]).into_owned();
    unparsed(raw, text, bytes.len() > NATIVE_KEPT || raw.shortened, step)
}

/// The beginning and the end of a line, without what is between them.
fn edges(bytes: &[u8]) -> (&[u8], &[u8]) {
    let head = bytes.len().min(NATIVE_KEPT / 2);
    let tail = bytes.len().saturating_sub(NATIVE_KEPT / 2).max(head);
    (&bytes[..head], &bytes[tail..])
}

fn unparsed(raw: RawRef, text: String, truncated: bool, mut step: Translation) -> Translation {
    let kind =
        EventKind::Unparsed { stream: OutputStream::Stdout, text, bytes: raw.len, truncated };
    step.signals.push(Signal::Event { kind, scope: EventScope::Main, raw: Some(raw) });
    step
}

/// Whose frame it is.
fn scope(parent: Option<&str>, agent: Option<&str>, name: Option<&str>) -> EventScope {
    match agent.or(parent) {
        None => EventScope::Main,
        Some(id) => EventScope::Subagent {
            agent: id.to_owned(),
            parent_call: parent.map(CallId::from),
            name: name.map(str::to_owned),
        },
    }
}

#[cfg(test)]
mod tests;
