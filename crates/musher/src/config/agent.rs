//! A seat on the team: who plays it, with which words, and within which bounds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::model::ModelChoice;
use super::sandbox::SandboxConfig;
use super::template::{self, Template, TemplateError};
use musher_core::{AgentName, ToolRules, Variables};
use musher_runtime::acp::AcpPreset;
use musher_runtime::{AskPolicy, Capabilities, Environment, RunLimits, Runtime, SystemPrompt};

use crate::runtimes::{self, NoRuntime};

/// One agent, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    pub name: AgentName,
    pub runtime: String,
    /// What the project says of the runtime, if it is none that Musher brings.
    pub preset: Option<Arc<AcpPreset>>,
    pub model: Option<String>,
    pub role: Option<String>,
    pub prompt: Template,
    pub system_prompt: Option<SystemTemplate>,
    pub continue_prompt: Template,
    /// The program as it was written; see [`AgentConfig::program`].
    pub command: Option<String>,
    pub args: Vec<Template>,
    pub env: BTreeMap<String, EnvSource>,
    pub rules: ToolRules,
    pub permission_mode: Option<String>,
    pub limits: RunLimits,
    pub asks: AskPolicy,
    /// After how long a person is reminded of an ask.
    pub ask_reminder: Option<Duration>,
    pub linger: Duration,
    pub sandbox: SandboxConfig,
    pub model_choice: ModelChoice,
}

/// Instructions beside the prompt, with blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemTemplate {
    /// After the agent's own.
    Append(Template),
    /// Instead of the agent's own.
    Replace(Template),
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvSource {
    /// It is written in the project file.
    Text(String),
    /// It is taken from this variable of the server, so that no secret is in the file.
    From(String),
}

/// What the blanks of a template are filled with, beside what the agent itself says.
#[derive(Debug, Clone, Copy)]
pub struct TemplateContext<'a> {
    pub story: TemplateStory<'a>,
    /// The folder that the agent works in.
    pub worktree: &'a str,
    pub branch: &'a str,
    pub base_branch: &'a str,
    /// What the story and the start say.
    pub set: &'a Variables,
}

/// The story as a template sees it.
#[derive(Debug, Clone, Copy)]
pub struct TemplateStory<'a> {
    pub id: &'a str,
    pub title: &'a str,
    pub text: &'a str,
}

/// The words of an agent for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    pub prompt: String,
    pub system_prompt: Option<SystemPrompt>,
    /// What a resumed session is told if nothing else is said.
    pub continue_prompt: String,
    /// More arguments for the program.
    pub args: Vec<String>,
}

impl AgentConfig {
    /// Fills in the blanks of everything that has some.
    pub fn render(&self, context: &TemplateContext<'_>) -> Result<Rendered, TemplateError> {
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        let (role, model) = (or_empty(&self.role), or_empty(&self.model));
        let values = template::values(context, [self.name.as_str(), &role, &model]);
        let fill = |field: &'static str, template: &Template| {
            template.render(&values).map_err(|(line, cause)| TemplateError {
                agent: self.name.clone(),
                field,
                line,
                cause,
            })
        };
        let system_prompt = match &self.system_prompt {
            None => None,
            Some(SystemTemplate::Append(text)) => {
                Some(SystemPrompt::Append(fill("system_prompt", text)?))
            }
            Some(SystemTemplate::Replace(text)) => {
                Some(SystemPrompt::Replace(fill("system_prompt", text)?))
            }
        };
        Ok(Rendered {
            prompt: fill("prompt", &self.prompt)?,
            system_prompt,
            continue_prompt: fill("continue_prompt", &self.continue_prompt)?,
            args: self.args.iter().map(|arg| fill("args", arg)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether everything that has blanks can be filled in with these variables of a story and a start.
    pub fn try_out(&self, set: &Variables) -> Result<(), TemplateError> {
        self.render(&template::sample(set)).map(|_| ())
    }

    /// What plays it.
    pub fn played_by(&self, environment: &Environment) -> Result<Box<dyn Runtime>, NoRuntime> {
        runtimes::choose(&self.runtime, self.preset.as_ref(), environment)
    }

    /// What its runtime says that it can do; one that there is not can do nothing.
    pub fn capabilities(&self) -> Capabilities {
        let played = self.played_by(&Environment::default());
        played.map(|runtime| runtime.capabilities()).unwrap_or_default()
    }

    /// The program to run: a bare name is looked up on `PATH`, a path starts at the repository.
    pub fn program(&self, repo: &Path) -> Option<PathBuf> {
        let own = self.preset.as_ref().map(|preset| preset.program.as_str());
        // Only a path depends on the repository; a name is the runtime's own affair.
        let command = self.command.as_deref().or(own.filter(|program| program.contains('/')))?;
        Some(match command.contains('/') {
            true => repo.join(command),
            false => PathBuf::from(command),
        })
    }
}
