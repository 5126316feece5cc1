//! What a host of tools is: it names its tools, and carries out one call at a time or many.

use std::borrow::Cow;
use std::fmt::Debug;
use std::pin::Pin;

use musher_core::{CallId, Edit, PlanEntry, Question, ToolKind, ToolOutput, ToolPhase};
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A reply that is on its way.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = ToolReply> + Send + 'a>>;

/// Offers tools and carries out calls.
pub trait ToolHost: Send + Sync + Debug {
    /// The tools, with the same names in the same order every time, because prompt caches depend on it.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Whether it has a tool of this name.
    fn offers(&self, name: &str) -> bool {
        self.tools().iter().any(|tool| tool.name == name)
    }

    /// What a call would change in files, so that it can be shown before it is allowed.
    fn edits(&self, _name: &str, _input: &Json) -> Vec<Edit> {
        Vec::new()
    }

    /// Carries out a call. Whatever is wrong with it, the reply tells the model; a host never panics and never hangs
    /// past `cancel`. A future that is dropped leaves nothing running.
    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a>;

    /// Ends whatever calls have left running, and gives the numbers of processes that could not be ended.
    fn close(&self) -> Pin<Box<dyn Future<Output = Vec<i32>> + Send + '_>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// One tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64 of them: what every vendor takes.
    pub name: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// A JSON Schema of an object, without references.
    pub input_schema: Json,
    pub kind: ToolKind,
    /// Calls of it may run beside one another and beside other calls that may.
    pub parallel: bool,
    /// The field of the input that the call is about, which tool rules look at.
    pub subject: Option<Subject>,
}

/// What a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject {
    pub field: &'static str,
    /// What is meant when the field is left out.
    pub default: Option<&'static str>,
}

impl Subject {
    pub const PATH: Self = Self { field: "path", default: None };
    /// A search that names no folder looks everywhere.
    pub const FOLDER: Self = Self { field: "path", default: Some(".") };
    pub const COMMAND: Self = Self { field: "command", default: None };
}

impl ToolSpec {
    /// What a call with this input is about.
    pub fn subject_of<'a>(&self, input: &'a Json) -> Option<&'a str> {
        let subject = self.subject?;
        input.get(subject.field).and_then(Json::as_str).or(subject.default)
    }

    /// The name of the field that [`ToolSpec::subject_of`] looks at.
    pub fn subject_field(&self) -> Option<&'static str> {
        self.subject.map(|subject| subject.field)
    }
}

/// One use of one tool.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub call: CallId,
    pub name: String,
    pub input: Json,
    pub progress: CallProgress,
}

impl ToolCall {
    /// A call whose progress nobody follows.
    pub fn new(call: impl Into<CallId>, name: impl Into<String>, input: Json) -> Self {
        Self { call: call.into(), name: name.into(), input, progress: CallProgress::default() }
    }
}

/// Where the output of a call goes while it runs. It is disposable: the reply holds what counts.
#[derive(Debug, Clone, Default)]
pub struct CallProgress(Option<mpsc::Sender<String>>);

impl CallProgress {
    /// Sends pieces of output here. A piece for which there is no room is dropped, so that a call never waits.
    pub fn to(pieces: mpsc::Sender<String>) -> Self {
        Self(Some(pieces))
    }

    /// Whether somebody follows.
    pub fn is_followed(&self) -> bool {
        self.0.as_ref().is_some_and(|pieces| !pieces.is_closed())
    }

    pub fn say(&self, text: impl Into<String>) {
        if let Some(pieces) = &self.0 {
            let _full_or_gone = pieces.try_send(text.into());
        }
    }
}

/// How a call came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    Done,
    /// It did not do what was asked; the text says why and what to do instead.
    Failed,
    /// It was cancelled on the way.
    Cancelled,
}

/// What a call gives back.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    pub kind: ReplyKind,
    /// For the model.
    pub text: String,
    /// For programs; changes to files carry their difference in `diff`.
    pub structured: Option<Json>,
    /// How a command exited.
    pub exit_code: Option<i32>,
    pub effect: SessionEffect,
}

/// What a call wants of the session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEffect {
    None,
    /// The whole plan, replacing the one before.
    Plan(Vec<PlanEntry>),
    /// These are to be put to the person; the reply of the call is then [`ToolReply::answered`].
    Question(Vec<Question>),
    /// A word for people about how far the work is.
    Progress {
        text: String,
    },
    /// The work is done; the turn can end.
    Finish {
        summary: String,
    },
}

impl ToolReply {
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            kind: ReplyKind::Done,
            text: text.into(),
            structured: None,
            exit_code: None,
            effect: SessionEffect::None,
        }
    }

    /// It did not work; `text` names the thing, the cause and the way out.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { kind: ReplyKind::Failed, ..Self::done(text) }
    }

    pub fn cancelled() -> Self {
        Self { kind: ReplyKind::Cancelled, ..Self::done("cancelled before it was done") }
    }

    #[must_use]
    pub fn with_structured(mut self, structured: Json) -> Self {
        self.structured = Some(structured);
        self
    }

    #[must_use]
    pub fn with_effect(mut self, effect: SessionEffect) -> Self {
        self.effect = effect;
        self
    }

    /// Whether the model must be told that the call did not work.
    pub fn is_failed(&self) -> bool {
        match self.kind {
            ReplyKind::Done => false,
            ReplyKind::Failed | ReplyKind::Cancelled => true,
        }
    }

    /// The last phase of the call.
    pub fn phase(&self) -> ToolPhase {
        match self.kind {
            ReplyKind::Done => ToolPhase::Completed,
            ReplyKind::Failed => ToolPhase::Failed,
            ReplyKind::Cancelled => ToolPhase::Cancelled,
        }
    }

    /// The reply as an event holds it.
    pub fn output(&self) -> ToolOutput {
        ToolOutput {
            text: self.text.clone(),
            structured: self.structured.clone(),
            exit_code: self.exit_code,
        }
    }
}
