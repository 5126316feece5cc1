//! Tool calls as every runtime reports them: upserts keyed by the call.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::CallId;

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPhase {
    Proposed,
    Running,
    Progress,
    Completed,
    Failed,
    Denied,
    Cancelled,
}

impl ToolPhase {
    /// Whether nothing more will be heard of the call.
    pub fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Denied | Self::Cancelled => true,
            Self::Proposed | Self::Running | Self::Progress => false,
        }
    }
}

/// What a tool does, in words that no vendor owns; tool rules may name a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Search,
    Execute,
    Fetch,
    Mcp,
    Subagent,
    Question,
    Plan,
    Other,
}

impl ToolKind {
    /// The kind's name as it is written in a rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Fetch => "fetch",
            Self::Mcp => "mcp",
            Self::Subagent => "subagent",
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Other => "other",
        }
    }
}

/// Who carries the call out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    #[default]
    Agent,
    Provider,
    Host,
}

/// What a call gave back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    pub text: String,
    /// The vendor's structured result, untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// A change of one file, in words that no vendor owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// As the agent names it: absolute, or as seen from its folder.
    pub path: String,
    /// The text that is replaced; absent when the whole file is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    pub new: String,
    /// Every occurrence is replaced, and not the only one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// One upsert of one call: an absent field means "unchanged".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUpdate {
    pub call: CallId,
    pub phase: ToolPhase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The one thing the call is about: its command, path, pattern or address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// What the call changes in files, in order; empty when it changes none, or nobody can tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolOutput>,
    #[serde(default)]
    pub by: Executor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// Why it was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ToolUpdate {
    /// An update that changes nothing but the phase.
    pub fn phase(call: CallId, phase: ToolPhase) -> Self {
        Self {
            call,
            phase,
            name: None,
            kind: None,
            subject: None,
            input: None,
            edits: Vec::new(),
            output: None,
            by: Executor::Agent,
            elapsed_ms: None,
            reason: None,
        }
    }
}
