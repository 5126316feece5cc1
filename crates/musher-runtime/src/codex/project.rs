//! What Codex takes from the folder it works in.

use crate::ProjectFile;

/// Its settings name hooks, tool servers and commands, and a skill may bring scripts, so all of them are executed.
pub(super) const FILES: &[ProjectFile] = &[
    ProjectFile::executes(".codex/**"),
    ProjectFile::executes("**/.agents/skills/**"),
    ProjectFile::obeys("**/AGENTS.md"),
    ProjectFile::obeys("**/AGENTS.override.md"),
];
