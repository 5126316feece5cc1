//! A story: a piece of work that a person wants.

use serde::{Deserialize, Serialize};

use crate::StoryId;

/// Where a story is. Its title and text are kept apart, because they can be erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    pub state: StoryState,
    /// How many branches were made for it; their numbers are never given twice.
    pub branches: u32,
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
}

impl std::fmt::Display for BranchRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "musher/{}/{}", self.story, self.n)
    }
}
