//! How Codex is started: the program itself instead of its npm wrapper, variables, and what is asked of a thread.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use musher_core::{ErrorClass, ErrorInfo, SessionInfo};
use musher_sandbox::Mount;
use serde_json::{Map, Value as Json, json};

use super::home::{self, CodexHome};
use super::translate::{CodexTranslator, Login, Opening, OpeningKind};
use crate::conversation::Conversation;
use crate::process::{self, Launch, Process, ProgramError};
use crate::session::{Attempt, BackendEnd, ProjectFilesMode};
use crate::{McpTransport, SessionSpec, SystemPrompt};

/// The vendor's documented variables, which pass by themselves.
pub(super) const VARIABLES: &[&str] = &[
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORGANIZATION",
    "OPENAI_PROJECT",
    "AZURE_OPENAI_API_KEY",
    "CODEX_API_KEY",
    "CODEX_CA_CERTIFICATE",
    "NODE_EXTRA_CA_CERTS",
];

/// What it cannot do without: the model by key or by subscription, and the login of the latter.
pub(super) const HOSTS: &[&str] = &["api.openai.com", "auth.openai.com", "chatgpt.com"];

/// Variables that would make it believe it runs inside another one, or that are ours to set.
pub(super) const BANNED: &[&str] = &[
    home::VARIABLE,
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "NODE_OPTIONS",
];

/// Where the key of the API is looked for when nobody is logged in.
const KEYS: [&str; 2] = ["CODEX_API_KEY", "OPENAI_API_KEY"];

/// Settings with which it stays what was tested and asks no other host for anything.
const QUIET: &[&str] = &[
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    "feedback.enabled=false",
    "features.unbounded_connection_retries=false",
];

/// A permission mode: when it asks, and what its own sandbox lets it do, in its own words.
#[derive(Debug)]
pub(super) struct CodexMode {
    pub(super) name: &'static str,
    pub(super) policy: &'static str,
    /// As a thread is asked for it, and as a thread is changed to it.
    pub(super) sandbox: (&'static str, &'static str),
}

const WORKSPACE: (&str, &str) = ("workspace-write", "workspaceWrite");
const READ_ONLY: (&str, &str) = ("read-only", "readOnly");
const FULL_ACCESS: (&str, &str) = ("danger-full-access", "dangerFullAccess");

/// What becomes of its own sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnSandbox {
    /// It is in force; the folder for temporary files may be one of its own.
    On { own_scratch: bool },
    /// It is in one of ours, in which its own could not be made.
    Off,
}

/// The modes, the usual one first.
pub(super) const MODES: [CodexMode; 5] = [
    CodexMode { name: "untrusted", policy: "untrusted", sandbox: WORKSPACE },
    CodexMode { name: "on-request", policy: "on-request", sandbox: WORKSPACE },
    CodexMode { name: "never", policy: "never", sandbox: WORKSPACE },
    CodexMode { name: "read-only", policy: "on-request", sandbox: READ_ONLY },
    CodexMode { name: "full-access", policy: "never", sandbox: FULL_ACCESS },
];
/// The mode in which it plans and asks questions, and changes nothing.
pub(super) const PLAN: &str = "plan";

impl CodexMode {
    /// What its sandbox lets it do, as a turn is told. With a folder of its own for temporary files it does not need the shared one.
    pub(super) fn sandbox_policy(&self, own: OwnSandbox) -> Json {
        match own {
            OwnSandbox::On { own_scratch } if self.sandbox == WORKSPACE => {
                json!({ "type": self.sandbox.1, "excludeSlashTmp": own_scratch })
            }
            // To look and change nothing is more than the sandbox around it holds.
            OwnSandbox::Off if self.sandbox != READ_ONLY => {
                json!({ "type": "externalSandbox", "networkAccess": "enabled" })
            }
            OwnSandbox::On { .. } | OwnSandbox::Off => json!({ "type": self.sandbox.1 }),
        }
    }
}

/// The mode of this name.
pub(super) fn mode(name: &str) -> Option<&'static CodexMode> {
    MODES.iter().find(|mode| mode.name == name)
}

/// Runs one attempt to its end.
pub(super) async fn run(attempt: Attempt) -> BackendEnd {
    let prepared = check_mode(&attempt.spec).and_then(|()| {
        let home = home::prepare(&attempt)?;
        Ok((launch(&attempt, &home)?, home))
    });
    let (launch, home) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return BackendEnd::failed(error),
    };
    let process = match Process::start(launch).await {
        Ok(process) => process,
        Err(error) => return BackendEnd::failed(start_error(&error)),
    };
    let mut translator = CodexTranslator::new(opening(&attempt, &home));
    let hello = translator.hello();
    let ended = Conversation::new(attempt, process, translator).run(hello).await;
    drop(home);
    ended
}

fn launch(attempt: &Attempt, home: &CodexHome) -> Result<Launch, ErrorInfo> {
    let spec = &attempt.spec;
    let program = spec.program.as_deref().unwrap_or(Path::new("codex"));
    let search =
        attempt.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let program = process::find_for(spec.sandbox.as_deref(), program, search)
        .map_err(|error| start_error(&error))?;
    let mut env = attempt.env.to_vec();
    env.retain(|(name, _)| name != home::VARIABLE);
    env.push((home::VARIABLE.into(), home.path.clone().into()));
    if let Some(scratch) = &home.scratch {
        env.retain(|(name, _)| name != "TMPDIR");
        env.push(("TMPDIR".into(), scratch.clone().into()));
    }
    let mut launch = attempt.launch(without_wrapper(program), arguments(attempt), env);
    if let Some(confinement) = &mut launch.confinement {
        let own = [Some(&home.path), home.scratch.as_ref()];
        confinement.files.extend(own.into_iter().flatten().map(Mount::write));
    }
    Ok(launch)
}

fn arguments(attempt: &Attempt) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["app-server".into()];
    let mut set = |setting: &str| args.extend(["-c".into(), setting.into()]);
    QUIET.iter().for_each(|setting| set(setting));
    match attempt.settings {
        ProjectFilesMode::Loaded => {
            let folder = json!(attempt.spec.cwd.to_string_lossy());
            set(&format!("projects={{{folder}={{trust_level=\"trusted\"}}}}"));
        }
        // Skills of a project are loaded whether it is trusted or not.
        ProjectFilesMode::LeftOut => set("skills.include_instructions=false"),
    }
    args.extend(attempt.spec.args.iter().map(Into::into));
    args
}

/// The program in the npm package, if this is the wrapper that would start it: the wrapper is one more process that must be
/// stopped, and it does not pass on every signal.
fn without_wrapper(program: PathBuf) -> PathBuf {
    let Ok(real) = program.canonicalize() else { return program };
    if real.extension().is_none_or(|ending| ending != "js") {
        return program;
    }
    let Some(package) = real.parent().and_then(Path::parent) else { return program };
    let inside = "vendor/x86_64-unknown-linux-musl/bin/codex";
    let beside = package.with_file_name("codex-linux-x64").join(inside);
    let below = package.join("node_modules/@openai/codex-linux-x64").join(inside);
    let found = [beside, below].into_iter().find(|binary| binary.is_file());
    found.unwrap_or(program)
}

fn start_error(error: &ProgramError) -> ErrorInfo {
    process::start_error(error, super::INSTALL)
}

/// Refuses a mode that it does not have.
fn check_mode(spec: &SessionSpec) -> Result<(), ErrorInfo> {
    match spec.permission_mode.as_deref() {
        Some(name) if name != PLAN && mode(name).is_none() => {
            let message = format!("codex has no permission mode `{}`", name.escape_debug());
            let hint = format!("use one of {}, {PLAN}", MODES.map(|mode| mode.name).join(", "));
            Err(ErrorInfo::new(ErrorClass::Config, message).with_hint(hint))
        }
        Some(name)
            if mode(name).is_some_and(|mode| mode.sandbox == READ_ONLY)
                && spec.sandbox.as_ref().is_some_and(|sandbox| !sandbox.nested) =>
        {
            let message = "the permission mode `read-only` needs codex's own sandbox, which cannot be made inside of another";
            let hint = "set nested = true in its sandbox, or use another mode";
            Err(ErrorInfo::new(ErrorClass::Config, message).with_hint(hint))
        }
        Some(_) | None => Ok(()),
    }
}

/// Everything that is said before the first prompt.
fn opening(attempt: &Attempt, home: &CodexHome) -> Opening {
    let spec = &attempt.spec;
    let name = spec.permission_mode.as_deref();
    let mode = name.and_then(mode).unwrap_or(&MODES[0]);
    let mut thread = json!({
        "cwd": spec.cwd,
        "approvalPolicy": mode.policy,
        "sandbox": match attempt.settings {
            ProjectFilesMode::Loaded if spec.sandbox.is_some() => FULL_ACCESS.0,
            ProjectFilesMode::Loaded => mode.sandbox.0,
            // A thread that begins with the right to write makes its project a trusted one, whose settings, hooks and tool
            // servers are loaded. The right comes with the first turn.
            ProjectFilesMode::LeftOut => READ_ONLY.0,
        },
        "config": { "mcp_servers": tool_servers(spec) },
    });
    if let Some(model) = &spec.model {
        thread["model"] = model.clone().into();
    }
    match &spec.system_prompt {
        None => {}
        Some(SystemPrompt::Append(text)) => thread["developerInstructions"] = text.clone().into(),
        Some(SystemPrompt::Replace(text)) => thread["baseInstructions"] = text.clone().into(),
    }
    let kind = match &attempt.resume {
        None => OpeningKind::Start,
        Some(session) if attempt.fork => OpeningKind::Fork(session.clone()),
        Some(session) => OpeningKind::Resume(session.clone()),
    };
    let key = KEYS.iter().find_map(|name| spec.environment.get(name)?.to_str());
    Opening {
        kind,
        thread,
        mode,
        own_sandbox: match &spec.sandbox {
            Some(_) => OwnSandbox::Off,
            None => OwnSandbox::On { own_scratch: home.scratch.is_some() },
        },
        plan: name == Some(PLAN),
        lineage: spec.resume.as_ref().map(|resume| resume.lineage.clone()).unwrap_or_default(),
        effort: spec.model_options.effort.clone(),
        login: match key.filter(|_| !home.logged_in) {
            Some(key) => Login::WithKey(key.to_owned()),
            None => Login::Done,
        },
        info: SessionInfo {
            runtime: Some("codex".into()),
            model: spec.model.clone(),
            cwd: Some(spec.cwd.display().to_string()),
            resumed_from: attempt.resume.clone().filter(|_| !attempt.fork),
            forked_from: attempt.resume.clone().filter(|_| attempt.fork),
            ..SessionInfo::default()
        },
    }
}

/// The tool servers, as its settings have them. They are said over its input: they may hold tokens, and arguments are public.
fn tool_servers(spec: &SessionSpec) -> Json {
    let servers = spec.mcp_servers.iter().map(|server| {
        let mut config = match &server.transport {
            McpTransport::Stdio { command, args, env } => {
                json!({ "command": command, "args": args, "env": env })
            }
            McpTransport::Http { url, headers } => json!({ "url": url, "http_headers": headers }),
        };
        if server.own {
            // Its tools need no leave.
            config["default_tools_approval_mode"] = json!("approve");
        }
        (server.name.clone(), config)
    });
    Json::Object(servers.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_behind_its_npm_wrapper() {
        let top = tempfile::tempdir().unwrap();
        let modules = top.path().join("lib/node_modules/@openai");
        let wrapper = modules.join("codex/bin/codex.js");
        let binary = modules.join("codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
        for file in [&wrapper, &binary] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let link = top.path().join("codex");
        std::os::unix::fs::symlink(&wrapper, &link).unwrap();
        assert_eq!(
            without_wrapper(link.clone()).canonicalize().unwrap(),
            binary.canonicalize().unwrap()
        );
        std::fs::remove_file(&binary).unwrap();
        assert_eq!(without_wrapper(link.clone()), link, "what is not found is left as it is");
    }
}
