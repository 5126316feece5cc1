//! What people give one run beside what its agent has: instructions, rules, mode, effort and variables.

use std::path::Path;

use clap::Args;
use musher_core::{Rule, RunOptions, Variables};
use serde_json::{Map, Value as Json, json};

use super::{CliError, words};

#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptionArgs {
    /// Instructions after the agent's own; `@FILE` reads them from a file.
    #[arg(long, value_name = "TEXT|@FILE")]
    system_prompt: Option<String>,
    /// Let the agent use a tool without asking, such as `edit(src/**)` or `execute(git *)`.
    #[arg(long, value_name = "RULE")]
    allow: Vec<Rule>,
    /// Ask before the agent uses a tool.
    #[arg(long, value_name = "RULE")]
    ask: Vec<Rule>,
    /// Never let the agent use a tool.
    #[arg(long, value_name = "RULE")]
    deny: Vec<Rule>,
    /// The agent's own permission mode, in its own words.
    #[arg(long, alias = "permission-mode", value_name = "MODE")]
    mode: Option<String>,
    /// How hard the model thinks, for runtimes that speak to a model themselves.
    #[arg(long, value_name = "EFFORT")]
    effort: Option<String>,
    /// A value for `{{ set.KEY }}` in prompts; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    set: Vec<(String, String)>,
}

impl RunOptionArgs {
    /// The options, with the texts that are in files.
    pub(crate) fn read(&self) -> Result<RunOptions, CliError> {
        let Self { system_prompt, allow, ask, deny, mode, effort, set } = self.clone();
        let system_prompt = match system_prompt.as_deref().map(|text| text.strip_prefix('@')) {
            Some(Some(file)) => Some(words::read("system prompt", None, Some(Path::new(file)))?),
            Some(None) | None => system_prompt,
        };
        Ok(RunOptions { system_prompt, allow, ask, deny, mode, effort, set: variables(set)? })
    }

    /// The options as the API takes them.
    pub(crate) fn fields(&self) -> Result<Map<String, Json>, CliError> {
        let RunOptions { system_prompt, allow, ask, deny, mode, effort, set } = self.read()?;
        let mut fields = Map::new();
        let texts = [("system_prompt", system_prompt), ("mode", mode), ("effort", effort)];
        for (name, text) in texts {
            if let Some(text) = text {
                fields.insert(name.into(), text.into());
            }
        }
        if !(allow.is_empty() && ask.is_empty() && deny.is_empty()) {
            fields.insert("rules".into(), json!({ "allow": allow, "ask": ask, "deny": deny }));
        }
        if !set.is_empty() {
            fields.insert("set".into(), json!(set));
        }
        Ok(fields)
    }
}

/// A name and its value.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("write KEY=VALUE".to_owned()),
    }
}

/// Each name once.
pub(crate) fn variables(given: Vec<(String, String)>) -> Result<Variables, CliError> {
    let mut variables = Variables::new();
    for (name, value) in given {
        if variables.insert(name.clone(), value).is_some() {
            return Err(CliError::hinted(
                format!("the variable {name} is given twice"),
                "give it once",
            ));
        }
    }
    Ok(variables)
}
