//! `musher rules test`: which rule decides about a call, and why.

use clap::Args;
use musher_core::{Explained, Rule, ToolKind, ToolRules, ToolUse, Verdict};
use serde_json::{Value as Json, json};

use super::super::place::PlaceArgs;
use super::super::table::Tone;
use super::super::text::visible;
use super::super::{CliError, CliExit, out};
use crate::config::local::LocalFile;
use crate::config::{self, AgentConfig};
use crate::runtimes;

#[derive(Debug, Args)]
pub(super) struct Test {
    /// What the call is about: a command, a path or an address.
    subject: String,
    /// The kind of tool (`execute`, `edit`, `read`, `search`, `fetch`, `mcp` …) or a tool's own name, such as `Bash`.
    #[arg(long, default_value = "execute")]
    tool: String,
    /// The kind of the tool, if --tool is its own name.
    #[arg(long, value_parser = kind, default_value = "execute")]
    kind: ToolKind,
    /// Only for this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

/// What is said to one agent.
struct Tested {
    agent: String,
    explained: Explained,
}

impl Test {
    pub(super) fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.clone().place();
        let (repo, state) = (place.repo()?, place.state()?);
        let project = config::load(&repo, runtimes::built())?;
        let local = LocalFile::new(&state).read()?;
        let agents: Vec<&AgentConfig> = match &self.agent {
            None => project.agents.iter().collect(),
            Some(name) => vec![project.agent(name).ok_or_else(|| {
                let names: Vec<&str> = project.agents.iter().map(|it| it.name.as_str()).collect();
                let hint = format!("the team is: {}", names.join(", "));
                CliError::hinted(format!("there is no agent `{}`", visible(name)), hint)
            })?],
        };
        let protected: Vec<Rule> = runtimes::executed_anywhere(&project.runtimes)
            .iter()
            .filter_map(|pattern| format!("edit({pattern})").parse().ok())
            .collect();
        let (tool, kind) = self.named();
        let wanted = ToolUse {
            tool,
            kind,
            subject: Some(&self.subject),
            resolved: None,
            texts: &[],
            cwd: &repo.to_string_lossy(),
            unseen: false,
        };
        let tested: Vec<Tested> = agents
            .into_iter()
            .map(|agent| {
                let (granted, protected) = (local.granted(&agent.name), protected.clone());
                let rules = ToolRules { granted, protected, ..agent.rules.clone() };
                let agent = agent.name.to_string();
                Tested { agent, explained: rules.explain(&wanted) }
            })
            .collect();
        match place.json() {
            true => out::document(
                &json!({ "agents": tested.iter().map(document).collect::<Vec<_>>() }).to_string(),
            )?,
            false => {
                for tested in &tested {
                    out::line(&text(tested))?;
                }
            }
        }
        Ok(CliExit::Completed)
    }

    /// The tool's own name, as far as it is known, and its kind.
    fn named(&self) -> (&str, ToolKind) {
        match kind(&self.tool) {
            Ok(kind) => ("", kind),
            Err(_) if self.tool.starts_with("mcp__") => (&self.tool, ToolKind::Mcp),
            Err(_) => (&self.tool, self.kind),
        }
    }
}

fn kind(text: &str) -> Result<ToolKind, String> {
    serde_json::from_value(Json::String(text.to_lowercase())).map_err(|_| {
        "use execute, read, edit, search, fetch, mcp, subagent, question, plan or other".to_owned()
    })
}

fn word(verdict: &Verdict) -> (&'static str, Option<&Rule>, Tone) {
    match verdict {
        Verdict::Allow(rule) => ("allowed", Some(rule), Tone::Good),
        Verdict::Ask(rule) => ("asked", Some(rule), Tone::Heed),
        Verdict::Deny(rule) => ("denied", Some(rule), Tone::Bad),
        Verdict::Unsettled => ("unsettled", None, Tone::Quiet),
    }
}

fn text(Tested { agent, explained }: &Tested) -> String {
    let (word, rule, tone) = word(&explained.verdict);
    let (style, dim) = (tone.style(), Tone::Quiet.style());
    let list = explained.list.map(|list| list.as_str()).unwrap_or_default();
    let by = rule.map(|rule| format!(" by {list} `{}`", visible(&rule.to_string())));
    let mut text = format!(
        "{agent}: {style}{word}{style:#}{}: {}",
        by.unwrap_or_default(),
        visible(&explained.why)
    );
    for (list, rule) in &explained.beaten {
        text += &format!(
            "\n  {dim}also fits: {} `{}`{dim:#}",
            list.as_str(),
            visible(&rule.to_string())
        );
    }
    text
}

fn document(Tested { agent, explained }: &Tested) -> Json {
    let (word, rule, _) = word(&explained.verdict);
    let beaten = explained.beaten.iter();
    json!({
        "agent": agent,
        "verdict": word,
        "list": explained.list,
        "rule": rule,
        "why": explained.why,
        "beaten": beaten.map(|(list, rule)| json!({ "list": list, "rule": rule })).collect::<Vec<_>>(),
    })
}
