//! The messages of the protocol that are read here, with the fields that are used. What is missing or of another shape is taken
//! for absent: agents leave out much, and add fields of their own.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::json::lenient;

/// The reply to the first request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AgentHello {
    #[serde(deserialize_with = "lenient")]
    pub(super) protocol_version: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) agent_capabilities: AgentAbilities,
    #[serde(deserialize_with = "lenient")]
    pub(super) agent_info: AgentInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AgentAbilities {
    #[serde(deserialize_with = "lenient")]
    pub(super) load_session: bool,
    #[serde(deserialize_with = "lenient")]
    pub(super) mcp_capabilities: McpAbilities,
    #[serde(deserialize_with = "lenient")]
    pub(super) prompt_capabilities: PromptAbilities,
    #[serde(deserialize_with = "lenient")]
    pub(super) session_capabilities: SessionAbilities,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PromptAbilities {
    #[serde(deserialize_with = "lenient")]
    pub(super) image: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct McpAbilities {
    #[serde(deserialize_with = "lenient")]
    pub(super) http: bool,
}

/// What is there, can be done; what stands in it does not matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionAbilities {
    pub(super) resume: Option<Json>,
    pub(super) fork: Option<Json>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentInfo {
    #[serde(deserialize_with = "lenient")]
    pub(super) version: Option<String>,
}

/// The reply to each request that opens a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SessionOpened {
    #[serde(deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) modes: Option<SessionModes>,
    #[serde(deserialize_with = "lenient")]
    pub(super) config_options: Vec<ConfigOption>,
    /// Models in a place that the protocol does not know, as several agents tell them.
    #[serde(deserialize_with = "lenient")]
    pub(super) models: Option<SessionModels>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionModes {
    pub(super) current_mode_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionModels {
    pub(super) current_model_id: String,
}

/// Something that can be chosen in a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConfigOption {
    pub(super) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) category: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) current_value: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SettingsUpdate {
    #[serde(deserialize_with = "lenient")]
    pub(super) current_mode_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) config_options: Vec<ConfigOption>,
}

/// What has changed of a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolFrame {
    pub(super) tool_call_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) content: Vec<ToolContent>,
    #[serde(deserialize_with = "lenient")]
    pub(super) locations: Vec<ToolPlace>,
    pub(super) raw_input: Option<Json>,
    pub(super) raw_output: Option<Json>,
    #[serde(rename = "_meta")]
    pub(super) meta: Option<Json>,
}

/// A piece of what a tool shows; its kind tells which of the fields are there.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolContent {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) content: TextContent,
    #[serde(deserialize_with = "lenient")]
    pub(super) path: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) old_text: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) new_text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TextContent {
    #[serde(deserialize_with = "lenient")]
    pub(super) text: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolPlace {
    #[serde(deserialize_with = "lenient")]
    pub(super) path: String,
}

/// Leave to use a tool.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionFrame {
    pub(super) tool_call: ToolFrame,
    pub(super) options: Vec<PermissionOption>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    pub(super) option_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) kind: String,
}

/// A form, or a page to look at.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FormFrame {
    pub(super) message: String,
    #[serde(default)]
    pub(super) requested_schema: Option<Json>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) url: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PlanFrame {
    #[serde(deserialize_with = "lenient")]
    pub(super) entries: Vec<PlanLine>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PlanLine {
    #[serde(deserialize_with = "lenient")]
    pub(super) content: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NoticeFrame {
    #[serde(deserialize_with = "lenient")]
    pub(super) severity: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) title: String,
}

/// How full the context is, and what the session has cost so far.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageFrame {
    #[serde(deserialize_with = "lenient")]
    pub(super) used: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) size: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) cost: Option<CostFrame>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CostFrame {
    pub(super) amount: f64,
    pub(super) currency: String,
}

/// Tokens, as the reply to a prompt has them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TurnUsage {
    pub(super) total_tokens: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) thought_tokens: Option<u64>,
    pub(super) cached_read_tokens: Option<u64>,
    pub(super) cached_write_tokens: Option<u64>,
}
