//! One running command: a handle in front, and behind it a task that reads all it prints and sees its end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::CallProgress;
use super::command_sandbox::{CommandSandbox, SandboxPlace};
use super::kept::UnreadOutput;
use crate::process::{
    Containment, Errors, Graces, Host, Launch, Process, ProcessOutcome, ProcessorShare,
    ProgramError, RunMark, Said, StdinMode, Tap, Weights, secrets,
};

/// Pieces of output that may wait to be kept; when full, the command waits.
const PIECES: usize = 8;
/// What a command gets to end by itself once it is told to.
const GRACES: Graces = Graces { close: Duration::ZERO, term: Duration::from_secs(2) };
/// A command that floods us may keep those graces from being counted; after this it is killed.
const FLOOD_KILL_TIMEOUT: Duration = Duration::from_secs(3);
/// Nobody is at a terminal: no pager, no prompt, no colours. What was given beats these.
const QUIET: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Where and as what commands run.
#[derive(Debug)]
pub(super) struct ShellContext {
    pub(super) folder: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    /// What all commands carry; each has a mark of its own inside it.
    pub(super) mark: RunMark,
    pub(super) containment: Containment,
    pub(super) sandbox: Option<Arc<CommandSandbox>>,
    /// Cancelled when all commands must end.
    pub(super) gone: CancellationToken,
    pub(super) tasks: TaskTracker,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandEnd {
    ByItself(ProcessOutcome),
    /// It was told to end.
    Stopped(ProcessOutcome),
    TimedOut {
        exit: ProcessOutcome,
        after: Duration,
    },
}

impl CommandEnd {
    pub(super) fn exit(&self) -> &ProcessOutcome {
        match self {
            Self::ByItself(exit) | Self::Stopped(exit) | Self::TimedOut { exit, .. } => exit,
        }
    }
}

/// A command that was started. It goes on when this is dropped; its guard or the shop ends it.
#[derive(Debug, Clone)]
pub(super) struct ShellCommand {
    pub(super) line: String,
    output: Arc<Mutex<UnreadOutput>>,
    ended: watch::Receiver<Option<CommandEnd>>,
    stop: CancellationToken,
}

impl ShellCommand {
    /// Ends the command, if it has not ended, when this is dropped.
    pub(super) fn guard(&self) -> tokio_util::sync::DropGuard {
        self.stop.clone().drop_guard()
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<CommandEnd> {
        self.ended.borrow().clone()
    }

    /// Waits for the end. Whatever it is, it comes: a command that is told to end is killed in the end.
    pub(super) async fn end(&self) -> Option<CommandEnd> {
        let mut ended = self.ended.clone();
        ended.wait_for(Option::is_some).await.ok()?.clone()
    }

    /// What it printed since this was last asked.
    pub(super) fn take_output(&self) -> String {
        lock(&self.output).take()
    }
}

fn lock(output: &Mutex<UnreadOutput>) -> MutexGuard<'_, UnreadOutput> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ShellContext {
    /// Starts a command line in a shell.
    pub(super) async fn start(
        &self,
        line: String,
        timeout: Option<Duration>,
        progress: CallProgress,
    ) -> Result<ShellCommand, ProgramError> {
        let (copies, pieces) = mpsc::channel(PIECES);
        let mut env: Vec<(OsString, OsString)> =
            QUIET.iter().map(|(name, value)| (name.into(), value.into())).collect();
        env.extend(self.env.iter().cloned());
        env.push(("TERM".into(), "dumb".into()));
        // An orphan may be another command's, so orphans are swept when all commands end.
        let containment = Containment { host: Host::Shared, ..self.containment };
        let place = SandboxPlace {
            folder: self.folder.clone(),
            env: env.clone(),
            mark: self.mark.part(),
            containment,
        };
        let (sandbox, mark) = (self.sandbox.clone(), self.mark.part());
        let args = vec!["-c".into(), line.clone().into()];
        let (began, begin) = oneshot::channel();
        let (said, ended) = watch::channel(None);
        let output = Arc::new(Mutex::new(UnreadOutput::default()));
        let stop = self.gone.child_token();
        let (kept, told) = (output.clone(), stop.clone());
        // The task starts it as well: whoever stops waiting in the middle of a start cannot lose half a tree.
        crate::task::detach(Box::pin(self.tasks.track_future(async move {
            let started = async {
                let cwd = place.folder.clone();
                let confinement = match sandbox {
                    Some(sandbox) => Some(sandbox.enter(place).await?),
                    None => None,
                };
                let launch = Launch {
                    program: "/bin/sh".into(),
                    args,
                    cwd,
                    tap: Some(Tap::new(copies, secrets(&env))),
                    env,
                    mark,
                    containment,
                    stdin: StdinMode::Null,
                    stderr: Errors::WithOutput,
                    weights: Weights::default(),
                    confinement,
                    share: ProcessorShare::default(),
                };
                Process::start(launch).await
            };
            let process = match started.await {
                Ok(process) => process,
                Err(error) => {
                    let _nobody_waits = began.send(Err(error));
                    return;
                }
            };
            let _nobody_waits = began.send(Ok(()));
            let held = Vec::new();
            let task = Task { process, pieces, output: kept, stop: told, timeout, progress, held };
            let _nobody_waits = said.send(Some(task.run().await));
        })));
        let unless_started = stop.clone().drop_guard();
        // A runtime that shuts down drops the task, and the end of the command tells it.
        if let Ok(Err(error)) = begin.await {
            return Err(error);
        }
        Ok(ShellCommand { line, output, ended, stop: unless_started.disarm() })
    }
}

struct Task {
    process: Process,
    pieces: mpsc::Receiver<Bytes>,
    output: Arc<Mutex<UnreadOutput>>,
    stop: CancellationToken,
    timeout: Option<Duration>,
    progress: CallProgress,
    /// The beginning of a character whose end was not yet printed.
    held: Vec<u8>,
}

/// Where a command is on its way out.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// It is ended at the deadline, if there is one.
    Running(Option<Instant>),
    /// It was told to end, and is killed at the deadline.
    Ending(Why, Instant),
    Killed(Why),
}

/// Why a command was told to end.
#[derive(Debug, Clone, Copy)]
enum Why {
    Stopped,
    TimedOut(Duration),
}

impl Task {
    async fn run(mut self) -> CommandEnd {
        let control = self.process.control();
        let mut step = Step::Running(self.timeout.map(|timeout| Instant::now() + timeout));
        loop {
            let running = matches!(step, Step::Running(_));
            tokio::select! {
                biased;
                () = self.stop.cancelled(), if running => {
                    control.end(GRACES).await;
                    step = Step::Ending(Why::Stopped, Instant::now() + FLOOD_KILL_TIMEOUT);
                }
                () = deadline(step) => match step {
                    Step::Running(_) => {
                        control.end(GRACES).await;
                        let why = Why::TimedOut(self.timeout.unwrap_or_default());
                        step = Step::Ending(why, Instant::now() + FLOOD_KILL_TIMEOUT);
                    }
                    Step::Ending(why, _) | Step::Killed(why) => {
                        control.kill().await;
                        step = Step::Killed(why);
                    }
                },
                Some(piece) = self.pieces.recv() => self.keep(&piece),
                said = self.process.next() => match said {
                    // The lines are the pieces once more.
                    Some(Said::Line(..)) => {}
                    Some(Said::Ended(exit)) => {
                        while let Ok(piece) = self.pieces.try_recv() {
                            self.keep(&piece);
                        }
                        return ended(step, exit);
                    }
                    None => return ended(step, ProcessOutcome::default()),
                },
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        lock(&self.output).push(piece);
        if !self.progress.is_followed() {
            return;
        }
        self.held.extend_from_slice(piece);
        let whole = match std::str::from_utf8(&self.held) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.held.len(),
        };
        let rest = self.held.split_off(whole);
        let text = std::mem::replace(&mut self.held, rest);
        if !text.is_empty() {
            self.progress.say(String::from_utf8_lossy(&text));
        }
    }
}

fn ended(step: Step, exit: ProcessOutcome) -> CommandEnd {
    match step {
        Step::Running(_) => CommandEnd::ByItself(exit),
        Step::Ending(Why::Stopped, _) | Step::Killed(Why::Stopped) => CommandEnd::Stopped(exit),
        Step::Ending(Why::TimedOut(after), _) | Step::Killed(Why::TimedOut(after)) => {
            CommandEnd::TimedOut { exit, after }
        }
    }
}

async fn deadline(step: Step) {
    match step {
        Step::Running(Some(deadline)) | Step::Ending(_, deadline) => {
            tokio::time::sleep_until(deadline).await;
        }
        Step::Running(None) | Step::Killed(_) => std::future::pending().await,
    }
}
