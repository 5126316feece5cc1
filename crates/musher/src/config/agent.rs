//! A seat on the team: who plays it, with which words, and within which bounds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use musher_core::ToolRules;
use musher_runtime::{AskPolicy, Environment, Limits, SessionSpec, SystemPrompt};
use serde::{Deserialize, Serialize};

use super::reader::{Wrong, shown};
use super::template::{self, Template, TemplateError};

/// The name of an agent: small letters, digits, `_` and `-`, at most 64 of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentName(String);

impl AgentName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let plain = |c: char| small(c) || c == '_' || c == '-';
        if text.len() <= 64 && text.starts_with(small) && text.chars().all(plain) {
            return Ok(Self(text.to_owned()));
        }
        Err(Wrong::new(format!("`{}` is not a name for an agent", shown(text))).with_fix(
            "use up to 64 small letters, digits, `_` and `-`, beginning with a letter or a digit",
        ))
    }
}

impl std::fmt::Display for AgentName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for AgentName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|Wrong { message, fix }| {
            fix.map_or(message.clone(), |fix| format!("{message}; {fix}"))
        })
    }
}

impl TryFrom<String> for AgentName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// One agent, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub name: AgentName,
    pub runtime: String,
    pub model: Option<String>,
    pub role: Option<String>,
    pub prompt: Template,
    pub system_prompt: Option<SystemTemplate>,
    pub continue_prompt: Template,
    /// The program as it was written; see [`Agent::program`].
    pub command: Option<String>,
    pub args: Vec<Template>,
    pub env: BTreeMap<String, EnvValue>,
    pub rules: ToolRules,
    pub permission_mode: Option<String>,
    pub limits: Limits,
    pub asks: AskPolicy,
    pub linger: Duration,
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
pub enum EnvValue {
    /// It is written in the project file.
    Text(String),
    /// It is taken from this variable of the server, so that no secret is in the file.
    From(String),
}

/// What the blanks of a template are filled with, beside what the agent itself says.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub story: Story<'a>,
    /// The folder that the agent works in.
    pub worktree: &'a str,
    pub branch: &'a str,
    pub base_branch: &'a str,
}

/// The story as a template sees it.
#[derive(Debug, Clone, Copy)]
pub struct Story<'a> {
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

/// A variable that an agent needs and the server does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "agent {agent} takes {name} from the server's variable {from}, which is not set; set {from} and start the server again"
)]
pub struct MissingVariable {
    pub agent: AgentName,
    pub name: String,
    pub from: String,
}

impl Agent {
    /// Fills in the blanks of everything that has some.
    pub fn render(&self, context: &Context<'_>) -> Result<Rendered, TemplateError> {
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

    /// The program to run: a bare name is looked up on `PATH`, a path starts at the repository.
    pub fn program(&self, repo: &Path) -> Option<PathBuf> {
        let command = self.command.as_deref()?;
        Some(match command.contains('/') {
            true => repo.join(command),
            false => PathBuf::from(command),
        })
    }

    /// The host's environment with the agent's own variables in it.
    pub fn environment(&self, host: &Environment) -> Result<Environment, MissingVariable> {
        let mut environment = host.clone();
        for (name, value) in &self.env {
            let value = match value {
                EnvValue::Text(text) => text.into(),
                EnvValue::From(from) => match host.get(from) {
                    Some(value) => value.to_owned(),
                    None => {
                        let (agent, name) = (self.name.clone(), name.clone());
                        return Err(MissingVariable { agent, name, from: from.clone() });
                    }
                },
            };
            environment = environment.set(name, value);
        }
        Ok(environment)
    }

    /// A session of this agent with the prompt of a fresh start. What to resume, how it is contained and what becomes
    /// of [`Rendered::args`], for which a session has no room, is left to the host.
    pub fn session(
        &self,
        rendered: &Rendered,
        repo: &Path,
        worktree: &Path,
        host: &Environment,
    ) -> Result<SessionSpec, MissingVariable> {
        let mut spec =
            SessionSpec::new(rendered.prompt.as_str(), worktree, self.environment(host)?);
        spec.model.clone_from(&self.model);
        spec.system_prompt.clone_from(&rendered.system_prompt);
        spec.rules = self.rules.clone();
        spec.permission_mode.clone_from(&self.permission_mode);
        spec.limits = self.limits;
        spec.asks = self.asks;
        spec.program = self.program(repo);
        spec.linger = self.linger;
        Ok(spec)
    }
}
