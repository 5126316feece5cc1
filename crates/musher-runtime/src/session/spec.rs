//! Everything a session is started with.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use musher_core::{
    AskDecision, ErrorClass, ErrorInfo, EventKind, Lineage, PromptId, SessionId, ToolRules, Usd,
};

use musher_sandbox::Sandbox;
use tokio::sync::{mpsc, watch};

use super::options::ModelOptions;
use super::profile::BackendProfile;
use crate::process::{self, Containment, Environment};
use crate::tools::ToolHost;
use crate::{Attachment, ProjectTrust};

/// One agent's task and its bounds.
#[derive(Debug, Clone)]
pub struct SessionSpec {
    pub prompt: String,
    /// Files that a person gave along with the prompt. A session that is resumed was given them before: it can read them, and
    /// is not sent them again.
    pub attachments: Vec<Attachment>,
    /// Prompts that wait from the start, each for its own turn after the first.
    pub pending: Vec<PendingPrompt>,
    /// The folder it works in.
    pub cwd: PathBuf,
    pub environment: Environment,
    pub model: Option<String>,
    pub system_prompt: Option<SystemPrompt>,
    pub rules: ToolRules,
    /// What is agreed to of the files in the folder that the agent's program would execute.
    pub project: ProjectTrust,
    /// Patterns of files that other programs would execute; an edit of them is denied as that of its own.
    pub protected: Vec<String>,
    /// The agent's own permission mode, in its own words.
    pub permission_mode: Option<String>,
    pub limits: RunLimits,
    pub asks: AskPolicy,
    /// After how long a notice says that an ask still waits. It changes nothing else.
    pub ask_reminder: Option<Duration>,
    pub mcp_servers: Vec<McpServer>,
    pub resume: Option<ResumeFrom>,
    /// The program to run instead of the one found on `PATH`; for the script runtime, the script.
    pub program: Option<PathBuf>,
    /// More arguments for the program, after those that the runtime gives it.
    pub args: Vec<String>,
    /// Commands that `sh` runs in the folder before the agent starts; if one fails, the agent does not.
    pub setup: Vec<String>,
    /// How long an idle session waits for another prompt before it ends.
    pub linger: Duration,
    pub containment: Containment,
    /// The sandbox of everything that is started for the agent; without it the agent has the rights of its user.
    pub sandbox: Option<Arc<Sandbox>>,
    /// What every process of the session carries, for a host that may have to find them later; by default a new one.
    pub mark: Option<String>,
    pub keeper: Option<Keeper>,
    /// How a model is reached and asked, for runtimes that speak to one themselves.
    pub model_options: ModelOptions,
    /// Where runtimes that keep their own sessions keep this one. Without it they cannot be resumed.
    pub session_dir: Option<PathBuf>,
    /// Tools of the host, offered beside their own by runtimes that carry out tools themselves.
    pub tools: Option<Arc<dyn ToolHost>>,
    /// What the host itself has to say in the record.
    pub reports: Option<Arc<dyn HostReports>>,
}

/// A host that counts something itself, such as what passes through its proxy. It is asked at the end of each turn, before the end of
/// the session, and whenever it wants to be.
pub trait HostReports: std::fmt::Debug + Send + Sync {
    /// What is to be told since the last time. It must not wait.
    fn take(&self) -> Vec<EventKind>;
}

/// A host that keeps a durable record of the session.
#[derive(Debug, Clone)]
pub struct Keeper {
    /// Gets what the agent prints, byte by byte, with secrets masked. When it is full, the agent is not read.
    pub raw: mpsc::Sender<Bytes>,
    /// The number of the last event that will survive anything. What a person said reaches the agent only when its
    /// event is covered.
    pub durable: watch::Receiver<u64>,
}

impl SessionSpec {
    /// A session with no rules, no limit but the usual one on silence, and asks that wait for an answer.
    pub fn new(
        prompt: impl Into<String>,
        cwd: impl Into<PathBuf>,
        environment: Environment,
    ) -> Self {
        Self {
            prompt: prompt.into(),
            attachments: Vec::new(),
            pending: Vec::new(),
            cwd: cwd.into(),
            environment,
            model: None,
            system_prompt: None,
            rules: ToolRules::default(),
            project: ProjectTrust::default(),
            protected: Vec::new(),
            permission_mode: None,
            limits: RunLimits::default(),
            asks: AskPolicy::default(),
            ask_reminder: None,
            mcp_servers: Vec::new(),
            resume: None,
            program: None,
            args: Vec::new(),
            setup: Vec::new(),
            linger: Duration::ZERO,
            containment: Containment::default(),
            sandbox: None,
            mark: None,
            keeper: None,
            model_options: ModelOptions::default(),
            session_dir: None,
            tools: None,
            reports: None,
        }
    }
}

impl SessionSpec {
    /// What must never be shown: the secrets among the variables, and all that was given for the tool servers.
    pub(crate) fn secrets(&self, env: &[(OsString, OsString)]) -> Vec<(String, String)> {
        let mut found = process::secrets(env);
        found.extend(self.environment.given_secrets());
        found.extend(self.model_options.secrets(&self.environment));
        for server in &self.mcp_servers {
            let mut given: Vec<(&str, &str)> = Vec::new();
            match &server.transport {
                McpTransport::Stdio { args, env, .. } => {
                    given.extend(env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
                    given.extend(args.iter().filter_map(|arg| arg.split_once('=')));
                }
                McpTransport::Http { url, headers } => {
                    given.extend(
                        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())),
                    );
                    given.extend(process::password_in(url).map(|password| ("password", password)));
                }
            }
            for (name, value) in given {
                // A header is a scheme and a secret, and either the whole or the secret may turn up.
                let secret = value.split_whitespace().next_back().unwrap_or_default();
                let name = format!("{name} of {}", server.name);
                let both = [value, secret].map(|text| (name.clone(), text.to_owned()));
                found
                    .extend(both.into_iter().filter(|(_, text)| text.len() >= process::SECRET_LEN));
            }
        }
        found
    }
}

/// A prompt that was taken by an earlier session and did not begin there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPrompt {
    /// The name that it always had, by which it is known in every record.
    pub id: PromptId,
    pub text: String,
}

/// Instructions beside the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemPrompt {
    /// After the agent's own.
    Append(String),
    /// Instead of the agent's own.
    Replace(String),
}

/// How long an agent may be silent inside a turn when nobody has said otherwise. One that hangs would take its place, and
/// wait, for ever.
pub const USUAL_INACTIVITY: Duration = Duration::from_secs(15 * 60);

/// What ends a run that does not end by itself. By default only silence does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Model calls in the whole run.
    pub max_turns: Option<u32>,
    pub budget: Option<Usd>,
    /// Silence inside a turn while nothing waits for a person. A rate limit's reset extends it. `None` is no limit.
    pub inactivity: Option<Duration>,
    pub wall_clock: Option<Duration>,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { max_turns: None, budget: None, inactivity: Some(USUAL_INACTIVITY), wall_clock: None }
    }
}

/// What happens to an ask that no rule settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskPolicy {
    /// It waits, at most this long, and then the default answers.
    Wait { deadline: Option<Duration>, default: AskDecision },
    /// Nobody is there: it is denied at once.
    Deny,
}

impl Default for AskPolicy {
    fn default() -> Self {
        Self::Wait { deadline: None, default: AskDecision::Deny }
    }
}

/// An earlier session to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeFrom {
    pub session: SessionId,
    /// Leave the earlier session as it is and go on in a copy.
    pub fork: bool,
    /// The whole prompt for a fresh session, used if and only if the earlier one is unknown to the runtime.
    pub fresh_prompt: Option<String>,
    /// What the session had spent when it was left.
    pub lineage: Lineage,
    /// Go on from the end of this turn, counted from the session's beginning, and leave out what came after it. Only
    /// runtimes that keep their own sessions can.
    pub turn: Option<u32>,
    /// Where the earlier session was kept, if not where this one is.
    pub session_dir: Option<PathBuf>,
    /// Files that go with the prompt by which it is resumed; those of the session's beginning are in the spec.
    pub attachments: Vec<Attachment>,
}

impl ResumeFrom {
    pub fn of(session: SessionId) -> Self {
        Self {
            session,
            fork: false,
            fresh_prompt: None,
            lineage: Lineage::default(),
            turn: None,
            session_dir: None,
            attachments: Vec::new(),
        }
    }
}

/// A tool server for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
    /// Whether it is the host's own: its tools need no leave, though a rule may still forbid them.
    pub own: bool,
}

/// How a tool server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    Http { url: String, headers: BTreeMap<String, String> },
}

/// Refuses a prompt that no agent could be given.
pub(super) fn check_prompt(prompt: &str) -> Result<(), String> {
    if prompt.trim().is_empty() {
        return Err("the prompt is empty; say what the agent should do".into());
    }
    if let Some(at) = prompt.bytes().position(|byte| byte == 0) {
        return Err(format!("the prompt has a NUL byte at position {at}; remove it"));
    }
    Ok(())
}

/// Refuses a session that could not run as asked.
pub(super) fn check(spec: &SessionSpec, profile: &BackendProfile) -> Result<(), ErrorInfo> {
    let refuse = |message: String| Err(ErrorInfo::new(ErrorClass::Config, message));
    let waiting = spec.pending.iter().map(|prompt| prompt.text.as_str());
    for prompt in std::iter::once(spec.prompt.as_str()).chain(waiting) {
        if let Err(why) = check_prompt(prompt) {
            return refuse(why);
        }
    }
    if let Some(mark) = spec.mark.as_deref().filter(|mark| !process::is_mark(mark)) {
        return refuse(format!("`{}` cannot mark a process", mark.escape_debug()));
    }
    if spec.limits.max_turns == Some(0) {
        return refuse("a limit of 0 turns allows no work; give 1 or more".into());
    }
    if let Some(resume) = &spec.resume {
        let id = resume.session.as_str();
        if id.is_empty() || id.starts_with('-') || id.chars().any(char::is_control) {
            return refuse(format!("`{}` is not a session id", id.escape_debug()));
        }
        if resume.turn.is_some() && !profile.capabilities.turns {
            let message = format!("{} cannot continue from an earlier turn", profile.name);
            let error = ErrorInfo::new(ErrorClass::Config, message);
            return Err(error.with_hint("leave the turn out to continue from the end"));
        }
        if let Some(Err(why)) = resume.fresh_prompt.as_deref().map(check_prompt) {
            return refuse(why);
        }
    }
    Ok(())
}
