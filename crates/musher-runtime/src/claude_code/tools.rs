//! Claude Code's tools in words that no vendor owns.

use musher_core::{Edit, PlanEntry, ToolKind};
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

/// The one thing that a call is about, and the field that says it.
pub(super) struct CallSubject {
    pub(super) field: Option<String>,
    pub(super) text: Option<String>,
}

/// What a call is about.
pub(super) fn subject(kind: ToolKind, input: &Json) -> CallSubject {
    let fields: &[&str] = match kind {
        ToolKind::Read | ToolKind::Edit => &["file_path", "notebook_path", "path"],
        ToolKind::Search => {
            let text = Some(searched(input));
            return CallSubject { field: None, text };
        }
        ToolKind::Execute => &["command", "shell_id", "bash_id"],
        ToolKind::Fetch => &["url", "query"],
        ToolKind::Subagent => &["description", "prompt"],
        ToolKind::Mcp | ToolKind::Question | ToolKind::Plan | ToolKind::Other => {
            &["command", "file_path", "path", "url", "query", "description", "skill"]
        }
    };
    let found = fields.iter().find_map(|field| Some((*field, input.get(field)?.as_str()?)));
    CallSubject {
        field: found.map(|(field, _)| field.to_owned()),
        text: found.map(|(_, text)| text.to_owned()),
    }
}

/// What a call changes in files.
pub(super) fn edits(name: &str, input: &Json) -> Vec<Edit> {
    let Some(path) = input["file_path"].as_str() else { return Vec::new() };
    let edit = |change: &Json| {
        // An empty text to replace stands for a file that is not there yet.
        let old = change["old_string"].as_str()?;
        Some(Edit {
            path: path.to_owned(),
            old: (!old.is_empty()).then(|| old.to_owned()),
            new: change["new_string"].as_str()?.to_owned(),
            all: change["replace_all"].as_bool().unwrap_or(false),
        })
    };
    let all = match name {
        "Write" => input["content"].as_str().map(|content| {
            let (path, new) = (path.to_owned(), content.to_owned());
            vec![Edit { path, old: None, new, all: false }]
        }),
        "Edit" => edit(input).map(|edit| vec![edit]),
        "MultiEdit" => input["edits"].as_array().and_then(|all| all.iter().map(edit).collect()),
        _ => None,
    };
    all.unwrap_or_default()
}

/// Where a search looks: the folder it names, or this one; a pattern that climbs or starts elsewhere leads there.
fn searched(input: &Json) -> String {
    let folder = input["path"].as_str().unwrap_or(".");
    let pattern = input["pattern"].as_str().unwrap_or_default();
    if !pattern.starts_with('/') && !pattern.contains("..") {
        return folder.to_owned();
    }
    let fixed = pattern.split(['*', '?', '[', '{']).next().unwrap_or_default();
    let place = fixed.rsplit_once('/').map_or("", |(place, _)| place);
    if pattern.starts_with('/') { format!("{place}/") } else { format!("{folder}/{place}") }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_call_changes_in_files_is_told_in_neutral_words() {
        let edit = |old: Option<&str>, new: &str, all| Edit {
            path: "/w/a.rs".into(),
            old: old.map(str::to_owned),
            new: new.into(),
            all,
        };
        let file = "/w/a.rs";
        for (name, input, wanted) in [
            ("Write", json!({"file_path": file, "content": "x"}), vec![edit(None, "x", false)]),
            (
                "Edit",
                json!({"file_path": file, "old_string": "a", "new_string": "b", "replace_all": true}),
                vec![edit(Some("a"), "b", true)],
            ),
            (
                "MultiEdit",
                json!({"file_path": file, "edits": [
                    {"old_string": "", "new_string": "n"}, {"old_string": "n", "new_string": "m"}
                ]}),
                vec![edit(None, "n", false), edit(Some("n"), "m", false)],
            ),
            ("MultiEdit", json!({"file_path": file, "edits": [{"old_string": 1}]}), vec![]),
            ("Edit", json!({"file_path": 7}), vec![]),
            ("Bash", json!({"command": "rm a", "file_path": file}), vec![]),
        ] {
            assert_eq!(edits(name, &input), wanted, "{name} {input}");
        }
    }

    #[test]
    fn a_search_is_about_where_it_looks() {
        for (input, place) in [
            (json!({ "pattern": "**/*.rs" }), "."),
            (json!({ "pattern": "fn main", "path": "src" }), "src"),
            (json!({ "pattern": "/home/u/.ssh/*" }), "/home/u/.ssh/"),
            (json!({ "pattern": "../../x/*", "path": "src" }), "src/../../x"),
        ] {
            assert_eq!(subject(ToolKind::Search, &input).text.as_deref(), Some(place));
        }
    }
}
