//! The event: one numbered entry of a run's log, in the past tense, never changed.
//!
//! An event *is* its wire format. It is written as one JSON object that starts `{"seq":N,"at":T,"type":"…"`, so a
//! reader can filter without parsing. Variants and fields are only ever added.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{
    Activity, Answer, Ask, AskId, CallId, ClosedBy, CommandId, ErrorInfo, GateEnded, ItemBody,
    ItemId, Level, ModelChange, NetworkReport, Origin, OutputStream, PlanEntry, PromptId,
    RateLimit, Rule, SentAttachment, SessionEnded, SessionInfo, TaskUpdate, ToolUpdate, Trigger,
    TurnEnded, UsageReport, Who,
};

/// One entry of a run's log. Only `seq` orders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// 1, 2, 3 … without gaps.
    pub seq: u64,
    /// When we heard of it, Unix milliseconds; a label, not an order.
    pub at: i64,
    #[serde(flatten)]
    pub kind: EventKind,
    /// The turn it belongs to, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    #[serde(default, skip_serializing_if = "EventScope::is_main")]
    pub scope: EventScope,
    /// The vendor's frame it was made from; absent when we said it ourselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawRef>,
}

/// Where a vendor frame stands in the agent's output, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawRef {
    pub offset: u64,
    pub len: u64,
    /// The frame was too long to be told whole: long texts and lists of it were cut, and all of it stands there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

impl RawRef {
    /// The place of a frame that is told whole.
    pub fn new(offset: u64, len: u64) -> Self {
        Self { offset, len, shortened: false }
    }
}

/// Whether the agent itself or a helper of its own did something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventScope {
    #[default]
    Main,
    Subagent {
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_call: Option<CallId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl EventScope {
    pub fn is_main(&self) -> bool {
        match self {
            Self::Main => true,
            Self::Subagent { .. } => false,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// Upsert of what is known about the session.
    SessionInfo(Box<SessionInfo>),
    SessionState {
        state: Activity,
    },
    ModelChanged {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        to: String,
        why: ModelChange,
    },
    TurnStarted {
        trigger: Trigger,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prompts: Vec<PromptId>,
    },
    TurnEnded(Box<TurnEnded>),
    UserMessage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptId>,
        text: String,
        origin: Origin,
        /// The files that went with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<SentAttachment>,
    },
    /// A prompt that waited was taken back before the agent was told of it.
    PromptWithdrawn {
        prompt: PromptId,
    },
    /// A whole text, thought or other content. It needs none of the deltas before it.
    ItemDone {
        item: ItemId,
        body: ItemBody,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aborted: bool,
    },
    /// Content that was shown must be taken back.
    ItemsRetracted {
        items: Vec<ItemId>,
        why: String,
    },
    /// Upsert by call.
    Tool(Box<ToolUpdate>),
    AskOpened {
        ask: AskId,
        body: Ask,
        /// Unix milliseconds after which the default answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<i64>,
        /// The rule that "always" would grant; absent when there is none that is safe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Rule>,
        /// Nobody need look: a rule or the lack of a person closes it in the same breath.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        settled: bool,
    },
    AskClosed {
        ask: AskId,
        by: ClosedBy,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
        /// The command that brought the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        /// Who gave the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<Who>,
    },
    /// The whole plan, replacing the one before.
    Plan {
        entries: Vec<PlanEntry>,
    },
    Usage(UsageReport),
    RateLimit(Box<RateLimit>),
    Retry {
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
        cause: ErrorInfo,
    },
    Compaction {
        done: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auto: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    Task(TaskUpdate),
    Notice {
        level: Level,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        text: String,
    },
    /// What passed through the proxy of the agent's sandbox, by host. Upsert by host.
    Network(Box<NetworkReport>),
    /// A gate was judged; what it printed is in the event before.
    GateEnded(Box<GateEnded>),
    /// Something failed; whether the turn did is told by its end.
    Error {
        error: ErrorInfo,
    },
    /// A frame that has no words here; nothing is lost.
    Native {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<Json>,
    },
    /// A line that could not be read as a frame.
    Unparsed {
        stream: OutputStream,
        text: String,
        bytes: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// The end. Nothing follows it.
    SessionEnded(Box<SessionEnded>),
}

impl EventKind {
    /// The failure that it tells of, if it does.
    #[expect(clippy::wildcard_enum_match_arm, reason = "five kinds tell of a failure")]
    pub fn failure_mut(&mut self) -> Option<&mut ErrorInfo> {
        match self {
            Self::Error { error } | Self::Retry { cause: error, .. } => Some(error),
            Self::TurnEnded(ended) => ended.error.as_mut(),
            Self::SessionEnded(ended) => ended.error.as_mut(),
            Self::RateLimit(limit) => limit.error.as_mut(),
            _ => None,
        }
    }
}

/// Text in flight: disposable, not numbered, never logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    pub item: ItemId,
    pub channel: Channel,
    pub text: String,
    #[serde(default, skip_serializing_if = "EventScope::is_main")]
    pub scope: EventScope,
}

/// What a delta is a piece of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Text,
    Reasoning,
    ToolInput,
    ToolOutput,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(kind: EventKind) -> Event {
        Event { seq: 7, at: 1_000, kind, turn: Some(1), scope: EventScope::Main, raw: None }
    }

    #[test]
    fn a_line_starts_with_seq_at_and_type_so_that_readers_can_filter_without_parsing() {
        let line = serde_json::to_string(&sample(EventKind::Notice {
            level: Level::Info,
            code: None,
            text: "hello".into(),
        }))
        .unwrap();
        assert!(line.starts_with(r#"{"seq":7,"at":1000,"type":"notice","#), "{line}");
        let back: Event = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), line);
    }

    #[test]
    fn a_helper_keeps_its_scope_through_the_wire() {
        let mut event = sample(EventKind::ItemDone {
            item: "i".into(),
            body: ItemBody::Text { text: "hi".into() },
            aborted: false,
        });
        event.scope =
            EventScope::Subagent { agent: "a1".into(), parent_call: Some("c1".into()), name: None };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}
