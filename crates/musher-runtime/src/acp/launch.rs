//! How an ACP agent is started, and what is asked of its session before the first prompt.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use musher_core::{ErrorClass, ErrorInfo, HintCode, SessionInfo};
use serde_json::{Value as Json, json};

use super::preset::AcpPreset;
use super::translate::{AcpOpening, AcpTranslator, OpenAs};
use crate::conversation::Conversation;
use crate::process::{self, Launch, Process, ProgramError};
use crate::session::{Attempt, BackendEnd, ProjectFilesMode};
use crate::{McpTransport, ProjectFile, SessionSpec, Snapshot, SystemPrompt};

/// Runs one attempt to its end.
pub(super) async fn run(preset: Arc<AcpPreset>, attempt: Attempt) -> BackendEnd {
    let files = match files_of(&preset, &attempt).await {
        Ok(files) => files,
        Err(error) => return BackendEnd::failed(error),
    };
    let prepared = opening(&preset, &attempt).and_then(|opening| {
        let launch = launch(&preset, &attempt, files)?;
        Ok((opening, launch))
    });
    let (opening, launch) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return BackendEnd::failed(error),
    };
    let process = match Process::start(launch).await {
        Ok(process) => process,
        Err(error) => return BackendEnd::failed(start_error(&preset, &error)),
    };
    let mut translator = AcpTranslator::new(preset, opening);
    let hello = translator.hello();
    Conversation::new(attempt, process, translator).run(hello).await
}

/// What becomes of the files in the folder that the agent would run. Where there are none, nothing must be left out. An agent
/// that cannot be told to leave them out is not started beside files that nobody has agreed to.
async fn files_of(preset: &AcpPreset, attempt: &Attempt) -> Result<ProjectFilesMode, ErrorInfo> {
    if attempt.settings == ProjectFilesMode::Loaded {
        return Ok(ProjectFilesMode::Loaded);
    }
    let (folder, files): (_, Vec<ProjectFile>) = (attempt.spec.cwd.clone(), preset.project_files());
    let seen = tokio::task::spawn_blocking(move || Snapshot::of_folder(&folder, &files)).await;
    let names = match seen {
        Ok(Ok(seen)) => seen.files().map(|(path, _)| path.to_owned()).collect::<Vec<_>>(),
        // A folder that cannot be opened lets no agent start in it either.
        Ok(Err(_)) | Err(_) => return Ok(ProjectFilesMode::LeftOut),
    };
    if names.is_empty() {
        return Ok(ProjectFilesMode::Loaded);
    }
    if preset.leaves_out.is_some() {
        return Ok(ProjectFilesMode::LeftOut);
    }
    let names = names.join(", ");
    let message = format!("{} would run {names}, and nobody has agreed to them", preset.name);
    let how = attempt.spec.project.how_to_agree.as_deref();
    let hint = how.unwrap_or("agree to them, or remove them");
    Err(ErrorInfo::new(ErrorClass::Config, message).with_hint(hint).with_code("untrusted_files"))
}

fn launch(
    preset: &AcpPreset,
    attempt: &Attempt,
    files: ProjectFilesMode,
) -> Result<Launch, ErrorInfo> {
    let spec = &attempt.spec;
    let named = spec
        .program
        .as_deref()
        .or((!preset.program.is_empty()).then(|| Path::new(&preset.program)));
    let Some(program) = named else {
        let message = "the runtime `acp` needs the program of the agent";
        let error = ErrorInfo::new(ErrorClass::Config, message)
            .with_hint("name an agent that is known by name as the runtime");
        return Err(error.hinting(HintCode::NameProgram));
    };
    let search =
        attempt.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let program = process::find_for(attempt.spec.sandbox.as_deref(), program, search)
        .map_err(|error| start_error(preset, &error))?;
    let mut args: Vec<OsString> = preset.args.iter().map(Into::into).collect();
    let mut env = attempt.env.to_vec();
    let by_files = match files {
        ProjectFilesMode::Loaded => Some(&preset.trusted),
        ProjectFilesMode::LeftOut => preset.leaves_out.as_ref(),
    };
    let around = spec.sandbox.as_ref().filter(|sandbox| !sandbox.nested);
    let confined = around.map(|_| &preset.confined);
    let without_mode = confined.filter(|_| spec.permission_mode.is_none());
    let without_mode = without_mode.map(|_| &preset.confined_without_mode);
    for extra in by_files.into_iter().chain(confined).chain(without_mode) {
        args.extend(extra.args.iter().map(Into::into));
        for (name, value) in &extra.env {
            env.retain(|(known, _)| known.as_os_str() != name.as_str());
            env.push((name.into(), value.into()));
        }
    }
    args.extend(spec.args.iter().map(Into::into));
    Ok(attempt.launch(program, args, env))
}

fn start_error(preset: &AcpPreset, error: &ProgramError) -> ErrorInfo {
    let install = preset.install.as_deref().unwrap_or("install it, or name its program");
    process::start_error(error, install)
}

/// Everything that is said before the first prompt.
fn opening(preset: &AcpPreset, attempt: &Attempt) -> Result<AcpOpening, ErrorInfo> {
    let spec = &attempt.spec;
    let instructions = match &spec.system_prompt {
        None => None,
        Some(SystemPrompt::Append(text)) => Some(text.clone()),
        Some(SystemPrompt::Replace(_)) => {
            let message = format!("the system prompt of {} cannot be replaced", preset.name);
            let hint = "append to it instead";
            return Err(ErrorInfo::new(ErrorClass::Config, message).with_hint(hint));
        }
    };
    let open_as = match &attempt.resume {
        None => OpenAs::New,
        Some(session) if attempt.fork => OpenAs::Fork(session.clone()),
        Some(session) => OpenAs::Resume(session.clone()),
    };
    Ok(AcpOpening {
        open_as,
        cwd: spec.cwd.to_string_lossy().into_owned(),
        servers: tool_servers(spec),
        model: spec.model.clone(),
        mode: spec.permission_mode.clone(),
        effort: spec.model_options.effort.clone(),
        instructions,
        lineage: spec.resume.as_ref().map(|resume| resume.lineage.clone()).unwrap_or_default(),
        info: SessionInfo {
            runtime: Some(preset.name.clone()),
            model: spec.model.clone(),
            cwd: Some(spec.cwd.display().to_string()),
            resumed_from: attempt.resume.clone().filter(|_| !attempt.fork),
            forked_from: attempt.resume.clone().filter(|_| attempt.fork),
            ..SessionInfo::default()
        },
    })
}

/// The tool servers, as the protocol has them; the flag says which are reached over HTTP.
fn tool_servers(spec: &SessionSpec) -> Vec<(bool, Json)> {
    let pairs = |pairs: &std::collections::BTreeMap<String, String>| -> Vec<Json> {
        pairs.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
    };
    let one = |server: &crate::McpServer| match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            let env = pairs(env);
            (false, json!({ "name": server.name, "command": command, "args": args, "env": env }))
        }
        McpTransport::Http { url, headers } => {
            let headers = pairs(headers);
            let (kind, name) = ("http", &server.name);
            (true, json!({ "type": kind, "name": name, "url": url, "headers": headers }))
        }
    };
    spec.mcp_servers.iter().map(one).collect()
}
