//! What was spent and what may be spent, as the API tells it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Tokens in disjoint buckets, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Spent)]
pub struct ApiSpent {
    #[schema(required)]
    pub input: u64,
    #[schema(required)]
    pub cache_read: u64,
    #[schema(required)]
    pub cache_write_5m: u64,
    #[schema(required)]
    pub cache_write_1h: u64,
    /// Cache writes whose lifetime nobody told.
    #[schema(required)]
    pub cache_write_other: u64,
    #[schema(required)]
    pub output: u64,
    /// Already counted in `output`.
    #[schema(required)]
    pub reasoning: u64,
    /// Absent when any part of it is unknown, which is not zero.
    pub cost_usd: Option<f64>,
    /// The least that it can have cost.
    #[schema(required)]
    pub known_cost_usd: f64,
    /// Some of this was not told but worked out, and is the least that it can be.
    #[schema(required)]
    pub estimated: bool,
}

/// What was spent, summed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = UsageReply)]
pub struct ApiUsageReport {
    #[schema(required, value_type = ApiUsageBy)]
    pub by: String,
    #[schema(value_type = Option<ApiUsageBy>)]
    pub split: Option<String>,
    #[schema(required)]
    pub rows: Vec<ApiUsageRow>,
}

/// By what usage is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = UsageBy)]
pub enum ApiUsageBy {
    Run,
    Story,
    Agent,
    Model,
    /// The day in UTC.
    Day,
}

/// The sum for one run, story, agent, model or day.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = UsageRow)]
pub struct ApiUsageRow {
    /// The run, story, agent or model, or the day as Unix milliseconds of its begin; absent for an unnamed model.
    pub key: Option<String>,
    /// The part of it, if it was split; written as a key is.
    pub part: Option<String>,
    #[schema(required)]
    pub spent: ApiSpent,
}

/// What was granted and capped while working.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = LocalReply)]
pub struct ApiLocalSettings {
    /// The file that holds it, in the state directory.
    #[schema(required)]
    pub path: String,
    #[schema(required)]
    pub grants: Vec<ApiGrant>,
    #[schema(required)]
    pub caps: ApiCaps,
}

/// A tool rule that a person granted to an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = GrantNow)]
pub struct ApiGrant {
    #[schema(required)]
    pub agent: String,
    #[schema(required)]
    pub rule: String,
    /// On which story it was asked.
    pub story: Option<String>,
    /// In which run it was asked.
    pub run: Option<String>,
    /// Unix milliseconds.
    pub at: Option<i64>,
}

/// What may be spent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = CapsNow)]
pub struct ApiCaps {
    /// By all runs together on one day (UTC).
    pub day_usd: Option<f64>,
}
