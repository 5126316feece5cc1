//! What passes between the driver and a runtime's own side of a session.

use std::ffi::OsString;
use std::sync::Arc;

use musher_core::{
    Answer, Ask, AskId, Delta, ErrorInfo, EventKind, EventScope, PromptId, RawRef, SessionId,
    ToolKind,
};
use serde_json::Value as Json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::SessionSpec;
use crate::Snapshot;
use crate::process::{RunMark, Tap, Weight, Weights};

/// One try at a session: what a backend is started with.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) spec: Arc<SessionSpec>,
    pub(crate) env: Arc<[(OsString, OsString)]>,
    pub(crate) mark: RunMark,
    pub(crate) weights: Weights,
    pub(crate) tap: Option<Tap>,
    pub(crate) resume: Option<SessionId>,
    pub(crate) fork: bool,
    pub(crate) settings: ProjectFilesMode,
    pub(crate) port: Port,
}

/// What becomes of the files in the folder that the program would execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectFilesMode {
    /// A person has agreed to them as they are.
    Loaded,
    /// The program is started so that it does not look at them.
    LeftOut,
}

/// A backend's ends of the wires.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) orders: mpsc::Receiver<BackendOrder>,
    pub(crate) signals: mpsc::Sender<FrameBatch>,
    /// End step by step, now.
    pub(crate) end: CancellationToken,
    /// End by force, now.
    pub(crate) kill: CancellationToken,
}

/// What the driver wants a backend to do.
#[derive(Debug)]
pub(crate) enum BackendOrder {
    Prompt {
        id: PromptId,
        text: String,
    },
    Steer {
        id: PromptId,
        text: String,
    },
    Answer {
        ask: AskId,
        answer: Answer,
    },
    Permission {
        request: String,
        verdict: PermissionVerdict,
    },
    Interrupt,
    SetModel {
        model: String,
    },
    SetMode {
        mode: String,
    },
    /// No prompt will follow: finish what is under way and end.
    Close,
}

/// What frames meant that came together, with what they weigh.
#[derive(Debug)]
pub(crate) struct FrameBatch {
    pub(crate) signals: Vec<Signal>,
    /// After how many signals each frame but the last ends.
    pub(crate) ends: Vec<usize>,
    pub(crate) weight: Option<Weight>,
}

impl From<Vec<Signal>> for FrameBatch {
    fn from(signals: Vec<Signal>) -> Self {
        Self { signals, ends: Vec::new(), weight: None }
    }
}

/// What a backend tells the driver, as it happens.
#[derive(Debug)]
pub(crate) enum Signal {
    Event {
        kind: EventKind,
        scope: EventScope,
        raw: Option<RawRef>,
    },
    Delta(Delta),
    /// A model call has begun.
    ModelCall,
    /// The agent has begun to work on something that was said to it. A runtime that never says so begins with each turn
    /// all that it was sent.
    Begun {
        prompt: PromptId,
    },
    /// The agent will not work on something that was said to it.
    NotTaken {
        prompt: PromptId,
    },
    AskOpened {
        ask: AskId,
        body: Ask,
        scope: EventScope,
        raw: Option<RawRef>,
    },
    AskWithdrawn {
        ask: AskId,
    },
    /// The agent is about to use a tool and waits for a word.
    Permission(PermissionRequest),
    /// The agent is about to be started, with the files in its folder as they were just seen.
    Seen {
        files: Snapshot,
        settings: ProjectFilesMode,
        /// Those that are left out though they are there, with the reason.
        left_out: Option<String>,
    },
    /// Something outside of the agent waits for a person.
    AskFirst {
        body: Ask,
        reply: oneshot::Sender<Answer>,
    },
    /// Something was heard that nobody needs to know of; it is a sign of life.
    Alive,
    /// The agent has closed its output and lives on: it will not be heard again.
    OutputClosed,
    /// The backend came to know this, and nobody else may.
    Secret {
        name: String,
        value: String,
    },
}

/// One tool call that needs permission.
#[derive(Debug)]
pub(crate) struct PermissionRequest {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) kind: ToolKind,
    pub(crate) subject: Option<String>,
    pub(crate) input: Json,
    /// The input was too long to be told whole.
    pub(crate) shortened: bool,
}

/// What the rules say to a call that needs permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PermissionVerdict {
    Allow,
    Deny { reason: String },
    Ask,
    NoOpinion,
}

/// How a backend ended.
#[derive(Debug, Default)]
pub(crate) struct BackendEnd {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stderr_tail: Option<String>,
    pub(crate) survivors: Vec<i32>,
    pub(crate) error: Option<ErrorInfo>,
    /// The session to resume is not known to the runtime.
    pub(crate) unknown_session: bool,
}

impl BackendEnd {
    pub(crate) fn failed(error: ErrorInfo) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

impl Signal {
    pub(crate) fn event(kind: EventKind) -> Self {
        Self::Event { kind, scope: EventScope::Main, raw: None }
    }
}
