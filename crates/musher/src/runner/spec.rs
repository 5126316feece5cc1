//! What a runner is told: everything about one run, in one file, so that it needs nobody else.

mod model;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use musher_core::{
    AgentName, AskDecision, Lineage, PromptId, RunId, SessionId, StoryId, ToolRules, Usd,
};
use musher_os::untrusted;
use musher_runtime::acp::AcpPreset;
use musher_runtime::{
    AskPolicy, Containment, Environment, Host, PendingPrompt, ProjectTrust, ResumeFrom, RunLimits,
    SessionSpec, Snapshot, Sweep, SystemPrompt,
};
use musher_sandbox::Sandbox;
use serde::{Deserialize, Serialize};

use super::hints::HOW_TO_AGREE;

pub use model::{KeyFrom, ModelSpec};

/// The version of the file that this build writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// No file of it is longer: prompts and texts in it have bounds of their own.
const MAX_SPEC_FILE_BYTES: u64 = 256 << 20;

/// One run, as its runner must know it. It holds no secret: those come from the runner's own environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    pub version: u32,
    pub run: RunId,
    /// The journal that the run is in. Runs of older builds do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
    /// What tells the run from every other, also from one of the same number. Runs of older builds have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    pub story: StoryId,
    /// What the story is called, and what it says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    pub agent: AgentName,
    /// What every process of the run carries.
    pub mark: String,
    /// The control group of those processes, where one can be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<PathBuf>,
    pub runtime: String,
    /// What the project says of the runtime, if it is none that Musher brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Arc<AcpPreset>>,
    pub prompt: String,
    /// Prompts that an earlier run took and did not begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<SpecPrompt>,
    pub cwd: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the model is reached and asked, for runtimes that speak to one themselves.
    #[serde(default, skip_serializing_if = "ModelSpec::is_empty")]
    pub model_options: ModelSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemWords>,
    #[serde(default)]
    pub rules: ToolRules,
    /// What is agreed to of the files in the worktree that the agent's program would execute.
    #[serde(default, skip_serializing_if = "FilesSpec::is_empty")]
    pub files: FilesSpec,
    /// Patterns of the files that some agent's program would execute: nobody edits them without being asked. Runs of older
    /// builds do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    #[serde(default)]
    pub bounds: RunBounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resuming>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, SpecEnvValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The sandbox of everything that is started for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
}

/// The files that the agent's program would execute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesSpec {
    /// As the project has them where the branch left it.
    #[serde(skip_serializing_if = "Snapshot::is_empty")]
    pub base: Snapshot,
    /// As a person has agreed to them, in each of these states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<Snapshot>,
}

impl FilesSpec {
    fn is_empty(&self) -> bool {
        self.base.is_empty() && self.trusted.is_empty()
    }
}

/// A prompt that waits from the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecPrompt {
    pub id: PromptId,
    pub text: String,
    /// Its sender has not heard yet that the run has it. If the run's log does not tell of it either, it never had it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offered: bool,
}

/// Instructions beside the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemWords {
    Append(String),
    Replace(String),
}

/// A variable for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpecEnvValue {
    Value(String),
    /// The value of a variable that the runner itself was given; it is never written down.
    From(String),
}

/// What ends the run, and what becomes of an ask that nobody answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunBounds {
    pub max_turns: Option<u32>,
    pub budget: Option<Usd>,
    pub inactivity_ms: Option<u64>,
    pub wall_clock_ms: Option<u64>,
    pub ask_deadline_ms: Option<u64>,
    /// After how long the log says that an ask still waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_reminder_ms: Option<u64>,
    pub ask_default: AskDecision,
    pub linger_ms: u64,
}

/// An earlier session to go on with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resuming {
    pub session: SessionId,
    #[serde(default)]
    pub fork: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh_prompt: Option<String>,
    #[serde(flatten)]
    pub lineage: Lineage,
    /// Go on from the end of this turn, where the runtime can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Where the earlier run kept the session, if its runtime leaves that to us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<PathBuf>,
}

/// A spec that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("{path} cannot be read: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a run's spec: {source}")]
    Malformed { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path} has version {found}, and this build knows up to {VERSION}; use the newer musher"
    )]
    TooNew { path: PathBuf, found: u32 },
    #[error(
        "the agent's variable {name} is to come from {from}, which is not set; set it where the server is started"
    )]
    NoVariable { name: String, from: String },
    #[error(
        "the header {name} is to come from {from}, which is not set; set it where the server is started"
    )]
    NoHeader { name: String, from: String },
    #[error("the key is in {0}, and HOME is not set; name the whole path")]
    NoHome(PathBuf),
}

impl RunSpec {
    pub fn read(folder: &Path) -> Result<Self, SpecError> {
        let path = folder.join("spec.json");
        let unreadable = |source| SpecError::Unreadable { path: path.clone(), source };
        let text = untrusted::read(&path, MAX_SPEC_FILE_BYTES)
            .map_err(|unfit| unreadable(unfit.into_io()))?;
        let malformed = |source| SpecError::Malformed { path: path.clone(), source };
        // The version is looked at first: a newer file may well have another shape.
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Version { version } = serde_json::from_slice(&text).map_err(malformed)?;
        if version > VERSION {
            return Err(SpecError::TooNew { path, found: version });
        }
        serde_json::from_slice(&text).map_err(malformed)
    }

    /// The session that this run is, for a process that hosts it alone.
    pub fn session(&self, mut environment: Environment) -> Result<SessionSpec, SpecError> {
        for (name, value) in &self.env {
            environment = match value {
                SpecEnvValue::Value(value) => environment.set(name, value),
                SpecEnvValue::From(from) => {
                    let given = environment.get(from).map(ToOwned::to_owned);
                    let missing =
                        || SpecError::NoVariable { name: name.clone(), from: from.clone() };
                    environment.set_secret(name, given.ok_or_else(missing)?)
                }
            };
        }
        let model_options = self.model_options.options(&environment)?;
        let millis = |ms: Option<u64>| ms.map(Duration::from_millis);
        let mut spec = SessionSpec::new(self.prompt.clone(), self.cwd.clone(), environment);
        let waiting = |SpecPrompt { id, text, .. }: SpecPrompt| PendingPrompt { id, text };
        spec.pending = self.pending.iter().cloned().map(waiting).collect();
        spec.model.clone_from(&self.model);
        spec.model_options = model_options;
        spec.system_prompt = self.system_prompt.clone().map(|words| match words {
            SystemWords::Append(text) => SystemPrompt::Append(text),
            SystemWords::Replace(text) => SystemPrompt::Replace(text),
        });
        spec.rules = self.rules.clone();
        let FilesSpec { base, trusted } = self.files.clone();
        spec.project = ProjectTrust { base, trusted, how_to_agree: Some(HOW_TO_AGREE.into()) };
        spec.permission_mode.clone_from(&self.permission_mode);
        spec.limits = RunLimits {
            max_turns: self.bounds.max_turns,
            budget: self.bounds.budget,
            inactivity: millis(self.bounds.inactivity_ms),
            wall_clock: millis(self.bounds.wall_clock_ms),
        };
        spec.asks = AskPolicy::Wait {
            deadline: millis(self.bounds.ask_deadline_ms),
            default: self.bounds.ask_default,
        };
        spec.ask_reminder = millis(self.bounds.ask_reminder_ms);
        spec.resume = self.resume.clone().map(|resuming| ResumeFrom {
            fork: resuming.fork,
            fresh_prompt: resuming.fresh_prompt,
            lineage: resuming.lineage,
            turn: resuming.turn,
            session_dir: resuming.session_dir,
            ..ResumeFrom::of(resuming.session)
        });
        spec.program.clone_from(&self.program);
        spec.args.clone_from(&self.args);
        spec.setup.clone_from(&self.setup);
        spec.linger = Duration::from_millis(self.bounds.linger_ms);
        spec.mark = Some(self.mark.clone());
        spec.sandbox = self.sandbox.clone().map(Arc::new);
        spec.containment = Containment { host: Host::Dedicated, sweep: Sweep::Tree };
        Ok(spec)
    }
}
