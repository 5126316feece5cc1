//! A session: one agent at work, seen from outside.
//!
//! The driver behind it is the same for every runtime. It numbers the events, applies the tool rules, keeps limits
//! and deadlines, holds prompts until a turn has ended, closes every ask, and says the end exactly once.

mod asks;
mod driver;
mod ending;
mod files;
mod limits;
mod options;
mod outbound;
mod output_batch;
mod port;
mod profile;
mod redact;
mod setup;
mod spec;
mod turns;

use musher_core::{
    Answer, Ask, AskId, ClosedBy, CommandId, Delta, Event, PlanEntry, PromptId, Who,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use driver::start;
pub use ending::LADDER;
pub use options::{KeySource, ModelOptions};
use output_batch::OutputBatch;
pub use port::{
    Attempt, BackendEnd, BackendOrder, BeforeStart, FrameBatch, PermissionRequest,
    PermissionVerdict, Port, ProjectFilesMode, Signal,
};
pub use profile::{Backend, BackendProfile};
pub use redact::Secrets;
pub use spec::{
    AskPolicy, HostReports, Keeper, McpServer, McpTransport, PendingPrompt, ResumeFrom, RunLimits,
    SessionSpec, SystemPrompt, USUAL_INACTIVITY,
};

/// What a session says.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionOutput {
    /// Numbered, and worth keeping.
    Event(Event),
    /// Text in flight; the event that follows holds all of it.
    Delta(Delta),
}

/// A wish about a running session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionCommand {
    /// Work on this when the turn has ended.
    Prompt {
        id: PromptId,
        text: String,
    },
    /// Forget a prompt that waits for the end of the turn.
    TakeBack {
        id: PromptId,
    },
    /// Say this into the running turn.
    Steer {
        id: PromptId,
        text: String,
    },
    Answer {
        ask: AskId,
        answer: Answer,
        /// What the host calls the command; the event that closes the ask names it.
        command: Option<CommandId>,
        /// Who answers, as far as the host knows.
        who: Option<Who>,
    },
    /// End the turn, keep the session.
    Interrupt,
    SetModel {
        model: String,
    },
    SetMode {
        mode: String,
    },
    /// Put into the record what came through the host's own tools.
    Remark {
        remark: Remark,
    },
    /// Put into the record what the host has to report by now, see [`HostReports`].
    Report,
    /// Take back an ask that the host opened itself.
    Withdraw {
        ask: AskId,
    },
    /// End the session gently.
    Stop,
    /// End it by force.
    Kill,
}

/// What an agent tells through a tool of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Its whole plan, replacing the one before.
    Plan(Vec<PlanEntry>),
    /// How far it is.
    Progress(String),
    /// What it has done, in its own words.
    Summary(String),
}

/// An ask that the host opened itself.
#[derive(Debug)]
pub struct HostAsk {
    pub ask: AskId,
    /// The answer, once it is durable. It fails when the ask was closed without one.
    pub answer: oneshot::Receiver<HostAnswer>,
}

/// The answer to an ask of the host's own, as it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct HostAnswer {
    pub answer: Answer,
    /// Who or what gave it.
    pub by: ClosedBy,
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the session has ended")]
    Ended,
    #[error("it is no longer queued: the agent has it, or it was withdrawn before")]
    NotWaiting,
    #[error("this runtime cannot {0}")]
    Unsupported(&'static str),
    #[error("there is no ask `{0}`")]
    NoSuchAsk(AskId),
    #[error("ask `{ask}` was already closed by {by:?}")]
    AskClosed { ask: AskId, by: ClosedBy },
    #[error("ask `{ask}` cannot take this answer: {why}")]
    WrongAnswer { ask: AskId, why: &'static str },
    #[error("the rule `{0}` forbids that")]
    Forbidden(String),
    #[error("no turn is running")]
    NoTurn,
    #[error("{0}")]
    BadPrompt(String),
    #[error("the agent does not take in what it was sent; stop it, or try again later")]
    Busy,
}

/// What a handle sends to the driver, with the way back.
#[derive(Debug)]
enum Request {
    Command(SessionCommand, oneshot::Sender<Result<u64, CommandError>>),
    Ask(Ask, oneshot::Sender<Result<HostAsk, CommandError>>),
}

/// One agent at work. Dropping it kills the agent and everything it started.
#[derive(Debug)]
pub struct Session {
    outputs: mpsc::Receiver<OutputBatch>,
    /// What came together with the last output that was taken.
    rest: OutputBatch,
    handle: SessionHandle,
    _kill: DropGuard,
}

impl Session {
    fn new(
        outputs: mpsc::Receiver<OutputBatch>,
        requests: mpsc::Sender<Request>,
        kill: CancellationToken,
    ) -> Self {
        let (rest, handle) = (OutputBatch::default(), SessionHandle { requests });
        Self { outputs, rest, handle, _kill: kill.drop_guard() }
    }

    /// The next thing said. The last one is `SessionEnded`; after it comes `None`.
    ///
    /// A session whose outputs are not read makes its agent wait; nothing is dropped.
    pub async fn next(&mut self) -> Option<SessionOutput> {
        loop {
            if let Some(output) = self.rest.outputs.pop_front() {
                return Some(output);
            }
            self.rest.weight = None;
            self.rest = self.outputs.recv().await?;
        }
    }

    /// A handle to give to whoever may command the session.
    pub fn handle(&self) -> SessionHandle {
        self.handle.clone()
    }
}

/// Commands a session from anywhere.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    requests: mpsc::Sender<Request>,
}

impl SessionHandle {
    /// Sends a command and waits until the driver has taken or refused it.
    pub async fn send(&self, command: SessionCommand) -> Result<(), CommandError> {
        self.deliver(command).await.map(|_| ())
    }

    /// The same, and gives the number of the last event at that moment: once that is durable, so is the command.
    pub async fn deliver(&self, command: SessionCommand) -> Result<u64, CommandError> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Command(command, reply);
        self.requests.send(request).await.map_err(|_| CommandError::Ended)?;
        answer.await.unwrap_or(Err(CommandError::Ended))
    }

    /// Asks in the agent's name, for a tool of the host. The ask has the same rules, deadline and default as the
    /// agent's own; whoever loses interest takes it back with [`Self::withdraw`].
    pub async fn ask(&self, ask: Ask) -> Result<HostAsk, CommandError> {
        let (reply, asked) = oneshot::channel();
        let request = Request::Ask(ask, reply);
        self.requests.send(request).await.map_err(|_| CommandError::Ended)?;
        asked.await.unwrap_or(Err(CommandError::Ended))
    }

    /// Takes back an ask of the host's own.
    pub async fn withdraw(&self, ask: AskId) -> Result<(), CommandError> {
        self.send(SessionCommand::Withdraw { ask }).await
    }

    /// Puts into the record what the agent told through a tool of the host.
    pub async fn remark(&self, remark: Remark) -> Result<(), CommandError> {
        self.send(SessionCommand::Remark { remark }).await
    }

    /// Puts into the record what [`HostReports`] has by now.
    pub async fn report(&self) -> Result<(), CommandError> {
        self.send(SessionCommand::Report).await
    }

    /// Queues a prompt for the next turn.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<PromptId, CommandError> {
        let id = mint_prompt();
        self.send(SessionCommand::Prompt { id: id.clone(), text: text.into() }).await.map(|()| id)
    }

    /// Says something into the running turn.
    pub async fn steer(&self, text: impl Into<String>) -> Result<PromptId, CommandError> {
        let id = mint_prompt();
        self.send(SessionCommand::Steer { id: id.clone(), text: text.into() }).await.map(|()| id)
    }

    /// Answers an ask. It fails if the ask was closed in the meantime, and says by whom.
    pub async fn answer(&self, ask: AskId, answer: Answer) -> Result<(), CommandError> {
        self.send(SessionCommand::Answer { ask, answer, command: None, who: None }).await
    }

    /// Ends the turn and keeps the session.
    pub async fn interrupt(&self) -> Result<(), CommandError> {
        self.send(SessionCommand::Interrupt).await
    }

    /// Ends the session gently. It has ended when `SessionEnded` was said.
    pub async fn stop(&self) -> Result<(), CommandError> {
        self.send(SessionCommand::Stop).await
    }

    /// Ends the session by force.
    pub async fn kill(&self) -> Result<(), CommandError> {
        self.send(SessionCommand::Kill).await
    }

    /// Changes the model from the next model call on.
    pub async fn set_model(&self, model: impl Into<String>) -> Result<(), CommandError> {
        self.send(SessionCommand::SetModel { model: model.into() }).await
    }

    /// Changes the agent's own permission mode.
    pub async fn set_mode(&self, mode: impl Into<String>) -> Result<(), CommandError> {
        self.send(SessionCommand::SetMode { mode: mode.into() }).await
    }
}

fn mint_prompt() -> PromptId {
    PromptId::new(uuid::Uuid::new_v4().to_string())
}
