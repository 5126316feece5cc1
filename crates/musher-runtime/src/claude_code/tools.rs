//! Claude Code's tools in words that no vendor owns.

use musher_core::{PlanEntry, ToolKind};
use serde_json::Value as Json;

/// What a tool does.
pub(super) fn kind(name: &str) -> ToolKind {
    match name {
        "Read" | "NotebookRead" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "LS" | "ToolSearch" => ToolKind::Search,
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
pub(super) fn subject(input: &Json) -> Option<String> {
    [
        "command",
        "file_path",
        "notebook_path",
        "path",
        "url",
        "query",
        "pattern",
        "description",
        "skill",
    ]
    .iter()
    .find_map(|key| input.get(key)?.as_str())
    .map(str::to_owned)
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
