//! Claude Code's tools in words that no vendor owns.

use musher_core::{PlanEntry, ToolKind};
use serde_json::Value as Json;

/// What a tool does.
pub(super) fn kind(name: &str) -> ToolKind {
    match name {
        "Read" | "NotebookRead" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "LS" => ToolKind::Search,
        "Bash" | "BashOutput" | "KillShell" | "Monitor" | "PowerShell" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Task" | "Agent" | "SendMessage" | "Workflow" => ToolKind::Subagent,
        "AskUserQuestion" => ToolKind::Question,
        "ExitPlanMode" | "EnterPlanMode" => ToolKind::Plan,
        name if name.starts_with("mcp__") => ToolKind::Mcp,
        _ => ToolKind::Other,
    }
}

/// The one thing that a call is about.
pub(super) fn subject(kind: ToolKind, input: &Json) -> Option<String> {
    let keys: &[&str] = match kind {
        ToolKind::Read | ToolKind::Edit => &["file_path", "notebook_path", "path"],
        ToolKind::Search => &["path"],
        ToolKind::Execute => &["command", "shell_id", "bash_id"],
        ToolKind::Fetch => &["url", "query"],
        ToolKind::Subagent => &["description", "prompt"],
        ToolKind::Mcp | ToolKind::Question | ToolKind::Plan | ToolKind::Other => {
            &["command", "file_path", "path", "url", "query", "description", "skill"]
        }
    };
    let found = keys.iter().find_map(|key| input.get(key)?.as_str()).map(str::to_owned);
    match kind {
        // A search that names no folder goes through all of this one.
        ToolKind::Search => found.or_else(|| Some(".".to_owned())),
        ToolKind::Read
        | ToolKind::Edit
        | ToolKind::Execute
        | ToolKind::Fetch
        | ToolKind::Mcp
        | ToolKind::Subagent
        | ToolKind::Question
        | ToolKind::Plan
        | ToolKind::Other => found,
    }
}

/// The list of things to do, when the call is about that.
pub(super) fn plan(name: &str, input: &Json) -> Option<Vec<PlanEntry>> {
    let todos = input["todos"].as_array().filter(|_| name == "TodoWrite")?;
    let text = |todo: &Json, key: &str| todo[key].as_str().unwrap_or_default().to_owned();
    Some(
        todos
            .iter()
            .map(|todo| PlanEntry { text: text(todo, "content"), status: text(todo, "status") })
            .collect(),
    )
}
