//! The names of the runtimes, those to come included.

use std::path::PathBuf;

use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::script::Script;
use musher_runtime::{Environment, Runtime};

use super::super::CliError;

const BUILT: &[&str] = &["claude-code", "script"];
const TO_COME: &[&str] =
    &["codex", "gemini-cli", "acp", "terminal", "openai", "gemini", "anthropic"];

pub(super) fn find(name: &str, environment: &Environment) -> Result<Box<dyn Runtime>, CliError> {
    match name {
        "claude-code" => Ok(Box::new(ClaudeCode::default())),
        "script" => Ok(Box::new(match sessions(environment) {
            Some(folder) => Script::default().remembering(folder),
            None => Script::default(),
        })),
        name if TO_COME.contains(&name) => Err(CliError::hinted(
            format!("runtime `{name}` is planned but not in this version"),
            format!("use one of {}", BUILT.join(", ")),
        )),
        name => Err(CliError::hinted(
            format!("there is no runtime `{name}`"),
            format!("use one of {}", BUILT.join(", ")),
        )),
    }
}

/// Where the sessions of scripts are kept.
fn sessions(environment: &Environment) -> Option<PathBuf> {
    let state =
        environment.get("XDG_STATE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || Some(PathBuf::from(environment.get("HOME")?).join(".local/state"));
    Some(state.or_else(home)?.join("musher/script-sessions"))
}
