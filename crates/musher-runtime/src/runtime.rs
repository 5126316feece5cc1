//! The trait that every backend stands behind.

use std::path::Path;

use musher_core::SessionId;

use crate::{ProjectFile, Session, SessionSpec};

/// A kind of backend that can play an agent. Anybody may write one: see [`backend`](crate::backend).
///
/// ```no_run
/// use musher_runtime::{Environment, Runtime, SessionOutput, SessionSpec, claude_code::ClaudeCode};
///
/// # async fn example() {
/// let runtime = ClaudeCode::default();
/// let spec = SessionSpec::new("Say hello.", ".", Environment::of_this_process());
/// let mut session = runtime.start(spec);
/// while let Some(output) = session.next().await {
///     match output {
///         SessionOutput::Event(event) => println!("{} {:?}", event.seq, event.kind),
///         SessionOutput::Delta(delta) => print!("{}", delta.text),
///     }
/// }
/// # }
/// ```
pub trait Runtime: Send + Sync {
    /// Its name, as people write it.
    fn name(&self) -> &str;

    /// What it can do. What it cannot do is refused by the session, not by each runtime.
    fn capabilities(&self) -> Capabilities;

    /// What it takes from the folder that it works in: what it would run, and what it would obey.
    fn project_files(&self) -> &[ProjectFile];

    /// The hosts of the vendor that its program cannot do without, as rules of a sandbox. One that only measures is none of them.
    fn hosts(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether what it does is done by a model, so that work of which nobody told the usage has an unknown cost.
    fn asks_a_model(&self) -> bool {
        true
    }

    /// Whether it has left this session in a folder that a host gave it for that ([`SessionSpec::session_dir`]).
    fn has_session(&self, _folder: &Path, _session: &SessionId) -> bool {
        false
    }

    /// Starts a session and returns at once. What goes wrong, a missing program included, is told by the session's
    /// last event. Needs a tokio runtime.
    fn start(&self, spec: SessionSpec) -> Session;
}

/// How a person logs into a program, and by what it is known that one is. Nothing of it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramLogin {
    pub command: &'static str,
    /// The file of the login, seen from the home folder.
    pub file: Option<&'static str>,
    /// Variables of which one is enough.
    pub variables: &'static [&'static str],
}

/// The powers of a runtime, as data. A power that comes later is one that a runtime lacks until it says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    pub resume: bool,
    pub fork: bool,
    /// A session can be gone on with from the end of any of its turns.
    pub turns: bool,
    pub steer: bool,
    pub interrupt: bool,
    pub approvals: bool,
    pub questions: bool,
    pub set_model: bool,
    pub set_mode: bool,
    /// It takes a word for how hard its model is to think ([`crate::ModelOptions::effort`]).
    pub effort: bool,
    /// Its model sees images that go with a prompt ([`crate::SessionSpec::attachments`]).
    pub images: bool,
    pub partial_text: bool,
    pub usage: bool,
    pub cost: bool,
}

impl Capabilities {
    /// Every power there is; a runtime that lacks one says so by name.
    pub const ALL: Self = Self {
        resume: true,
        fork: true,
        turns: true,
        steer: true,
        interrupt: true,
        approvals: true,
        questions: true,
        set_model: true,
        set_mode: true,
        effort: true,
        images: true,
        partial_text: true,
        usage: true,
        cost: true,
    };
}
