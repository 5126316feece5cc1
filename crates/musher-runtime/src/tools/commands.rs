//! The command tools: run one and wait for it, or leave it running, look again and end it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use musher_core::ToolKind;
use musher_sandbox::Sandbox;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::command::{CommandEnd, ShellCommand, ShellContext};
use super::command_sandbox::CommandSandbox;
use super::input::{clip, parse, spec};
use super::{ReplyFuture, ReplyKind, Subject, ToolCall, ToolHost, ToolReply, ToolSpec, hosts};
use crate::process::{Containment, Environment, MARK, RunMark, sweep_own};

/// How long a command may take when nothing else is asked for, and at most.
const TIMEOUT: u32 = 120;
const MAX_COMMAND_SECONDS: u32 = 600;
/// How long a look at a background command may wait.
const WAIT: u32 = 120;
/// The longest command line; the kernel takes little more as one argument.
const LINE: usize = 100_000;
/// How many commands may run in the background.
const RUNNING: usize = 16;
/// How many that have ended are remembered for a last look.
const REMEMBERED: usize = 32;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCommand {
    /// The command line, for `sh`. It runs in the working folder, without a terminal and without input.
    command: String,
    /// After how many seconds the command is ended; by default 120, at most 600. A background command has no limit.
    timeout_seconds: Option<u32>,
    /// Leaves the command running and gives its id at once, for read_command and stop_command.
    background: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadCommand {
    /// The id that run_command gave.
    id: String,
    /// Waits this many seconds, at most 120, for the command to end; by default it does not wait.
    wait_seconds: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StopCommand {
    /// The id that run_command gave.
    id: String,
}

static SPECS: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
    let run = spec::<RunCommand>(
        "run_command",
        "Runs a command line with sh in the working folder and gives what it prints and its exit code. Nothing can be typed into it, and anything it leaves running is ended with it: use background for servers. Of long output the beginning and the end are shown.",
        ToolKind::Execute,
    );
    let read = spec::<ReadCommand>(
        "read_command",
        "Gives what a background command has printed since the last look, and whether it has ended.",
        ToolKind::Other,
    );
    let stop = spec::<StopCommand>(
        "stop_command",
        "Ends a background command with everything that it has started.",
        ToolKind::Other,
    );
    vec![
        ToolSpec { subject: Some(Subject::COMMAND), ..run },
        ToolSpec { parallel: true, ..read },
        stop,
    ]
});

/// Where and how commands run, for a host that has no session to take it from.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    pub folder: PathBuf,
    /// Commands get what its allow-list lets pass, and never what `hidden` names.
    pub environment: Environment,
    /// Names of variables that are for us alone, such as that of a key.
    pub hidden: Vec<String>,
    /// The mark of the run, so that its commands are found with it; by default a new one.
    pub mark: Option<String>,
    pub containment: Containment,
    /// The sandbox that commands run in; without it they have the rights of the user.
    pub sandbox: Option<Arc<Sandbox>>,
}

/// Runs commands in one folder. When it is closed or dropped, all of them end.
#[derive(Debug)]
pub struct CommandTools {
    shop: ShellContext,
    background: Mutex<Background>,
    _all_end: DropGuard,
}

#[derive(Debug, Default)]
struct Background {
    started: u64,
    commands: BTreeMap<u64, ShellCommand>,
}

impl CommandTools {
    pub fn new(spec: CommandSpec) -> Self {
        let inherited = spec.environment.get(MARK);
        let mark = match spec.mark {
            Some(own) => RunMark::named(own, inherited),
            None => RunMark::new(inherited),
        };
        let hidden: Vec<&str> = spec.hidden.iter().map(String::as_str).collect();
        let env = spec.environment.select(&[], &hidden);
        Self::in_session(&spec.folder, env, &mark, spec.containment, spec.sandbox)
    }

    /// The commands of a session: they have its variables, and are found by its mark.
    pub(crate) fn in_session(
        folder: &Path,
        env: Vec<(OsString, OsString)>,
        mark: &RunMark,
        containment: Containment,
        sandbox: Option<Arc<Sandbox>>,
    ) -> Self {
        let gone = CancellationToken::new();
        let shop = ShellContext {
            folder: folder.to_owned(),
            env,
            mark: mark.part(),
            containment,
            sandbox: sandbox.map(|sandbox| Arc::new(CommandSandbox::new(sandbox))),
            gone: gone.clone(),
            tasks: TaskTracker::new(),
        };
        Self { shop, background: Mutex::default(), _all_end: gone.drop_guard() }
    }

    async fn carry_out(
        &self,
        call: ToolCall,
        cancel: &CancellationToken,
    ) -> Result<ToolReply, ToolReply> {
        let Some(spec) = SPECS.iter().find(|spec| spec.name == call.name) else {
            return Err(hosts::unknown(&call.name, &SPECS));
        };
        let ToolCall { name, input, progress, .. } = call;
        match &*name {
            "run_command" => {
                let input: RunCommand = parse(spec, input)?;
                check(&input.command)?;
                // Whoever closes the tools waits for this call.
                let _busy = self.shop.tasks.token();
                if self.shop.gone.is_cancelled() {
                    return Err(ToolReply::failed("the run is over; no command is started"));
                }
                match input.background.unwrap_or(false) {
                    true => self.leave_running(input).await,
                    false => self.run(input, progress, cancel).await,
                }
            }
            "read_command" => {
                let input: ReadCommand = parse(spec, input)?;
                let (_, command) = self.find(&input.id)?;
                let wait = Duration::from_secs(input.wait_seconds.unwrap_or(0).min(WAIT).into());
                tokio::select! {
                    _ended = command.end() => {}
                    () = tokio::time::sleep(wait) => {}
                    () = cancel.cancelled() => return Err(ToolReply::cancelled()),
                }
                Ok(looked_at(&input.id, &command))
            }
            _ => {
                let input: StopCommand = parse(spec, input)?;
                let (number, command) = self.find(&input.id)?;
                command.stop();
                command.end().await;
                self.background().commands.remove(&number);
                Ok(looked_at(&input.id, &command))
            }
        }
    }

    async fn run(
        &self,
        input: RunCommand,
        progress: super::CallProgress,
        cancel: &CancellationToken,
    ) -> Result<ToolReply, ToolReply> {
        let seconds = input.timeout_seconds.unwrap_or(TIMEOUT).clamp(1, MAX_COMMAND_SECONDS);
        let timeout = Duration::from_secs(seconds.into());
        let command = self.shop.start(input.command, Some(timeout), progress).await;
        let command = command.map_err(|error| ToolReply::failed(error.to_string()))?;
        let _with_us = command.guard();
        let ended = tokio::select! {
            ended = command.end() => ended,
            () = cancel.cancelled() => {
                command.stop();
                command.end().await
            }
        };
        let output = command.take_output();
        let Some(ended) = ended else {
            return Err(ToolReply::cancelled());
        };
        Ok(told(&output, &ended))
    }

    async fn leave_running(&self, input: RunCommand) -> Result<ToolReply, ToolReply> {
        self.background().make_room()?;
        let timeout = input.timeout_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let command = self.shop.start(input.command, timeout, super::CallProgress::default()).await;
        let command = command.map_err(|error| ToolReply::failed(error.to_string()))?;
        let mut background = self.background();
        background.started += 1;
        let number = background.started;
        background.commands.insert(number, command);
        let id = id(number);
        let text = format!(
            "{id} runs in the background; look at it with read_command, end it with stop_command"
        );
        Ok(ToolReply::done(text).with_structured(json!({ "id": id, "running": true })))
    }

    fn background(&self) -> MutexGuard<'_, Background> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str) -> Result<(u64, ShellCommand), ToolReply> {
        let background = self.background();
        let number = id.strip_prefix("cmd-").and_then(|number| number.parse().ok());
        let found = number.and_then(|number| background.commands.get_key_value(&number));
        found.map(|(number, command)| (*number, command.clone())).ok_or_else(|| {
            let known: Vec<String> = background
                .commands
                .iter()
                .map(|(number, command)| {
                    format!("{} (`{}`)", self::id(*number), clip(&command.line))
                })
                .collect();
            let known = match known.is_empty() {
                true => "none is running; start one with run_command and background".to_owned(),
                false => format!("there are {}", known.join(", ")),
            };
            ToolReply::failed(format!("there is no background command `{}`; {known}", clip(id)))
        })
    }
}

fn id(number: u64) -> String {
    format!("cmd-{number}")
}

impl Background {
    /// Forgets the oldest that have ended, and refuses one more than may run.
    fn make_room(&mut self) -> Result<(), ToolReply> {
        let ended: Vec<u64> = self
            .commands
            .iter()
            .filter(|(_, command)| command.ended().is_some())
            .map(|(number, _)| *number)
            .collect();
        for number in ended.iter().take(ended.len().saturating_sub(REMEMBERED)) {
            self.commands.remove(number);
        }
        match self.commands.len() - ended.len().min(REMEMBERED) < RUNNING {
            true => Ok(()),
            false => Err(ToolReply::failed(format!(
                "{RUNNING} commands run in the background already; end one with stop_command first"
            ))),
        }
    }
}

fn check(line: &str) -> Result<(), ToolReply> {
    let refuse = |why: &str| Err(ToolReply::failed(format!("run_command: the command {why}")));
    if line.trim().is_empty() {
        return refuse("is empty; write a command line for sh");
    }
    if line.contains('\0') {
        return refuse("has a NUL byte; take it out");
    }
    if line.len() > LINE {
        return refuse("is too long; write it into a file with write_file and run that");
    }
    Ok(())
}

/// What a model is told of a command that has ended.
fn told(output: &str, ended: &CommandEnd) -> ToolReply {
    let exit = ended.exit();
    let (kind, how) = match ended {
        CommandEnd::ByItself(exit) => match (exit.code, exit.signal) {
            (Some(0), _) => (ReplyKind::Done, "exit code 0".to_owned()),
            (Some(code), _) => (ReplyKind::Failed, format!("exit code {code}")),
            (None, Some(signal)) => (ReplyKind::Failed, format!("ended by signal {signal}")),
            (None, None) => (ReplyKind::Failed, "ended, and nobody knows how".to_owned()),
        },
        CommandEnd::Stopped(_) => (ReplyKind::Cancelled, "stopped".to_owned()),
        CommandEnd::TimedOut { after, .. } => (
            ReplyKind::Failed,
            format!(
                "stopped after {} seconds; give it a longer timeout_seconds, or run it in the background",
                after.as_secs()
            ),
        ),
    };
    let mut how = how;
    // What a command prints is among its output; this is said of it.
    if !exit.stderr_tail.is_empty() {
        how.push_str(&format!("; {}", exit.stderr_tail.trim()));
    }
    if !exit.survivors.is_empty() {
        how.push_str(&format!("; still alive: {:?}", exit.survivors));
    }
    let structured = json!({
        "exit_code": exit.code,
        "signal": exit.signal,
        "timed_out": matches!(ended, CommandEnd::TimedOut { .. }),
    });
    let text = match output.trim_end_matches('\n') {
        "" => format!("[no output; {how}]"),
        output => format!("{output}\n[{how}]"),
    };
    ToolReply { kind, exit_code: exit.code, ..ToolReply::done(text) }.with_structured(structured)
}

/// What a model is told of a background command; that it failed does not mean that the look did.
fn looked_at(id: &str, command: &ShellCommand) -> ToolReply {
    // Asked first: what is printed after the answer belongs to the next look.
    let ended = command.ended();
    let output = command.take_output();
    let Some(ended) = ended else {
        let text = match output.trim_end_matches('\n') {
            "" => format!("[{id} runs; nothing new]"),
            output => format!("{output}\n[{id} runs]"),
        };
        return ToolReply::done(text).with_structured(json!({ "id": id, "running": true }));
    };
    let reply = told(&output, &ended);
    let mut structured = reply.structured.unwrap_or_default();
    structured["id"] = json!(id);
    structured["running"] = json!(false);
    ToolReply { kind: ReplyKind::Done, structured: Some(structured), ..reply }
}

impl ToolHost for CommandTools {
    fn tools(&self) -> Vec<ToolSpec> {
        SPECS.clone()
    }

    fn offers(&self, name: &str) -> bool {
        SPECS.iter().any(|spec| spec.name == name)
    }

    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        Box::pin(
            async move { self.carry_out(call, cancel).await.unwrap_or_else(|refusal| refusal) },
        )
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = Vec<i32>> + Send + '_>> {
        Box::pin(async {
            self.shop.gone.cancel();
            self.shop.tasks.close();
            self.shop.tasks.wait().await;
            if let Some(sandbox) = &self.shop.sandbox {
                sandbox.end().await;
            }
            let (mark, containment) = (self.shop.mark.clone(), self.shop.containment);
            let swept = tokio::task::spawn_blocking(move || sweep_own(&mark, containment));
            swept.await.unwrap_or_else(|cause| {
                warn!(%cause, "sweep after the agent's commands was cut short");
                Vec::new()
            })
        })
    }
}
