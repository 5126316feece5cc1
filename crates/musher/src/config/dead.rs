//! Rules of the project file that can never decide anything, with their lines.

use std::path::Path;

use musher_core::{AgentName, DeadRule, RuleList};

use super::reader::At;
use super::{ProjectConfig, file, raw};

/// A rule that never decides, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadAt {
    pub agent: AgentName,
    /// From 1; none for a rule that the file does not hold.
    pub line: Option<usize>,
    pub dead: DeadRule,
}

/// Looks through the rules of every agent.
pub fn dead_rules(repo: &Path, project: &ProjectConfig) -> Vec<DeadAt> {
    // The file was read before; one that changed since is only missing its lines here.
    let source = file::project(repo).ok();
    let raw = source.as_ref().and_then(|source| raw::read(source).0);
    let line = |agent: usize, dead: &DeadRule| {
        let (source, raw) = (source.as_ref()?, raw.as_ref()?);
        let rules = &raw.agents.get(agent)?.rules;
        let list: &[At<String>] = match dead.list {
            RuleList::Allow => &rules.allow,
            RuleList::Ask => &rules.ask,
            RuleList::Deny => &rules.deny,
            RuleList::Granted | RuleList::Protected => return None,
        };
        let start = list.get(dead.index)?.span.start;
        Some(source.text.get(..start)?.matches('\n').count() + 1)
    };
    let mut found = Vec::new();
    for (at, agent) in project.agents.iter().enumerate() {
        for dead in agent.rules.dead() {
            found.push(DeadAt { agent: agent.name.clone(), line: line(at, &dead), dead });
        }
    }
    found
}
