//! The content of a conversation and the side information around it.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{CallId, TaskId};

/// One finished piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    Text {
        text: String,
    },
    Reasoning {
        text: String,
        /// What must go back to the provider untouched when the conversation is sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Json>,
    },
    /// Content of a kind that has no words of its own here.
    Other {
        name: String,
        value: Json,
    },
}

/// Where a user message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A prompt that opens a turn.
    Prompt,
    /// Said into a running turn.
    Steer,
    /// Put in by the agent program itself.
    Synthetic,
    /// Repeated from an earlier session.
    Replay,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// Which pipe a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// One line of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    pub text: String,
    pub status: String,
}

/// Where a piece of background work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskPhase {
    Started,
    Progress,
    Completed,
    Failed,
    Stopped,
}

/// One upsert of one piece of work that an agent started beside its turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskUpdate {
    pub task: TaskId,
    pub phase: TaskPhase,
    /// Whether the turn goes on (and may end) without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}
