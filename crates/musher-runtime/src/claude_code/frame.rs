//! The frames of Claude Code that are understood: only what is needed of each, and never an error for what is new.

mod content;
mod stream;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::json::{self, JsonText, Loose, RawJson, lenient, loose};

pub(super) use content::{Block, Content};
pub(super) use stream::{ApiUsage, StreamEvent};

#[derive(Debug, Deserialize)]
pub(super) struct InitFrame {
    pub(super) session_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) mcp_servers: Option<Vec<McpServerFrame>>,
    #[serde(rename = "permissionMode")]
    pub(super) permission_mode: Option<String>,
    pub(super) claude_code_version: Option<String>,
    #[serde(rename = "apiKeySource")]
    pub(super) api_key_source: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct McpServerFrame {
    pub(super) name: String,
    #[serde(default)]
    pub(super) status: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Assistant<'a> {
    #[serde(borrow)]
    pub(super) message: MessageFrame<'a>,
    pub(super) uuid: Option<JsonText<'a>>,
    pub(super) error: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) aborted: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) supersedes: Vec<String>,
    pub(super) api_error: Option<JsonText<'a>>,
    pub(super) request_id: Option<String>,
    pub(super) parent_tool_use_id: Option<JsonText<'a>>,
    pub(super) agent_id: Option<JsonText<'a>>,
    pub(super) subagent_type: Option<JsonText<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageFrame<'a> {
    #[serde(default, borrow)]
    pub(super) id: JsonText<'a>,
    #[serde(default)]
    pub(super) model: JsonText<'a>,
    #[serde(default = "Loose::nothing", deserialize_with = "loose")]
    pub(super) content: Content<'a>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: Option<ApiUsage>,
}

/// A message of which the blocks are passed on as they are.
#[derive(Debug, Deserialize)]
pub(super) struct Verbatim {
    pub(super) message: VerbatimMessage,
}

#[derive(Debug, Deserialize)]
pub(super) struct VerbatimMessage {
    pub(super) content: Vec<Json>,
}

#[derive(Debug, Deserialize)]
pub(super) struct User<'a> {
    #[serde(borrow)]
    pub(super) message: MessageFrame<'a>,
    pub(super) uuid: Option<JsonText<'a>>,
    #[serde(default, rename = "isReplay", deserialize_with = "loose")]
    pub(super) is_replay: bool,
    pub(super) tool_use_result: Option<Json>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) tool_result_meta: Vec<ToolResultMeta>,
    pub(super) parent_tool_use_id: Option<JsonText<'a>>,
    pub(super) agent_id: Option<JsonText<'a>>,
    pub(super) subagent_type: Option<JsonText<'a>>,
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

/// The end of a turn. It must be understood whatever else is in it, or the turn would never end.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResultFrame<'a> {
    #[serde(deserialize_with = "lenient")]
    pub(super) is_error: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(super) subtype: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) stop_reason: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) terminal_reason: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) api_error_status: Option<u16>,
    #[serde(deserialize_with = "loose")]
    pub(super) result: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) errors: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) duration_ms: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) permission_denials: Vec<Denial>,
    #[serde(borrow)]
    pub(super) structured_output: Option<RawJson<'a>>,
    #[serde(rename = "modelUsage")]
    model_usage: Option<RawJson<'a>>,
    model_usage_since_last_result: Option<RawJson<'a>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) startup_failure_reason: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) uuid: Option<String>,
}

impl ResultFrame<'_> {
    /// What was used since the last result, by model.
    pub(super) fn increments(&self) -> Option<BTreeMap<String, ModelUsage>> {
        self.model_usage_since_last_result.as_ref().and_then(json::read_piece)
    }

    /// What the session has used in all, by model.
    pub(super) fn totals(&self) -> Option<BTreeMap<String, ModelUsage>> {
        self.model_usage.as_ref().and_then(json::read_piece)
    }
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
    #[serde(deserialize_with = "loose")]
    pub(super) input_tokens: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub(super) output_tokens: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub(super) cache_creation_ephemeral5m_input_tokens: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub(super) cache_creation_ephemeral1h_input_tokens: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub(super) thinking_tokens: Option<u64>,
    #[serde(rename = "costUSD", deserialize_with = "loose")]
    pub(super) cost_usd: Option<f64>,
    #[serde(deserialize_with = "loose")]
    pub(super) cost_basis: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlRequest<'a> {
    pub(super) request_id: Json,
    #[serde(borrow)]
    pub(super) request: RawJson<'a>,
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

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HookCallback {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) callback_id: String,
    pub(super) input: HookInput,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HookInput {
    #[serde(deserialize_with = "lenient")]
    pub(super) tool_name: String,
    pub(super) tool_input: Json,
    /// Which settings have changed, when the hook is about that.
    #[serde(deserialize_with = "lenient")]
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Elicitation {
    pub(super) mcp_server_name: Option<String>,
    pub(super) message: Option<String>,
    pub(super) requested_schema: Option<Json>,
    pub(super) url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlResponse<'a> {
    #[serde(borrow)]
    pub(super) response: ControlResponseBody<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlResponseBody<'a> {
    #[serde(default, borrow)]
    pub(super) subtype: JsonText<'a>,
    pub(super) request_id: Json,
    pub(super) error: Option<String>,
    pub(super) response: Option<RawJson<'a>>,
}

/// The answer to our first request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Initialized {
    #[serde(deserialize_with = "lenient")]
    pub(super) hooks_applied: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskFrame {
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
