//! Stories as the API tells them.

use std::collections::BTreeMap;

use musher_core::RunPhaseKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiSpent;

/// A page of stories, the newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = StoriesPage)]
pub struct Stories {
    #[schema(required)]
    pub stories: Vec<ApiStory>,
    /// What to give as `before` for the next page.
    pub next: Option<u64>,
}

/// A story in a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = StoryView)]
pub struct ApiStory {
    #[schema(required)]
    pub id: String,
    /// Its place in the order in which stories were added.
    #[schema(required)]
    pub n: u64,
    /// Absent when it was erased.
    pub title: Option<String>,
    #[schema(required, value_type = ApiStoryPhase)]
    pub state: String,
    /// The commit that its merge made.
    pub merged: Option<String>,
    #[serde(flatten)]
    pub asks: ApiStorySpec,
    #[schema(required)]
    pub runs: ApiStoryRuns,
    /// How many asks of its runs wait for a person.
    #[schema(required)]
    pub open_asks: u64,
    #[schema(required)]
    pub spent: ApiSpent,
    /// Its newest run.
    pub latest: Option<ApiLatestRun>,
    /// What would not merge into the project's branch now; absent when no conflict is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ApiConflict>,
    #[schema(required)]
    pub created_at: i64,
    #[schema(required)]
    pub updated_at: i64,
}

/// What a story asks for beside its words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = StorySpec)]
pub struct ApiStorySpec {
    /// The stories that must be done before its runs begin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// From 0 to 4; the greater one is worked on first, and 2 is usual. It rises while a run waits.
    #[schema(required)]
    pub priority: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What all its runs together may spend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// Who works on it when a start names nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The branch that it begins at and is merged into, if not the project's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What its first branch is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// A story with its text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoryWhole)]
pub struct ApiStoryWhole {
    #[serde(flatten)]
    pub story: ApiStory,
    /// Absent when it was erased.
    pub text: Option<String>,
    /// What templates of agents can use as `set.NAME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: BTreeMap<String, String>,
    /// The lines of its text that begin with a box, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<ApiCriterion>,
}

/// One thing by which people see that a story is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Criterion)]
pub struct ApiCriterion {
    #[schema(required)]
    pub text: String,
    /// Its box has a tick.
    #[schema(required)]
    pub ticked: bool,
    /// Who judges it: `reviewer`, `gate` or `person`.
    #[schema(required)]
    pub by: String,
    /// The gate that judges it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
}

/// Where a story is. A newer server may know more words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StoryPhase)]
pub enum ApiStoryPhase {
    Open,
    Done,
    Archived,
}

/// How many runs a story has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = StoryRuns)]
pub struct ApiStoryRuns {
    #[schema(required)]
    pub all: u64,
    /// Those that are not over.
    #[schema(required)]
    pub live: u64,
}

/// The newest run of a story: enough for a board, which then needs no list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = LatestRun)]
pub struct ApiLatestRun {
    #[schema(required)]
    pub run: String,
    #[schema(required)]
    pub agent: String,
    #[schema(required, value_type = String)]
    pub phase: RunPhaseKind,
    pub outcome: Option<String>,
    pub ended_at: Option<i64>,
    /// Why it failed, on one line.
    pub error: Option<String>,
    #[schema(required)]
    pub parked: bool,
    /// What it changed, as far as that was counted.
    pub lines: Option<ApiLineCount>,
}

/// How many lines were changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = LineCount)]
pub struct ApiLineCount {
    #[schema(required)]
    pub added: u64,
    #[schema(required)]
    pub removed: u64,
}

/// Files in which a story and the project's branch have changed the same lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Conflict)]
pub struct ApiConflict {
    #[schema(required)]
    pub files: Vec<String>,
}

/// What became of stories that were put.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = PutStories)]
pub struct ApiPutStories {
    #[schema(required)]
    pub added: Vec<String>,
    #[schema(required)]
    pub changed: Vec<String>,
    /// Those that said the same already.
    #[schema(required)]
    pub unchanged: Vec<String>,
}
