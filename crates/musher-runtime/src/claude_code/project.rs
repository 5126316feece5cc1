//! What Claude Code takes from the folder it works in, and how it is told to leave out what it would run.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::ProjectFile;

/// What it finds in a folder and runs, or obeys. Agents, commands and skills may name hooks, tool servers and commands of
/// the shell, so they are run as well. Of what lies in folders below, it runs skills: it looks for them beside every file
/// that it reads.
pub(super) const FILES: &[ProjectFile] = &[
    ProjectFile::executes(".claude/settings.json"),
    ProjectFile::executes(".claude/settings.local.json"),
    ProjectFile::executes(".mcp.json"),
    ProjectFile::executes(".claude/hooks/**"),
    ProjectFile::executes(".claude/agents/**"),
    ProjectFile::executes(".claude/commands/**"),
    ProjectFile::executes("**/.claude/skills/**"),
    ProjectFile::executes(".claude/plugins/**"),
    ProjectFile::executes(".claude/workflows/**"),
    ProjectFile::executes(".claude/scheduled_tasks.json"),
    ProjectFile::executes(".claude-plugin/**"),
    ProjectFile::obeys("**/CLAUDE.md"),
    ProjectFile::obeys("**/CLAUDE.local.md"),
    ProjectFile::obeys("**/AGENTS.md"),
    ProjectFile::obeys("**/AGENTS.override.md"),
    ProjectFile::obeys(".claude/rules/**"),
    ProjectFile::obeys(".claude/output-styles/**"),
    ProjectFile::obeys(".claude/agent-memory/**"),
];

/// What is said to the program when a change of its settings is not to count before the next start.
pub(super) const HELD: &str = "musher-held";

/// The options with which it reads the settings of its user alone. The instructions of the project are then handed over
/// as those of a further folder, which is searched for nothing else.
pub(super) fn left_out(cwd: &Path) -> [OsString; 2] {
    let mut folder = OsString::from("--add-dir=");
    folder.push(cwd);
    ["--setting-sources=user".into(), folder]
}

/// What makes it read the instructions of further folders.
pub(super) const INSTRUCTIONS: (&str, &str) = ("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "1");

/// The hook by which it asks before changed settings count.
pub(super) fn hold() -> Json {
    json!([{ "matcher": "*", "hookCallbackIds": [HELD] }])
}

/// The answer to that: settings of the project are those that were agreed to, for as long as the session lasts.
pub(super) fn held(source: &str) -> Json {
    match source {
        "project_settings" | "local_settings" | "skills" => json!({
            "decision": "block",
            "reason": "The settings of the project count from the next start on, once a person has agreed to them.",
        }),
        _ => json!({}),
    }
}
