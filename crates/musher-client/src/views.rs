//! What the server tells, as far as the command line shows it. Unknown fields are skipped and missing ones are empty.

use musher_core::{Ask, ErrorInfo, Rule, RuleScope, RunPhaseKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ApiReceipt {
    Added {
        story: String,
    },
    Queued {
        run: String,
    },
    Done,
    Sent,
    /// It will be delivered when the runner answers.
    Pending,
    /// Something that only a newer server says.
    #[serde(other)]
    Other,
}

/// A page of runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Runs {
    pub runs: Vec<ApiRun>,
    pub next: Option<String>,
}

/// A run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiRun {
    pub id: String,
    pub story: String,
    /// The title of the story.
    pub title: Option<String>,
    pub agent: String,
    pub model: Option<String>,
    pub kind: String,
    pub of: Option<String>,
    pub phase: RunPhaseKind,
    pub wish: Option<String>,
    pub branch: Option<String>,
    /// The folder in which its branch is, while it has one.
    pub worktree: Option<String>,
    pub head: Option<String>,
    pub session: Option<String>,
    pub outcome: Option<String>,
    pub error: Option<ErrorInfo>,
    pub commit: Option<String>,
    pub finish_error: Option<String>,
    pub parked: bool,
    pub open_asks: u64,
    pub spent: ApiSpent,
    /// What it waits for outside of itself.
    pub note: Option<String>,
    /// Since when it has said nothing, if that is long ago.
    pub quiet_since: Option<i64>,
    /// Messages that its agent was not told yet.
    pub queued: Vec<ApiQueuedMessage>,
    pub queued_at: i64,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
}

/// A message that an agent was not told yet.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ApiQueuedMessage {
    pub id: String,
    pub text: String,
    pub at: i64,
}

impl ApiRun {
    pub fn is_over(&self) -> bool {
        self.phase.is_over()
    }
}

/// A page of stories.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Stories {
    pub stories: Vec<ApiStory>,
    pub next: Option<u64>,
}

/// A story.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiStory {
    pub id: String,
    pub title: Option<String>,
    pub text: Option<String>,
    pub state: String,
    pub merged: Option<String>,
    pub runs: ApiStoryRuns,
    pub open_asks: u64,
    pub spent: ApiSpent,
    pub created_at: i64,
    pub updated_at: i64,
}

/// How many runs a story has.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct ApiStoryRuns {
    pub all: u64,
    pub live: u64,
}

/// Asks, the oldest first.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiAsks {
    pub asks: Vec<ApiAsk>,
}

/// An ask of a run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiAsk {
    pub run: String,
    pub ask: String,
    pub story: String,
    pub agent: String,
    /// What an answer carries as `shown`.
    pub digest: String,
    /// `open`, `offered`, `answered` or `closed`.
    pub state: String,
    pub by: Option<String>,
    /// Absent when the run's log is gone.
    pub body: Option<Ask>,
    pub opened_at: i64,
    /// When its default answers.
    pub deadline: Option<i64>,
    /// What "always" would grant.
    pub rule: Option<Rule>,
    /// What else "always" may grant, the narrowest first.
    pub scopes: Vec<RuleScope>,
}

/// What was granted and capped while working.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiLocalSettings {
    pub path: String,
    pub grants: Vec<ApiGrant>,
    pub caps: ApiCaps,
}

/// The day of a project.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ProjectDay {
    pub day: ApiDay,
}

/// What was spent today.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiDay {
    /// The least that it can be.
    pub spent_usd: f64,
    /// A part of it is unknown.
    pub unknown: bool,
    /// A part of it was worked out.
    pub estimated: bool,
    /// What runs of unknown cost may have spent beyond that.
    pub held_usd: f64,
}

/// A tool rule that a person granted to an agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiGrant {
    pub agent: String,
    pub rule: String,
    pub story: Option<String>,
    pub run: Option<String>,
    pub at: Option<i64>,
}

/// The tokens that browsers and programs hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiTokens {
    pub tokens: Vec<ApiToken>,
}

/// A token, or with `token` the one that was just made.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiToken {
    pub id: String,
    pub name: String,
    pub scope: String,
    pub token: Option<String>,
    pub made_at: i64,
    pub last_used_at: Option<i64>,
}

/// What may be spent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiCaps {
    pub day_usd: Option<f64>,
}

/// Tokens and their cost.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct ApiSpent {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub cache_write_other: u64,
    pub output: u64,
    /// Absent when a part of it is unknown.
    pub cost_usd: Option<f64>,
    /// The least that it can have cost.
    pub known_cost_usd: f64,
    /// Some of this was worked out.
    pub estimated: bool,
}

/// What was spent, summed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiUsageReport {
    pub by: String,
    pub rows: Vec<ApiUsageRow>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiUsageRow {
    pub key: Option<String>,
    pub spent: ApiSpent,
}

/// The project at a glance.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiProject {
    pub name: String,
    pub version: String,
}

/// A page of a run's log; the events are as they stand there.
#[derive(Debug, Deserialize)]
pub struct Events {
    pub events: Vec<Box<RawValue>>,
    pub next: String,
    pub end: bool,
    #[serde(default)]
    pub reset: bool,
}

/// What a run changed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiDiff {
    pub files: Vec<ApiFileDiff>,
    pub truncated: bool,
}

/// What a run changed in one file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiFileDiff {
    pub path: String,
    pub old_path: Option<String>,
    pub status: String,
    pub old_mode: String,
    pub new_mode: String,
    pub added: u64,
    pub removed: u64,
    pub binary: bool,
    /// `executes` or `obeys`, where agents' programs do that with it.
    pub effect: Option<String>,
    pub hunks: Vec<ApiHunk>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApiHunk {
    pub old_start: u64,
    pub old_lines: u64,
    pub new_start: u64,
    pub new_lines: u64,
    pub section: String,
    pub lines: Vec<DiffLine>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DiffLine {
    /// `context`, `added` or `removed`.
    pub kind: String,
    pub text: String,
    pub no_newline: bool,
}
