//! How Claude Code is started: arguments, variables, and what must never be either.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use musher_core::{ErrorClass, ErrorInfo, SessionId};
use musher_sandbox::Mount;
use serde_json::{Value as Json, json};
use tempfile::NamedTempFile;

use super::control::PermissionHook;
use super::project;
use crate::process::{self, Launch, ProgramError};
use crate::session::{Attempt, ProjectFilesMode};
use crate::{McpServer, McpTransport, SessionSpec, SystemPrompt};

/// The vendor's documented variables, which pass by themselves.
pub(super) const VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BETAS",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_CUSTOM_MODEL_OPTION*",
    "ANTHROPIC_DEFAULT_*",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL*",
    "API_TIMEOUT_MS",
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_OUTPUT_LENGTH",
    "BASH_MAX_TIMEOUT_MS",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_CODE_DISABLE_*",
    "CLAUDE_CODE_EFFORT_LEVEL",
    "CLAUDE_CODE_EXTRA_BODY",
    "CLAUDE_CODE_ENABLE_*",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SHELL",
    "CLAUDE_CODE_SHELL_PREFIX",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_TMPDIR",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CONFIG_DIR",
    "DISABLE_AUTO_COMPACT",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_NON_ESSENTIAL_MODEL_CALLS",
    "DISABLE_PROMPT_CACHING*",
    "DISABLE_TELEMETRY",
    "IS_SANDBOX",
    "MAX_MCP_OUTPUT_TOKENS",
    "MAX_THINKING_TOKENS",
    "MCP_TIMEOUT",
    "MCP_TOOL_TIMEOUT",
    "NODE_EXTRA_CA_CERTS",
    "USE_BUILTIN_RIPGREP",
];

/// Credentials of a cloud pass only when that cloud is chosen.
pub(super) const CHOSEN: &[(&str, &[&str])] = &[
    (
        "CLAUDE_CODE_USE_BEDROCK",
        &["AWS_*", "ANTHROPIC_BEDROCK_BASE_URL", "CLAUDE_CODE_SKIP_BEDROCK_AUTH"],
    ),
    ("CLAUDE_CODE_USE_FOUNDRY", &["ANTHROPIC_FOUNDRY_*", "AZURE_*"]),
    (
        "CLAUDE_CODE_USE_VERTEX",
        &[
            "ANTHROPIC_VERTEX_*",
            "CLOUD_ML_REGION",
            "GOOGLE_*",
            "VERTEX_REGION_*",
            "CLAUDE_CODE_SKIP_VERTEX_AUTH",
        ],
    ),
];

/// What it cannot do without: the model, and the login of a subscription.
pub(super) const HOSTS: &[&str] = &["api.anthropic.com", "platform.claude.com", "claude.ai"];

/// Variables that would make it believe it runs inside another one.
pub(super) const BANNED: &[&str] = &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "NODE_OPTIONS"];

/// What is set for every session.
const SET: &[(&str, &str)] = &[
    // Tells when the agent is idle, so that work it does after a turn is not cut off.
    ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
    ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1"),
    // A program that replaces itself in mid-run could change the protocol under us.
    ("DISABLE_AUTOUPDATER", "1"),
];

/// Settings for a start inside of a sandbox of ours: one of its own could not be made there, and its commands would fail.
const OWN_SANDBOX_OFF: &str = r#"{"sandbox":{"enabled":false}}"#;

/// A start that is ready to be made. The file must live as long as the process.
pub(super) struct PreparedLaunch {
    pub(super) launch: Launch,
    pub(super) mcp_file: Option<NamedTempFile>,
}

/// Everything for one attempt under the given session id.
pub(super) fn prepare(attempt: &Attempt, session: &SessionId) -> Result<PreparedLaunch, ErrorInfo> {
    let spec = &attempt.spec;
    let program = spec.program.as_deref().unwrap_or(Path::new("claude"));
    let search =
        attempt.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let program = process::find_for(spec.sandbox.as_deref(), program, search)
        .map_err(|error| start_error(&error))?;
    let mcp_file = mcp_config(&spec.mcp_servers, spec.session_dir.as_deref()).transpose().map_err(
        |error| {
            let message = format!("the tool servers could not be handed over: {error}");
            ErrorInfo::new(ErrorClass::Unavailable, message)
        },
    )?;
    let mut env = attempt.env.to_vec();
    env.retain(|(name, _)| !SET.iter().any(|(set, _)| name == set));
    env.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    if attempt.settings == ProjectFilesMode::LeftOut {
        let (name, value) = project::INSTRUCTIONS;
        env.push((name.into(), value.into()));
    }
    let args = arguments(attempt, session, mcp_file.as_ref().map(NamedTempFile::path));
    let mut launch = attempt.launch(program, args, env);
    if let (Some(confinement), Some(file)) = (&mut launch.confinement, &mcp_file) {
        confinement.files.push(Mount::read(file.path()));
    }
    Ok(PreparedLaunch { launch, mcp_file })
}

pub(super) fn start_error(error: &ProgramError) -> ErrorInfo {
    process::start_error(error, super::INSTALL)
}

/// Values that come from outside stand behind an equals sign, so that none can become an option of its own.
fn arguments(attempt: &Attempt, session: &SessionId, mcp_file: Option<&Path>) -> Vec<OsString> {
    let spec = &attempt.spec;
    let mut args: Vec<OsString> = [
        "-p",
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--verbose",
        "--permission-prompt-tool=stdio",
        "--include-partial-messages",
    ]
    .map(OsString::from)
    .to_vec();
    // What it repeats is in the copy of its output, where no image belongs.
    if !attempt.has_images() {
        args.push("--replay-user-messages".into());
    }
    let mut option = |name: &str, value: &str| args.push(format!("--{name}={value}").into());
    match &attempt.resume {
        None => option("session-id", session.as_str()),
        Some(earlier) => {
            option("resume", earlier.as_str());
            if attempt.fork {
                option("session-id", session.as_str());
            }
        }
    }
    if spec.sandbox.as_ref().is_some_and(|sandbox| !sandbox.nested) {
        option("settings", OWN_SANDBOX_OFF);
    }
    if let Some(model) = &spec.model {
        option("model", model);
    }
    if let Some(effort) = &spec.model_options.effort {
        option("effort", effort);
    }
    if let Some(mode) = &spec.permission_mode {
        option("permission-mode", mode);
    }
    if let Some(turns) = spec.limits.max_turns {
        option("max-turns", &turns.to_string());
    }
    if let Some(budget) = spec.limits.budget {
        option("max-budget-usd", &budget.dollars().to_string());
    }
    if let Some(file) = mcp_file {
        option("mcp-config", &file.display().to_string());
    }
    for server in spec.mcp_servers.iter().filter(|server| server.own) {
        option("allowedTools", &format!("mcp__{}", server.name));
    }
    if attempt.fork {
        args.push("--fork-session".into());
    }
    if attempt.settings == ProjectFilesMode::LeftOut {
        args.extend(project::left_out(&spec.cwd));
    }
    args.extend(spec.args.iter().map(Into::into));
    args
}

/// The tool servers as a file that only we can read: they may hold tokens, and arguments are public. A host that keeps a
/// folder for the session finds it there if it is killed; nobody would clear it away from a place that all share.
fn mcp_config(
    servers: &[McpServer],
    folder: Option<&Path>,
) -> Option<std::io::Result<NamedTempFile>> {
    if servers.is_empty() {
        return None;
    }
    let config: serde_json::Map<String, Json> = servers
        .iter()
        .map(|server| {
            let config = match &server.transport {
                McpTransport::Stdio { command, args, env } => {
                    json!({ "type": "stdio", "command": command, "args": args, "env": env })
                }
                McpTransport::Http { url, headers } => {
                    json!({ "type": "http", "url": url, "headers": headers })
                }
            };
            (server.name.clone(), config)
        })
        .collect();
    let write = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("musher-mcp-").suffix(".json");
        let mut file = match folder {
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                builder.tempfile_in(folder)?
            }
            None => builder.tempfile()?,
        };
        file.write_all(json!({ "mcpServers": config }).to_string().as_bytes())?;
        Ok(file)
    };
    Some(write())
}

/// How much the hook matters: what is left out cannot be run, whoever edits it.
pub(super) fn permission_hook(spec: &SessionSpec, settings: ProjectFilesMode) -> PermissionHook {
    match spec.rules.restrict() || settings == ProjectFilesMode::Loaded {
        true => PermissionHook::Needed,
        false => PermissionHook::Wished,
    }
}

/// What the first control request holds: instructions, and a hook before every tool where rules can hold one back.
pub(super) fn initialize(spec: &SessionSpec, settings: ProjectFilesMode) -> Json {
    let mut request = json!({});
    match &spec.system_prompt {
        None => {}
        Some(SystemPrompt::Append(text)) => request["appendSystemPrompt"] = text.clone().into(),
        Some(SystemPrompt::Replace(text)) => request["systemPrompt"] = json!([text]),
    }
    if spec.rules.see_every_call() {
        request["hooks"]["PreToolUse"] =
            json!([{ "matcher": "*", "hookCallbackIds": ["musher-permission"] }]);
    }
    if settings == ProjectFilesMode::Loaded {
        request["hooks"]["ConfigChange"] = project::hold();
    }
    request
}
