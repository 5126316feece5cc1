//! Finds the key of a service: in a variable, a file, or by a command; it is never written down anywhere.

use std::path::Path;
use std::time::Duration;

use musher_core::{ErrorClass, ErrorInfo};

use crate::process::{Errors, Launch, LineBody, Process, ProcessorShare, Said, StdinMode};
use crate::session::Attempt;
use crate::{Environment, KeySource};

/// No key is longer.
const MAX_KEY_BYTES: u64 = 64 * 1024;
/// How long a command may take to give a key; it may have to ask for a finger.
const KEY_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// A key with where it came from.
#[derive(Clone)]
pub(crate) struct ApiKey {
    pub(crate) value: String,
    pub(crate) source: String,
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key from {}", self.source)
    }
}

/// The key that a session is to use; `None` when none was named and none is found.
pub(crate) async fn find(attempt: &Attempt, usual: &[&str]) -> Result<Option<ApiKey>, ErrorInfo> {
    let environment = &attempt.spec.environment;
    let Some(source) = &attempt.spec.model_options.key else {
        return Ok(usual.iter().find_map(|name| variable(environment, name)));
    };
    let key = match source {
        KeySource::Env(name) => {
            variable(environment, name).ok_or_else(|| missing(source, "it is not set"))?
        }
        KeySource::File(path) => given(source, &file(path).map_err(|why| missing(source, &why))?)?,
        KeySource::Command(command) => {
            given(source, &run(attempt, command).await.map_err(|why| missing(source, &why))?)?
        }
    };
    Ok(Some(key))
}

fn variable(environment: &Environment, name: &str) -> Option<ApiKey> {
    let value = environment.get(name)?.to_str()?.trim();
    let source = format!("the variable {name}");
    (!value.is_empty()).then(|| ApiKey { value: value.to_owned(), source })
}

fn given(source: &KeySource, text: &str) -> Result<ApiKey, ErrorInfo> {
    let value = text.lines().next().unwrap_or_default().trim();
    // A header cannot hold anything else, and no key does.
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(missing(source, "its first line is no key"));
    }
    Ok(ApiKey { value: value.to_owned(), source: source.to_string() })
}

fn missing(source: &KeySource, why: &str) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Auth, format!("there is no key in {source}: {why}"))
        .with_hint("say where the key is found: a variable, a file or a command")
}

fn file(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_KEY_BYTES {
        return Err(format!("it has {size} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// The first line that a command prints. It runs as a process of the session, and ends with it.
async fn run(attempt: &Attempt, command: &str) -> Result<String, String> {
    let launch = Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        cwd: attempt.spec.cwd.clone(),
        env: attempt.env.to_vec(),
        mark: attempt.mark.clone(),
        containment: attempt.spec.containment,
        stdin: StdinMode::Null,
        stderr: Errors::Tail,
        weights: attempt.weights.clone(),
        // What it prints is the key, so that no copy of it is kept.
        tap: None,
        // It is the person's own command, and what it asks for the key is not there inside.
        confinement: None,
        share: ProcessorShare::default(),
    };
    let mut process = Process::start(launch).await.map_err(|error| error.to_string())?;
    let mut first = None;
    let all = async {
        while let Some(said) = process.next().await {
            match said {
                Said::Line(line, _) => {
                    if let LineBody::Whole(bytes) = &line.body {
                        first.get_or_insert(String::from_utf8_lossy(bytes).into_owned());
                    }
                }
                Said::Ended(exit) => return exit.code,
            }
        }
        None
    };
    let code = tokio::select! {
        code = tokio::time::timeout(KEY_COMMAND_TIMEOUT, all) => {
            code.map_err(|_| format!("it gave none within {KEY_COMMAND_TIMEOUT:?}"))?
        }
        () = attempt.port.kill.cancelled() => return Err("the session was ended".into()),
        () = attempt.port.end.cancelled() => return Err("the session was ended".into()),
    };
    match (code, first) {
        (Some(0), Some(line)) => Ok(line),
        (Some(0), None) => Err("it printed nothing".into()),
        (Some(code), _) => Err(format!("it exited with {code}")),
        (None, _) => Err("it was ended".into()),
    }
}
