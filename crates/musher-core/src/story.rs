//! A story: a piece of work that a person wants.

mod criteria;
mod spec;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pool::UnknownSpending;
use crate::{BranchName, RunId, StoryId, Usd};

pub use criteria::{Criterion, CriterionJudge, criteria};
pub use spec::{Priority, PriorityError, StorySpec, StorySpecChange};

/// Where a story is. Its title and text are kept apart, because they can be erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    pub state: StoryState,
    /// How many branches were made for it; their numbers are never given twice.
    pub branches: u32,
    #[serde(default, skip_serializing_if = "StorySpec::is_usual")]
    pub spec: StorySpec,
    /// What its runs have spent, as far as their cost is known.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub spent: Usd,
    /// What runs of it that are over could have spent beyond what is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<RunId, UnknownSpending>,
}

impl Story {
    /// A story that nobody has worked on.
    pub fn new() -> Self {
        Self {
            state: StoryState::Open,
            branches: 0,
            spec: StorySpec::default(),
            spent: Usd::default(),
            held: BTreeMap::new(),
        }
    }
}

impl Default for Story {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a story takes runs. An archived story is no longer kept as a story at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoryState {
    Open,
    Done {
        /// The commit that its merge made, if it was merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merged: Option<String>,
    },
}

/// A branch of a story. Its name is made here and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BranchRef {
    pub story: StoryId,
    pub n: u32,
    /// The name that a person has chosen for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BranchName>,
    /// The branch that it begins at and is merged into, if not the project's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BranchName>,
}

impl BranchRef {
    /// A branch of a story that asks for nothing particular.
    pub fn plain(story: StoryId, n: u32) -> Self {
        Self::of(story, n, &StorySpec::default())
    }

    /// A branch of a story, as the story wants it.
    pub fn of(story: StoryId, n: u32, spec: &StorySpec) -> Self {
        Self { story, n, name: spec.branch.clone(), base: spec.base.clone() }
    }
}

impl std::fmt::Display for BranchRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) if self.n <= 1 => write!(f, "{name}"),
            // A number behind the name could make that of somebody's branch.
            Some(_) | None => write!(f, "musher/{}/{}", self.story, self.n),
        }
    }
}
