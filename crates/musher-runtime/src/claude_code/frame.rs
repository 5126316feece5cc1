//! The frames of Claude Code that are understood: only what is needed of each, and never an error for what is new.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

/// What kind of frame a line is; read first, whatever the order of its keys.
#[derive(Debug, Deserialize)]
pub(super) struct Probe<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: std::borrow::Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) subtype: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Init {
    pub(super) session_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) mcp_servers: Option<Vec<McpServer>>,
    #[serde(rename = "permissionMode")]
    pub(super) permission_mode: Option<String>,
    pub(super) claude_code_version: Option<String>,
    #[serde(rename = "apiKeySource")]
    pub(super) api_key_source: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct McpServer {
    pub(super) name: String,
    #[serde(default)]
    pub(super) status: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Assistant {
    pub(super) message: Message,
    pub(super) uuid: Option<String>,
    pub(super) error: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) aborted: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) supersedes: Vec<String>,
    pub(super) api_error: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) parent_tool_use_id: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) subagent_type: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) content: Content,
}

/// Content is a text or a list of blocks.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Blocks(Vec<Json>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) message: Message,
    pub(super) uuid: Option<String>,
    #[serde(default, rename = "isReplay", deserialize_with = "lenient")]
    pub(super) is_replay: bool,
    #[serde(default)]
    pub(super) tool_use_result: Option<Json>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) tool_result_meta: Vec<ToolResultMeta>,
    pub(super) parent_tool_use_id: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) subagent_type: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolResultMeta {
    pub(super) id: String,
    pub(super) non_execution_kind: Option<String>,
    pub(super) permission_decision: Option<PermissionDecision>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PermissionDecision {
    #[serde(default)]
    pub(super) decision: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamEvent {
    pub(super) event: StreamPart,
    pub(super) parent_tool_use_id: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) subagent_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamPart {
    MessageStart {
        message: StartedMessage,
    },
    ContentBlockStart {
        index: u64,
        content_block: BlockStart,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct StartedMessage {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) usage: ApiUsage,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApiUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BlockStart {
    #[serde(default)]
    pub(super) id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockDelta {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

/// The end of a turn. It must be understood whatever else is in it, or the turn would never end.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResultFrame {
    #[serde(deserialize_with = "lenient")]
    pub(super) is_error: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(super) terminal_reason: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) api_error_status: Option<u16>,
    #[serde(deserialize_with = "lenient")]
    pub(super) result: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) errors: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) duration_ms: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) permission_denials: Vec<Denial>,
    pub(super) structured_output: Option<Json>,
    #[serde(rename = "modelUsage", deserialize_with = "lenient")]
    pub(super) model_usage: BTreeMap<String, ModelUsage>,
    #[serde(deserialize_with = "lenient")]
    pub(super) model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) startup_failure_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Denial {
    #[serde(deserialize_with = "lenient")]
    pub(super) tool_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelUsage {
    #[serde(deserialize_with = "count")]
    pub(super) input_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub(super) output_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_read_input_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_creation_input_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_creation_ephemeral5m_input_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_creation_ephemeral1h_input_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub(super) thinking_tokens: u64,
    #[serde(rename = "costUSD", deserialize_with = "lenient")]
    pub(super) cost_usd: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) cost_basis: Option<String>,
}

/// A value of the expected shape, or nothing: new versions change fields without a word.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Json::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A count, however it is written.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Json::deserialize(deserializer)?;
    Ok(value.as_u64().or_else(|| value.as_f64().map(|number| number as u64)).unwrap_or(0))
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlRequest {
    pub(super) request_id: Json,
    pub(super) request: Json,
}

#[derive(Debug, Deserialize)]
pub(super) struct CanUseTool {
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) input: Json,
    pub(super) tool_use_id: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) description: Option<String>,
    pub(super) decision_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) permission_suggestions: Vec<Json>,
    #[serde(default)]
    pub(super) requires_user_interaction: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlResponse {
    pub(super) response: ControlResponseBody,
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlResponseBody {
    #[serde(default)]
    pub(super) subtype: String,
    pub(super) request_id: Json,
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) response: Json,
}

#[derive(Debug, Deserialize)]
pub(super) struct Task {
    pub(super) task_id: String,
    pub(super) tool_use_id: Option<String>,
    pub(super) description: Option<String>,
    pub(super) task_type: Option<String>,
    #[serde(default)]
    pub(super) is_backgrounded: bool,
    pub(super) status: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) patch: Option<TaskPatch>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskPatch {
    pub(super) status: Option<String>,
    pub(super) is_backgrounded: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RateLimitFrame {
    pub(super) rate_limit_info: RateLimitInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RateLimitInfo {
    #[serde(default)]
    pub(super) status: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) resets_at: Option<f64>,
    pub(super) rate_limit_type: Option<String>,
    pub(super) utilization: Option<f64>,
}
