//! What a person gives one run beside what its agent has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Rule, ToolRules};

/// What templates can use as `set.NAME`.
pub type Variables = BTreeMap<String, String>;

/// What one run gets beside what its agent has. Later runs of the same work have it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOptions {
    /// Instructions after all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Rule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Rule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Rule>,
    /// The agent's own permission mode, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How hard the model thinks, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// They go before those of the story.
    #[serde(skip_serializing_if = "Variables::is_empty")]
    pub set: Variables,
}

impl RunOptions {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The rules of the agent with those of the run. They are judged together, so that deny still beats everything and the
    /// more specific rule wins; where the run allows what the agent has to ask about in the same words, the run is heard.
    #[must_use]
    pub fn rules(&self, agent: &ToolRules) -> ToolRules {
        let same = |one: &Rule, other: &Rule| one.covers(other) && other.covers(one);
        let asked = agent.ask.iter().filter(|ask| !self.allow.iter().any(|own| same(own, ask)));
        let with = |own: &[Rule], agents: &[Rule]| [own, agents].concat();
        ToolRules {
            allow: with(&self.allow, &agent.allow),
            ask: self.ask.iter().chain(asked).cloned().collect(),
            deny: with(&self.deny, &agent.deny),
            ..agent.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_rules_of_a_run_stand_beside_the_agents_and_its_deny_beats_everything() {
        let agent = ToolRules {
            allow: rules(&["read"]),
            ask: rules(&["execute", "execute(git push *)"]),
            deny: rules(&["edit(.git/**)"]),
            ..ToolRules::default()
        };
        let own = RunOptions {
            allow: rules(&["execute"]),
            deny: rules(&["read(**/.env)"]),
            ..RunOptions::default()
        };
        let both = own.rules(&agent);
        assert_eq!(both.allow, rules(&["execute", "read"]));
        assert_eq!(both.ask, rules(&["execute(git push *)"]), "what is more specific still asks");
        assert_eq!(both.deny, rules(&["read(**/.env)", "edit(.git/**)"]));
        assert_eq!(RunOptions::default().rules(&agent), agent);
    }

    #[test]
    fn options_that_say_nothing_are_written_as_nothing_and_unknown_ones_are_passed_over() {
        assert_eq!(serde_json::to_string(&RunOptions::default()).unwrap(), "{}");
        let read: RunOptions = serde_json::from_str(r#"{"later":1}"#).unwrap();
        assert!(read.is_empty());
    }
}
