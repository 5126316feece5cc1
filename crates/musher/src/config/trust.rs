//! What a project file may do takes effect only after a person has agreed to it.
//!
//! The file lies in the repository, where an agent can change it. So everything in it that can run a command or widen
//! what an agent may do is compared with what a person last accepted, which is kept outside of the repository.

mod files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use musher_core::{AskDecision, Rule};
use musher_os::untrusted;
use musher_runtime::acp::{AcpPowers, AcpPreset, LaunchExtra};
use musher_runtime::{AskPolicy, KeySource};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file::write_private;
use super::resolve::hex;
use super::{AgentConfig, EnvSource, ProjectConfig, SandboxConfig, SandboxProfile};

pub use files::AcceptedFiles;

/// The file in the state directory that holds what was accepted.
const FILE: &str = "trusted.json";
/// It is never longer.
const MAX_TRUST_FILE_BYTES: u64 = 16 << 20;

/// Whether a person has agreed to what a project may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustState {
    Trusted,
    /// Nothing was ever accepted; [`Powers::lines`] tells what there is to accept.
    New,
    /// Something else was accepted.
    Changed {
        /// One line for each power that came (`+ …`) or went (`- …`).
        diff: Vec<String>,
    },
}

/// Why trust could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("{} cannot be read: {cause}", path.display())]
    Read { path: PathBuf, cause: std::io::Error },
    #[error(
        "{} does not hold what was trusted: {cause}; look at the project file and run `musher trust`",
        path.display()
    )]
    Garbled { path: PathBuf, cause: serde_json::Error },
    #[error("{} cannot be written: {cause}", path.display())]
    Write { path: PathBuf, cause: std::io::Error },
}

/// Everything in a project file that can run a command or widen what an agent may do, in one fixed form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Powers {
    agents: BTreeMap<String, AgentPowers>,
    /// What the project says of runtimes of its own: they are programs too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runtimes: Vec<Arc<AcpPreset>>,
    setup: Vec<String>,
    copy: Vec<PathBuf>,
    keep: Vec<PathBuf>,
    origins: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentPowers {
    runtime: String,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, Source>,
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
    permission_mode: Option<String>,
    asks: Unanswered,
    /// Where the agent's words are sent, and what is sent with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<KeyFrom>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, Source>,
    /// What it may reach of the machine. Without one, it may reach what its user may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxPowers>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SandboxPowers {
    profile: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    write: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    caches: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    nested: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_millis: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<String>,
}

impl SandboxPowers {
    fn of(sandbox: &SandboxConfig) -> Option<Self> {
        (sandbox.profile != SandboxProfile::Off).then(|| Self {
            profile: sandbox.profile.name().to_owned(),
            read: sorted(&sandbox.read),
            write: sorted(&sandbox.write),
            hosts: sorted(&sandbox.hosts),
            caches: sorted(
                &sandbox.caches.iter().map(|cache| cache.name.to_owned()).collect::<Vec<_>>(),
            ),
            nested: sandbox.nested,
            processes: sandbox.processes,
            memory: sandbox.memory,
            cpu_millis: sandbox.cpu_millis,
            image: sandbox.image.clone(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("sandbox {}", self.profile)];
        lines.extend(self.read.iter().map(|path| format!("sandbox: reads {path:?}")));
        lines.extend(self.write.iter().map(|path| format!("sandbox: writes {path:?}")));
        lines.extend(self.hosts.iter().map(|host| format!("sandbox: reaches {host:?}")));
        lines.extend(self.caches.iter().map(|cache| format!("sandbox: cache {cache}")));
        lines.extend(self.nested.then(|| "sandbox: namespaces of its own".to_owned()));
        lines.extend(self.image.iter().map(|image| format!("sandbox: container of {image:?}")));
        lines.extend(self.processes.map(|most| format!("sandbox: at most {most} processes")));
        lines.extend(self.memory.map(|most| format!("sandbox: at most {most} bytes of memory")));
        let cpu = self.cpu_millis.map(|most| f64::from(most) / 1000.0);
        lines.extend(cpu.map(|most| format!("sandbox: at most {most} processors")));
        lines
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeyFrom {
    Env(String),
    File(PathBuf),
    Command(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    Text(String),
    From(String),
}

/// What becomes of an ask that nobody answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unanswered {
    /// It waits, or is denied in the end.
    Denied,
    /// The time counts too: allowing after a second is allowing everything.
    Allowed { after_ms: Option<u64> },
}

/// Compares what the project may do with what was last accepted.
pub fn trusted(state_dir: &Path, project: &ProjectConfig) -> Result<TrustState, TrustError> {
    let path = state_dir.join(FILE);
    let powers = Powers::of(project);
    let bytes = match untrusted::read_if_there(&path, MAX_TRUST_FILE_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(TrustState::New),
        Err(unfit) => return Err(TrustError::Read { path, cause: unfit.into_io() }),
    };
    let accepted: Powers =
        serde_json::from_slice(&bytes).map_err(|cause| TrustError::Garbled { path, cause })?;
    match accepted == powers {
        true => Ok(TrustState::Trusted),
        false => Ok(TrustState::Changed { diff: diff(&accepted.lines(), &powers.lines()) }),
    }
}

/// Accepts what the project may do, as it was loaded: what the file says by now does not count.
pub fn grant(state_dir: &Path, project: &ProjectConfig) -> Result<(), TrustError> {
    let path = state_dir.join(FILE);
    // Every value here has a JSON form.
    let text = serde_json::to_vec_pretty(&Powers::of(project)).unwrap_or_default();
    write_private(&path, &text).map_err(|cause| TrustError::Write { path: path.clone(), cause })
}

impl Powers {
    pub fn of(project: &ProjectConfig) -> Self {
        let agents = project.agents.iter();
        Self {
            agents: agents.map(|agent| (agent.name.to_string(), AgentPowers::of(agent))).collect(),
            runtimes: sorted_by_name(&project.runtimes),
            setup: project.worktree.setup.clone(),
            copy: sorted(&project.worktree.copy),
            keep: sorted(&project.worktree.keep),
            origins: sorted(&project.server.origins),
        }
    }

    /// Sixty-four hex digits, the same for the same powers.
    pub fn hash(&self) -> String {
        // Every value here has a JSON form, so there is always something to hash.
        hex(&Sha256::digest(serde_json::to_vec(self).unwrap_or_default()))
    }

    /// One line for each power, for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, agent) in &self.agents {
            lines.extend(agent.lines().into_iter().map(|line| format!("agent {name}: {line}")));
        }
        for preset in &self.runtimes {
            let name = &preset.name;
            lines.extend(preset_lines(preset).iter().map(|line| format!("runtime {name}: {line}")));
        }
        for (number, command) in (1..).zip(&self.setup) {
            lines.push(format!("worktree: setup {number} {command:?}"));
        }
        lines.extend(self.copy.iter().map(|path| format!("worktree: copy {path:?}")));
        lines.extend(self.keep.iter().map(|path| format!("worktree: keep {path:?}")));
        lines.extend(self.origins.iter().map(|origin| format!("server: origin {origin}")));
        lines
    }
}

impl AgentPowers {
    fn of(agent: &AgentConfig) -> Self {
        let rules = |rules: &[Rule]| sorted(&rules.iter().map(Rule::to_string).collect::<Vec<_>>());
        let source = |(name, value): (&String, &EnvSource)| match value {
            EnvSource::Text(text) => (name.clone(), Source::Text(text.clone())),
            EnvSource::From(from) => (name.clone(), Source::From(from.clone())),
        };
        let model = &agent.model_choice;
        Self {
            runtime: agent.runtime.clone(),
            command: agent.command.clone(),
            args: agent.args.iter().map(|arg| arg.as_str().to_owned()).collect(),
            env: agent.env.iter().map(source).collect(),
            allow: rules(&agent.rules.allow),
            ask: rules(&agent.rules.ask),
            deny: rules(&agent.rules.deny),
            permission_mode: agent.permission_mode.clone(),
            asks: match agent.asks {
                AskPolicy::Deny | AskPolicy::Wait { default: AskDecision::Deny, .. } => {
                    Unanswered::Denied
                }
                AskPolicy::Wait { default: AskDecision::Allow, deadline } => Unanswered::Allowed {
                    after_ms: deadline
                        .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
                },
            },
            base_url: model.base_url.clone(),
            key: model.key.clone().map(|source| match source {
                KeySource::Env(name) => KeyFrom::Env(name),
                KeySource::File(path) => KeyFrom::File(path),
                KeySource::Command(command) => KeyFrom::Command(command),
            }),
            headers: model.headers.iter().map(source).collect(),
            sandbox: SandboxPowers::of(&agent.sandbox),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("runtime {}", self.runtime)];
        lines.extend(self.command.iter().map(|command| format!("command {command:?}")));
        for (number, arg) in (1..).zip(&self.args) {
            lines.push(format!("argument {number} {arg:?}"));
        }
        for (name, source) in &self.env {
            lines.push(match source {
                Source::Text(text) => format!("env {name} = {text:?}"),
                Source::From(from) => format!("env {name} from {from}"),
            });
        }
        for (word, rules) in [("allow", &self.allow), ("ask", &self.ask), ("deny", &self.deny)] {
            lines.extend(rules.iter().map(|rule| format!("{word} {}", plain(rule))));
        }
        lines.extend(self.permission_mode.iter().map(|mode| format!("permission mode {mode:?}")));
        match &self.asks {
            Unanswered::Denied => {}
            Unanswered::Allowed { after_ms: None } => lines.push("unanswered asks allowed".into()),
            Unanswered::Allowed { after_ms: Some(ms) } => {
                lines.push(format!("unanswered asks allowed after {} s", *ms as f64 / 1000.0));
            }
        }
        lines.extend(self.base_url.iter().map(|url| format!("model at {url:?}")));
        lines.extend(self.key.iter().map(|key| match key {
            KeyFrom::Env(name) => format!("key from {name}"),
            KeyFrom::File(path) => format!("key from the file {path:?}"),
            KeyFrom::Command(command) => format!("key from the command {command:?}"),
        }));
        for (name, source) in &self.headers {
            lines.push(match source {
                Source::Text(text) => format!("header {name:?} = {text:?}"),
                Source::From(from) => format!("header {name:?} from {from}"),
            });
        }
        lines.extend(self.sandbox.iter().flat_map(SandboxPowers::lines));
        lines
    }
}

fn sorted_by_name(presets: &[Arc<AcpPreset>]) -> Vec<Arc<AcpPreset>> {
    let mut presets = presets.to_vec();
    presets.sort_by(|one, other| one.name.cmp(&other.name));
    presets
}

/// One line for everything of a runtime that runs, or that decides what may run unasked.
fn preset_lines(preset: &AcpPreset) -> Vec<String> {
    let mut lines = vec![format!("program {:?}", preset.program)];
    let nothing = LaunchExtra::default();
    let leaves_out = preset.leaves_out.as_ref().unwrap_or(&nothing);
    let starts: [(&str, &[String], &BTreeMap<String, String>); 3] = [
        ("", &preset.args, &preset.env),
        ("in a trusted folder: ", &preset.trusted.args, &preset.trusted.env),
        ("with project files left out: ", &leaves_out.args, &leaves_out.env),
    ];
    for (when, args, env) in starts {
        for (number, arg) in (1..).zip(args) {
            lines.push(format!("{when}argument {number} {arg:?}"));
        }
        lines.extend(env.iter().map(|(name, value)| format!("{when}env {name} = {value:?}")));
    }
    lines.extend(preset.variables.iter().map(|name| format!("passes {name}")));
    lines.extend(preset.executes.iter().map(|pattern| format!("executes {pattern:?}")));
    lines.extend(preset.obeys.iter().map(|pattern| format!("obeys {pattern:?}")));
    if preset.leaves_out.is_some() {
        lines.push("can leave out the project files that it executes".to_owned());
    }
    lines.push(format!("usage {:?}", preset.usage).to_lowercase());
    let AcpPowers { resume, fork, approvals, questions, set_model, set_mode, effort, images, cost } =
        preset.powers;
    for (power, it_can) in [
        ("resume", resume),
        ("fork", fork),
        ("approvals", approvals),
        ("questions", questions),
        ("set_model", set_model),
        ("set_mode", set_mode),
        ("effort", effort),
        ("images", images),
        ("cost", cost),
    ] {
        lines.extend(it_can.then(|| format!("can {power}")));
    }
    lines.extend(preset.login_file.iter().map(|file| format!("login in {file:?}")));
    lines.extend(preset.install.iter().map(|command| format!("is installed by {command:?}")));
    lines.extend(preset.login.iter().map(|command| format!("is logged in by {command:?}")));
    lines
}

fn sorted<T: Clone + Ord>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort();
    list.dedup();
    list
}

/// A rule as it was written, unless a character in it could mislead the eye.
fn plain(rule: &str) -> String {
    match rule.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        true => rule.to_owned(),
        false => format!("{rule:?}"),
    }
}

/// What went and what came, each in the order of its side.
fn diff(before: &[String], after: &[String]) -> Vec<String> {
    let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("- {line}"));
    let come = after.iter().filter(|line| !before.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(come).collect()
}

#[cfg(test)]
mod tests;
