//! The frames of Codex's app server that are understood: only what is needed of each, and never an error for what is new.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::json::lenient;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CodexHello {
    #[serde(rename = "userAgent")]
    pub(super) user_agent: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ThreadOpened {
    pub(super) thread: ThreadFrame,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default, rename = "approvalPolicy", deserialize_with = "lenient")]
    pub(super) approval_policy: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadFrame {
    pub(super) id: String,
    #[serde(default)]
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) cli_version: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnNotice {
    pub(super) turn: TurnFrame,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnFrame {
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) error: Option<ErrorFrame>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ErrorFrame {
    pub(super) message: String,
    /// A word, or an object of one word with the status of the service inside. The list is open.
    pub(super) codex_error_info: Json,
    #[serde(deserialize_with = "lenient")]
    pub(super) additional_details: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorNotice {
    pub(super) error: ErrorFrame,
    #[serde(default)]
    pub(super) will_retry: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ItemNotice {
    pub(super) item: Item,
}

/// An item of a thread, of any kind: what one kind has and another lacks is absent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Item {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) client_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) summary: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) content: Vec<Json>,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) command: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) cwd: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) aggregated_output: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) exit_code: Option<i32>,
    #[serde(deserialize_with = "lenient")]
    pub(super) duration_ms: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) changes: Vec<FileChange>,
    #[serde(deserialize_with = "lenient")]
    pub(super) server: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) tool: Option<String>,
    pub(super) arguments: Option<Json>,
    pub(super) result: Option<Json>,
    pub(super) error: Option<Json>,
    #[serde(deserialize_with = "lenient")]
    pub(super) query: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) prompt: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) kind: Json,
    pub(super) diff: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeltaNotice {
    pub(super) item_id: String,
    pub(super) delta: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageNotice {
    pub(super) token_usage: TokenUsage,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenUsage {
    pub(super) total: TokenCount,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) last: Option<TokenCount>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model_context_window: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TokenCount {
    pub(super) total_tokens: u64,
    /// With those that were read from and written to the cache.
    pub(super) input_tokens: u64,
    pub(super) cached_input_tokens: u64,
    pub(super) cache_write_input_tokens: u64,
    /// With those of reasoning.
    pub(super) output_tokens: u64,
    pub(super) reasoning_output_tokens: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RateLimitNotice {
    pub(super) rate_limits: RateLimits,
}

/// What is absent has not changed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RateLimits {
    #[serde(deserialize_with = "lenient")]
    pub(super) primary: Option<LimitWindow>,
    #[serde(deserialize_with = "lenient")]
    pub(super) secondary: Option<LimitWindow>,
    #[serde(deserialize_with = "lenient")]
    pub(super) rate_limit_reached_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LimitWindow {
    pub(super) used_percent: f64,
    #[serde(deserialize_with = "lenient")]
    pub(super) window_duration_mins: Option<u64>,
    /// Unix seconds.
    #[serde(deserialize_with = "lenient")]
    pub(super) resets_at: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PlanNotice {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) plan: Vec<PlanStep>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PlanStep {
    pub(super) step: String,
    pub(super) status: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ServerState {
    pub(super) name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) status: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) error: Option<String>,
}

/// A command, a change or a permission that wants a yes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ApprovalRequest {
    pub(super) item_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) reason: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) command: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) cwd: Option<String>,
    pub(super) network_approval_context: Option<Json>,
    pub(super) permissions: Option<Json>,
}

#[derive(Debug, Deserialize)]
pub(super) struct UserInputRequest {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) questions: Vec<UserQuestion>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UserQuestion {
    pub(super) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) header: Option<String>,
    pub(super) question: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) options: Vec<UserOption>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UserOption {
    pub(super) label: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) description: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ElicitationRequest {
    pub(super) server_name: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) message: Option<String>,
    pub(super) requested_schema: Option<Json>,
    #[serde(deserialize_with = "lenient")]
    pub(super) url: Option<String>,
    #[serde(rename = "_meta")]
    pub(super) meta: Option<Json>,
}
