//! Claude Code's tools in words that no vendor owns.

use musher_core::ToolKind;
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
