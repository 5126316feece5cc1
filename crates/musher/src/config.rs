//! What a project file says, read once from text to resolved values.

mod agent;
mod dead;
mod file;
pub mod init;
mod keys;
pub mod local;
mod login;
mod model;
mod nearest;
mod problem;
mod raw;
mod reader;
mod resolve;
mod runtime;
mod sandbox;
mod source;
mod template;
pub mod trust;
mod value;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use musher_runtime::acp::AcpPreset;

use crate::runtimes::KnownRuntime;

pub use agent::{AgentConfig, EnvSource, Rendered, SystemTemplate, TemplateContext, TemplateStory};
pub use dead::{DeadAt, dead_rules};
pub use login::AgentLogin;
pub use model::ModelChoice;
pub use nearest::nearest;
pub use problem::{ConfigErrors, ConfigProblem, TextSpan};
pub use sandbox::{SandboxCache, SandboxConfig, SandboxProfile};
pub use template::{DEFAULT_CONTINUE_PROMPT, DEFAULT_PROMPT, Template, TemplateError, fill_in};

/// Where the project file is, as seen from the repository.
pub const PROJECT_FILE: &str = ".musher/project.toml";

/// A project file that holds no mistake, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectConfig {
    /// The branch that stories start from; the repository's default branch if there is none.
    pub base_branch: Option<String>,
    /// Whether what a run leaves uncommitted is committed at its end.
    pub auto_commit: bool,
    /// At least one; the first is the default.
    pub agents: Vec<AgentConfig>,
    /// Agents that speak ACP and that the project itself brings.
    pub runtimes: Vec<Arc<AcpPreset>>,
    pub worktree: WorktreeConfig,
    /// The sandbox of agents that say nothing of their own.
    pub sandbox: SandboxConfig,
    pub limits: LimitsConfig,
    pub server: ListenConfig,
    /// Sixty-four hex digits that change with the file and with every prompt file it names.
    pub hash: String,
}

impl ProjectConfig {
    pub fn agent(&self, name: &str) -> Option<&AgentConfig> {
        self.agents.iter().find(|agent| agent.name.as_str() == name)
    }
}

/// How a worktree is made ready and what stays in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeConfig {
    /// Commands for `sh -c`, run in a fresh worktree, in order.
    pub setup: Vec<String>,
    /// Files that git does not know, copied from the repository into a fresh worktree.
    pub copy: Vec<PathBuf>,
    /// What stays when a slot is used again.
    pub keep: Vec<PathBuf>,
}

/// How many runs there may be at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsConfig {
    pub runs: u32,
    pub runs_per_agent: u32,
    pub runs_per_story: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { runs: 8, runs_per_agent: 4, runs_per_story: 2 }
    }
}

/// Where the server listens, and which web pages may speak to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenConfig {
    /// Always a loopback address.
    pub listen: SocketAddr,
    /// Written exactly as browsers send them.
    pub origins: Vec<String>,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 0)), origins: Vec::new() }
    }
}

/// The project file as it stands, whether or not it can be used.
#[derive(Debug)]
pub struct ConfigState {
    /// Absent if it cannot be read.
    pub text: Option<String>,
    pub project: Result<ProjectConfig, ConfigErrors>,
}

/// Looks at the project file of a repository; `runtimes` are those that an agent may name.
pub fn look(repo: &Path, runtimes: &[KnownRuntime<'_>]) -> ConfigState {
    match file::project(repo) {
        Ok(source) => {
            ConfigState { project: resolved(&source, repo, runtimes), text: Some(source.text) }
        }
        Err(errors) => ConfigState { text: None, project: Err(errors) },
    }
}

/// Reads the project file of a repository; `runtimes` are those that an agent may name.
pub fn load(repo: &Path, runtimes: &[KnownRuntime<'_>]) -> Result<ProjectConfig, ConfigErrors> {
    resolved(&file::project(repo)?, repo, runtimes)
}

fn resolved(
    source: &source::Source,
    repo: &Path,
    runtimes: &[KnownRuntime<'_>],
) -> Result<ProjectConfig, ConfigErrors> {
    let (raw, mut problems) = raw::read(source);
    let project = raw.and_then(|raw| resolve::resolve(&raw, source, repo, runtimes, &mut problems));
    match (project, problems.finish()) {
        (Some(project), None) => Ok(project),
        (_, Some(errors)) => Err(errors),
        (None, None) => Err(ConfigProblem::of_file(PROJECT_FILE, "it holds no project").into()),
    }
}
