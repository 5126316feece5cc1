//! Rules that can never decide anything: in the project file, and among what was granted.

use std::path::Path;

use musher_core::{RuleList, ToolRules};

use super::diagnostic::Diagnostic;
use crate::config::local::{GrantHolder, LocalFile};
use crate::config::{self, DeadAt, PROJECT_FILE, ProjectConfig};

const NAME: &str = "rules";

pub(super) fn diagnose(
    repo: &Path,
    state: Option<&Path>,
    project: &ProjectConfig,
) -> Vec<Diagnostic> {
    let fix = "remove or change the rule; `musher rules test` shows which rule decides";
    let mut diagnostics: Vec<Diagnostic> = config::dead_rules(repo, project)
        .into_iter()
        .map(|DeadAt { agent, line, dead }| {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let (list, rule) = (dead.list.as_str(), &dead.rule);
            let says = format!("{PROJECT_FILE}{line}: agent {agent}: {list} `{rule}` {}", dead.why);
            Diagnostic::warn(NAME, says, fix)
        })
        .collect();
    let local = state.and_then(|state| LocalFile::new(state).read().ok()).unwrap_or_default();
    for agent in &project.agents {
        let granted = ToolRules { granted: local.granted(&agent.name), ..agent.rules.clone() };
        // Those of the file are told above.
        let dead = granted.dead().into_iter().filter(|dead| dead.list == RuleList::Granted);
        diagnostics.extend(dead.map(|dead| {
            let says = format!("agent {}: granted `{}` {}", agent.name, dead.rule, dead.why);
            let given = local.grants.iter().find(|grant| grant.rule == dead.rule);
            let holder = match given.map(|given| &given.agent) {
                // A shell would take the sign for every agent as one of its own.
                Some(GrantHolder::Everyone) => "'*'".to_owned(),
                Some(GrantHolder::Agent(_)) | None => agent.name.to_string(),
            };
            let fix = format!("`musher grants revoke {holder} \"{}\"`", dead.rule);
            Diagnostic::warn(NAME, says, fix)
        }));
    }
    diagnostics
}
