//! What passes between the driver and a runtime's own side of a session.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use musher_core::{
    Answer, Ask, AskId, Delta, ErrorInfo, EventKind, EventScope, PromptId, RawRef, SessionId,
    ToolKind,
};
use serde_json::Value as Json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{HostAnswer, SessionSpec};
use crate::attachments::CheckedAttachments;
use crate::process::{
    Confinement, Errors, Launch, Process, ProcessorShare, ProgramError, RunMark, StdinMode, Tap,
    Weight, Weights,
};
use crate::{PromptImage, Snapshot};

/// One try at a session: what a backend is started with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Attempt {
    pub spec: Arc<SessionSpec>,
    /// The variables that the agent may see, and no others.
    pub env: Arc<[(OsString, OsString)]>,
    pub(crate) mark: RunMark,
    pub(crate) weights: Weights,
    pub(crate) tap: Option<Tap>,
    /// The files that a person gave along.
    pub(super) attachments: Arc<CheckedAttachments>,
    /// The session to go on with; `fork` means in a copy of it.
    pub resume: Option<SessionId>,
    pub fork: bool,
    pub settings: ProjectFilesMode,
    pub port: Port,
}

impl Attempt {
    /// The attached files, which the agent may read though they are outside of its folder.
    pub fn attached_files(&self) -> Vec<PathBuf> {
        self.attachments.paths()
    }

    /// Whether the agent is given any of them as an image.
    pub fn has_images(&self) -> bool {
        self.attachments.has_images()
    }

    /// Starts a program as the agent: in the session's folder, with its variables and no others, marked, contained, and
    /// with a copy of its output for a host that keeps one.
    pub async fn start_program(
        &self,
        program: impl Into<PathBuf>,
        args: Vec<OsString>,
    ) -> Result<Process, ProgramError> {
        Process::start(self.launch(program.into(), args, self.env.to_vec())).await
    }

    /// A program as the agent, with these arguments and variables.
    pub(crate) fn launch(
        &self,
        program: PathBuf,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
    ) -> Launch {
        Launch {
            program,
            args,
            cwd: self.spec.cwd.clone(),
            env,
            mark: self.mark.clone(),
            containment: self.spec.containment,
            stdin: StdinMode::Piped,
            stderr: Errors::Tail,
            weights: self.weights.clone(),
            tap: self.tap.clone(),
            confinement: self.spec.sandbox.clone().map(Confinement::of),
            share: ProcessorShare::default(),
        }
    }

    /// Keeps a secret that the backend came to know out of every event and of the copy of the agent's output. Call it
    /// before the secret can be printed.
    pub async fn hide(&mut self, name: &str, value: &str) -> bool {
        self.tap = self.tap.take().map(|tap| tap.hiding(name, value));
        let (name, value) = (name.to_owned(), value.to_owned());
        self.tell(vec![Signal::Secret { name, value }]).await
    }

    /// Tells the driver what happened. `false` when the session is gone and nobody listens any more.
    pub async fn tell(&self, signals: impl Into<FrameBatch>) -> bool {
        self.port.signals.send(signals.into()).await.is_ok()
    }
}

/// What becomes of the files in the folder that the program would execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFilesMode {
    /// A person has agreed to them as they are.
    Loaded,
    /// The program is started so that it does not look at them.
    LeftOut,
}

/// A backend's ends of the wires.
#[derive(Debug)]
#[non_exhaustive]
pub struct Port {
    pub orders: mpsc::Receiver<BackendOrder>,
    pub signals: mpsc::Sender<FrameBatch>,
    /// End step by step, now.
    pub end: CancellationToken,
    /// End by force, now.
    pub kill: CancellationToken,
}

/// What the driver wants a backend to do. What a runtime cannot do, by its capabilities, it is not told to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackendOrder {
    Prompt {
        id: PromptId,
        /// With the names and paths of the files that go with it.
        text: String,
        /// Images that go with it, for a runtime that takes them.
        images: Vec<PromptImage>,
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
pub struct FrameBatch {
    pub signals: Vec<Signal>,
    /// After how many signals each frame but the last ends.
    pub ends: Vec<usize>,
    /// The room that the frames take, given back when the host has taken what they meant.
    pub weight: Option<Weight>,
}

impl From<Vec<Signal>> for FrameBatch {
    fn from(signals: Vec<Signal>) -> Self {
        Self { signals, ends: Vec::new(), weight: None }
    }
}

/// What a backend tells the driver, as it happens.
#[derive(Debug)]
#[non_exhaustive]
pub enum Signal {
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
    /// What the library itself says before a backend is started; nobody else can make one.
    BeforeStart(BeforeStart),
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

/// A step of the library's own before a backend is started.
#[derive(Debug)]
pub struct BeforeStart(pub(super) StartStep);

#[derive(Debug)]
pub(super) enum StartStep {
    /// The agent is about to be started, with the files in its folder as they were just seen.
    Seen {
        files: Snapshot,
        settings: ProjectFilesMode,
        /// Those that are left out though they are there, with the reason.
        left_out: Option<String>,
    },
    /// Something outside of the agent waits for a person.
    AskFirst { body: Ask, reply: oneshot::Sender<HostAnswer> },
}

impl From<StartStep> for Signal {
    fn from(step: StartStep) -> Self {
        Self::BeforeStart(BeforeStart(step))
    }
}

/// One tool call that needs permission.
#[derive(Debug)]
#[non_exhaustive]
pub struct PermissionRequest {
    pub id: String,
    pub tool: String,
    pub kind: ToolKind,
    pub subject: Option<String>,
    pub input: Json,
    /// The input was too long to be told whole.
    pub shortened: bool,
}

impl PermissionRequest {
    /// A call of this tool, under an id of the backend's own, by which the order with the verdict names it.
    pub fn new(
        id: impl Into<String>,
        tool: impl Into<String>,
        kind: ToolKind,
        input: Json,
    ) -> Self {
        Self { id: id.into(), tool: tool.into(), kind, subject: None, input, shortened: false }
    }
}

/// What the rules say to a call that needs permission.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionVerdict {
    Allow,
    Deny { reason: String },
    Ask,
    NoOpinion,
}

/// How a backend ended.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct BackendEnd {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub stderr_tail: Option<String>,
    pub survivors: Vec<i32>,
    pub error: Option<ErrorInfo>,
    /// The session to resume is not known to the runtime.
    pub unknown_session: bool,
}

impl BackendEnd {
    pub fn failed(error: ErrorInfo) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

impl Signal {
    pub fn event(kind: EventKind) -> Self {
        Self::Event { kind, scope: EventScope::Main, raw: None }
    }
}
