//! What a person has settled about a story beside its words.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{AgentName, BranchName, Label, StoryId, Usd};

/// How soon a story is to be worked on, from 0 to 4; the greater one is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

/// A number that is no priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a priority: use a number from 0 to 4, where 4 is first and 2 is usual")]
pub struct PriorityError(u8);

impl Priority {
    /// What is worked on before everything else.
    pub const FIRST: Self = Self(4);

    /// The priority after a while of waiting: it rises by one for each `age_ms`, so that nothing waits for ever.
    pub fn after_waiting(self, waited_ms: i64, age_ms: i64) -> i64 {
        i64::from(self.0).saturating_add(waited_ms.max(0) / age_ms.max(1))
    }

    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(2)
    }
}

impl TryFrom<u8> for Priority {
    type Error = PriorityError;

    fn try_from(number: u8) -> Result<Self, PriorityError> {
        match number <= Self::FIRST.0 {
            true => Ok(Self(number)),
            false => Err(PriorityError(number)),
        }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a story asks for: ids, names and numbers, and no text of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorySpec {
    /// The stories that must be done before its runs begin.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub after: BTreeSet<StoryId>,
    #[serde(skip_serializing_if = "Priority::is_usual")]
    pub priority: Priority,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
    /// What all its runs together may spend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Who works on it when a start names nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The branch that it begins at and is merged into, if not the project's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<BranchName>,
    /// What its first branch is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
}

impl StorySpec {
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// What is to be different about a story; what is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorySpecChange {
    pub after: Option<BTreeSet<StoryId>>,
    pub priority: Option<Priority>,
    pub labels: Option<BTreeSet<Label>>,
    pub budget: Option<Option<Usd>>,
    pub agent: Option<Option<AgentName>>,
    pub base: Option<Option<BranchName>>,
    pub branch: Option<Option<BranchName>>,
}

impl StorySpecChange {
    /// The spec with what is different.
    pub fn of(self, spec: &StorySpec) -> StorySpec {
        let Self { after, priority, labels, budget, agent, base, branch } = self;
        let old = spec.clone();
        StorySpec {
            after: after.unwrap_or(old.after),
            priority: priority.unwrap_or(old.priority),
            labels: labels.unwrap_or(old.labels),
            budget: budget.unwrap_or(old.budget),
            agent: agent.unwrap_or(old.agent),
            base: base.unwrap_or(old.base),
            branch: branch.unwrap_or(old.branch),
        }
    }
}

impl From<StorySpec> for StorySpecChange {
    fn from(spec: StorySpec) -> Self {
        let StorySpec { after, priority, labels, budget, agent, base, branch } = spec;
        Self {
            after: Some(after),
            priority: Some(priority),
            labels: Some(labels),
            budget: Some(budget),
            agent: Some(agent),
            base: Some(base),
            branch: Some(branch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_from_0_to_4_and_rises_with_time() {
        assert!(Priority::try_from(5).is_err());
        assert!(serde_json::from_str::<Priority>("7").is_err());
        let low = Priority::try_from(1).unwrap();
        assert_eq!(
            [0, 999, 1000, 3500].map(|waited| low.after_waiting(waited, 1000)),
            [1, 1, 2, 4]
        );
        assert_eq!(low.after_waiting(-5000, 1000), 1, "a clock that was set back takes nothing");
        assert_eq!(low.after_waiting(i64::MAX, 0), i64::MAX);
    }

    #[test]
    fn what_is_usual_is_not_written_and_what_is_not_written_is_usual() {
        assert_eq!(serde_json::to_string(&StorySpec::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<StorySpec>("{}").unwrap(), StorySpec::default());
    }

    #[test]
    fn a_change_touches_what_it_names_alone() {
        let spec = StorySpec {
            priority: Priority::FIRST,
            budget: Some(Usd::from_dollars(5.0)),
            ..StorySpec::default()
        };
        let changed = StorySpecChange { budget: Some(None), ..StorySpecChange::default() };
        let changed = changed.of(&spec);
        assert_eq!((changed.priority, changed.budget), (Priority::FIRST, None));
        assert_eq!(StorySpecChange::from(spec.clone()).of(&changed), spec);
    }
}
