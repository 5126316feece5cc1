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
    CallId, ErrorClass, ErrorInfo, EventKind, EventScope, ItemId, PromptId, RawRef, Recent,
    SessionInfo,
};
use serde_json::{Value as Json, json};

use super::control::{Control, ControlSubject, PermissionHook};
use crate::PromptImage;
use crate::conversation::asks::AgentAsks;
use crate::conversation::{
    AgentFailure, AgentFrame, ImageForm, LineText, Translate, Translation, line_text,
};
use crate::json;
use crate::peer::{self, Id, Peer};
use crate::process::{OutputLine, ProcessOutcome};
use crate::session::{BackendOrder, Signal};

/// Messages that can still be retracted.
const RETRACTABLE: usize = 512;
/// Messages that can be under way at the same time: the agent's own and those of its sub-agents.
const UNDER_WAY: usize = 256;

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
    streaming: stream::StreamingMessages,
    /// The content that a frame brought, for retraction.
    items: Recent<Vec<ItemId>, RETRACTABLE>,
    /// Plans that were proposed, by call: the approval does not repeat them.
    plans: HashMap<CallId, String>,
    asks: AgentAsks<control::KeptAsk>,
    permissions: HashMap<String, Id>,
    tasks: HashSet<String>,
    trouble: reason::TurnTrouble,
    calls: calls::UnbilledCalls,
    pub(super) failure: Option<AgentFailure>,
}

impl Translator {
    /// The first thing to say.
    pub(super) fn hello(&mut self, initialize: Json, hook: PermissionHook) -> Bytes {
        let hook = initialize.get("hooks").map(|_| hook);
        self.peer.request("initialize", initialize, ControlSubject::Initialize { hook })
    }

    /// A long line that is no JSON. Its edges may say that it ends the turn.
    fn unreadable(&mut self, raw: RawRef, text: String, step: Translation) -> Translation {
        if !self.turn_open || !text.contains(r#""type":"result""#) {
            return step.unparsed(raw, text, true);
        }
        self.turn_open = false;
        step.unreadable_end(raw, text)
    }

    fn user_message(&mut self, id: &PromptId, content: &Json, priority: &str) -> Option<Bytes> {
        self.own_prompts.insert(id.as_str().to_owned());
        let line = peer::line(&json!({
            "type": "user",
            "message": { "role": "user", "content": content },
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

impl Translate for Translator {
    fn read(&mut self, line: &OutputLine, step: Translation) -> Translation {
        let (raw, text) = match line_text(line) {
            LineText::Text(raw, text) => (raw, text),
            LineText::NoText(raw, bytes) => return step.unparsed_bytes(raw, bytes),
            LineText::Edges(raw, text) => return self.unreadable(raw, text, step),
        };
        let Some(kind) = json::text_in(&text, "type") else {
            return step.unparsed_bytes(raw, text.as_bytes());
        };
        let subtype = || json::text_in(&text, "subtype");
        let mut frame = AgentFrame::new(raw, &text, step);
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
        frame.finish(understood, || match subtype() {
            Some(subtype) => format!("{}/{}", &*kind, &*subtype),
            None => kind.to_string(),
        })
    }

    fn order(&mut self, order: BackendOrder) -> Translation {
        let mut step = Translation::default();
        match order {
            BackendOrder::Prompt { id, text, images } => {
                step.replies.extend(self.user_message(&id, &content(text, &images), "later"));
            }
            // "next" reaches the agent at its next tool; "now" would throw away the tool that runs.
            BackendOrder::Steer { id, text } => {
                step.replies.extend(self.user_message(&id, &text.into(), "next"));
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

    fn images(&self) -> ImageForm {
        ImageForm::Bytes
    }

    fn is_ready(&self) -> bool {
        self.ready || self.spoke || self.failure.is_some()
    }

    fn failure(&self) -> Option<&AgentFailure> {
        self.failure.as_ref()
    }

    /// An option that the program does not take is the person's to correct.
    fn exit_error(&self, exit: &ProcessOutcome) -> Option<ErrorInfo> {
        let words = exit.stderr_tail.lines().next()?.strip_prefix("error: option ")?;
        let at_once = !self.spoke && exit.code == Some(1);
        at_once.then(|| {
            ErrorInfo::new(ErrorClass::Config, format!("the agent refused its option {words}"))
        })
    }
}

/// What a message holds: its images first, as the vendor advises, and its text.
fn content(text: String, images: &[PromptImage]) -> Json {
    if images.is_empty() {
        return text.into();
    }
    let image = |(media_type, data): (&str, &str)| {
        let source = json!({ "type": "base64", "media_type": media_type, "data": data });
        json!({ "type": "image", "source": source })
    };
    let mut blocks: Vec<Json> = images.iter().filter_map(PromptImage::content).map(image).collect();
    blocks.push(json!({ "type": "text", "text": text }));
    blocks.into()
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
