//! The project and those who may speak to its server, as the API tells them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The project at a glance.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = ProjectReply)]
pub struct ApiProject {
    #[schema(required)]
    pub name: String,
    /// The repository's folder on the server's machine.
    #[schema(required)]
    pub repo: String,
    /// The branch that stories start from and are merged into.
    #[schema(required)]
    pub base_branch: String,
    /// Musher's own version.
    #[schema(required)]
    pub version: String,
    /// What tells this build of the server from others; it changes when the server was replaced.
    #[schema(required)]
    pub build: String,
    /// The server's clock, Unix milliseconds.
    #[schema(required)]
    pub now: i64,
    #[schema(required)]
    pub limits: ApiLimits,
    #[schema(required)]
    pub counts: ApiCounts,
    #[schema(required)]
    pub day: ApiDay,
}

/// What was spent today, in UTC.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Day)]
pub struct ApiDay {
    /// Such as `2026-01-31`.
    #[schema(required)]
    pub date: String,
    /// The least that it can have cost.
    #[schema(required)]
    pub spent_usd: f64,
    /// Whether a part of the cost is not known.
    #[schema(required)]
    pub unknown: bool,
    /// Whether a part of it was worked out, and is the least that it can be.
    #[schema(required)]
    pub estimated: bool,
    /// What runs of unknown cost may have spent beyond that; it counts against the cap.
    #[schema(required)]
    pub held_usd: f64,
    /// What may be spent in a day; absent when there is no such bound.
    pub cap_usd: Option<f64>,
}

/// How many runs there may be at the same time.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Limits)]
pub struct ApiLimits {
    #[schema(required)]
    pub runs: u32,
    #[schema(required)]
    pub runs_per_agent: u32,
    #[schema(required)]
    pub runs_per_story: u32,
}

/// How much there is at this moment.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Counts)]
pub struct ApiCounts {
    /// Stories that are not archived.
    #[schema(required)]
    pub stories: usize,
    /// Runs that wait for a slot.
    #[schema(required)]
    pub queued: usize,
    /// Runs that have a place.
    #[schema(required)]
    pub running: usize,
    /// Asks that wait for a person.
    #[schema(required)]
    pub asks: usize,
    /// Worktree slots, the free ones included.
    #[schema(required)]
    pub slots: usize,
    #[schema(required)]
    pub free_slots: usize,
}

/// The tokens that browsers and programs hold.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = TokensReply)]
pub struct ApiTokens {
    /// In the order in which they were made. The one in the state directory is not among them.
    #[schema(required)]
    pub tokens: Vec<ApiToken>,
}

/// A token; what it is, only its holder knows.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = TokenNow)]
pub struct ApiToken {
    #[schema(required)]
    pub id: String,
    #[schema(required)]
    pub name: String,
    #[schema(required, value_type = ApiTokenScope)]
    pub scope: String,
    /// Unix milliseconds.
    #[schema(required)]
    pub made_at: i64,
    /// Unix milliseconds, to the minute.
    pub last_used_at: Option<i64>,
    /// Whether this request was made with it.
    #[schema(required)]
    pub current: bool,
}

/// The token that was just made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = AddTokenReply)]
pub struct ApiNewToken {
    #[schema(required)]
    pub id: String,
    #[schema(required)]
    pub name: String,
    #[schema(required, value_type = ApiTokenScope)]
    pub scope: String,
    /// It is told this once.
    #[schema(required)]
    pub token: String,
}

/// What a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TokenScope)]
pub enum ApiTokenScope {
    /// Everything.
    Full,
    /// `/mcp` and nothing else.
    Operator,
}
