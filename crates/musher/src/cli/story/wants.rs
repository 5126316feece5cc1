//! What a story asks for, as arguments of `musher story add` and `musher story edit`.

use clap::Args;
use musher_core::{AgentName, BranchName, Label, StoryId};
use serde_json::{Map, Value as Json, json};

/// The word that takes something away.
const NONE: &str = "none";

#[derive(Debug, Clone, Args)]
pub(super) struct StoryWantsArgs {
    /// Stories that must be done first, such as `s1,s2`; `none` for no others.
    #[arg(long, value_name = "STORIES", value_delimiter = ',')]
    after: Option<Vec<String>>,
    /// How soon it is worked on: 0 to 4, where 4 is first and 2 is usual.
    #[arg(long, value_name = "0-4", value_parser = clap::value_parser!(u8).range(0..=4))]
    priority: Option<u8>,
    /// Labels, such as `ui,auth`; `none` for no labels.
    #[arg(long = "labels", alias = "label", value_name = "LABELS", value_delimiter = ',')]
    labels: Option<Vec<String>>,
    /// What all its runs together may spend; `none` for no limit.
    #[arg(long, value_name = "USD")]
    budget: Option<String>,
    /// Who works on it when `musher start` names no agent; `none` for the first of the team.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// The branch that it starts from and is merged into; `none` for the project's own.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// The name of its branch; `none` for one that Musher makes.
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
}

impl StoryWantsArgs {
    /// The fields that were given, as the API takes them.
    pub(super) fn fields(self) -> Result<Map<String, Json>, String> {
        let Self { after, priority, labels, budget, agent, base, branch } = self;
        let mut fields = Map::new();
        if let Some(after) = after {
            fields.insert("after".into(), json!(list(&after, StoryId::parse)?));
        }
        if let Some(priority) = priority {
            fields.insert("priority".into(), json!(priority));
        }
        if let Some(labels) = labels {
            fields.insert("labels".into(), json!(list(&labels, Label::parse)?));
        }
        if let Some(budget) = budget {
            fields.insert("budget_usd".into(), usd(&budget)?);
        }
        if let Some(agent) = agent {
            fields.insert("agent".into(), one(&agent, AgentName::parse)?);
        }
        for (name, given) in [("base", base), ("branch", branch)] {
            if let Some(given) = given {
                fields.insert(name.into(), one(&given, BranchName::parse)?);
            }
        }
        Ok(fields)
    }
}

fn list<T, E: ToString>(
    given: &[String],
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, String> {
    match given {
        [none] if none == NONE => Ok(Vec::new()),
        given => given.iter().map(|it| parse(it.trim()).map_err(|e| e.to_string())).collect(),
    }
}

fn one<T: serde::Serialize, E: ToString>(
    given: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Json, String> {
    match given {
        NONE => Ok(Json::Null),
        given => parse(given).map(|it| json!(it)).map_err(|error| error.to_string()),
    }
}

fn usd(given: &str) -> Result<Json, String> {
    if given == NONE {
        return Ok(Json::Null);
    }
    let amount = given.trim().trim_start_matches('$').parse::<f64>().ok();
    match amount.filter(|amount| amount.is_finite() && *amount > 0.0) {
        Some(amount) => Ok(json!(amount)),
        None => Err(format!("`{given}` is no amount of dollars; write one like 4 or 2.50")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_takes_away_and_what_is_wrong_is_told() {
        let given = StoryWantsArgs {
            after: Some(vec!["none".into()]),
            priority: Some(3),
            labels: Some(vec!["ui".into(), " auth".into()]),
            budget: Some("$2.50".into()),
            agent: Some("none".into()),
            base: None,
            branch: Some("fix/login".into()),
        };
        let wanted = json!({
            "after": [], "priority": 3, "labels": ["ui", "auth"], "budget_usd": 2.5, "agent": null,
            "branch": "fix/login",
        });
        assert_eq!(Json::Object(given.clone().fields().unwrap()), wanted);
        for bad in ["0", "-1", "much", "NaN"] {
            let bad = StoryWantsArgs { budget: Some(bad.into()), ..given.clone() };
            assert!(bad.fields().unwrap_err().contains("dollars"));
        }
        let bad = StoryWantsArgs { branch: Some("a..b".into()), ..given };
        assert!(bad.fields().unwrap_err().contains("a..b"));
    }
}
