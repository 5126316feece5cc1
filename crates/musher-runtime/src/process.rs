//! One contained process: started marked and alone, read by lines, ended with its whole tree.
//!
//! A handle in front, a task behind. The task owns the pipes and the tree; it waits for the exit and for the end of
//! the output separately and never without bound, so a grandchild that holds the output cannot hang a run, and the
//! exit cannot overtake the last line.

mod cgroup;
mod child;
mod confined;
mod environment;
mod framer;
mod guard;
mod interactive;
mod limits;
mod linux;
mod mark;
mod memory;
mod other;
mod program;
mod roots;
mod share;
mod spawner;
mod sweep;
mod table;
mod tail;
mod tap;
mod task;
mod tree;
mod weight;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use cgroup::Cgroup;
use limits::LimitGroups;
use tokio::sync::{mpsc, oneshot};

pub(crate) use confined::Confinement;
pub use environment::Environment;
pub(crate) use environment::{SECRET_LEN, password_in, secrets};
#[cfg(feature = "frames")]
pub(crate) use framer::Framer;
pub use framer::{LineBody, OutputLine};
pub use interactive::InteractiveProgram;
pub use limits::can_be_limited;
pub use mark::MARK;
pub(crate) use mark::{RunMark, is_mark};
pub use memory::{TreeOf, memory};
pub use other::OtherProcess;
pub(crate) use program::folder;
pub use program::{ProgramError, find};
#[cfg(feature = "frames")]
pub(crate) use program::{find_for, start_error};
pub use roots::reap_orphans;
pub(crate) use share::ProcessorShare;
pub(crate) use sweep::sweep_own;
pub use sweep::{control_group, sweep};
#[cfg(feature = "model")]
pub(crate) use tap::Copying;
pub(crate) use tap::Tap;
pub use weight::Weight;
pub(crate) use weight::Weights;

/// Reads whose lines may wait for their reader; when full, the agent's output is not read and the agent waits.
const READS: usize = 16;
/// Writes that may wait for the agent to read them.
const WRITES: usize = 64;

/// What the process that embeds this library is to its agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Host {
    /// A program with other things to do; only what descends from an agent or carries its mark is touched.
    #[default]
    Shared,
    /// A process that hosts one session alone and is a subreaper: every orphan that comes to it is the agent's.
    Dedicated,
}

/// How far an end reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sweep {
    /// The whole tree, also what made its own session or lost its parent.
    #[default]
    Tree,
    /// The same without a control group, as on a system where none can be made.
    WithoutGroup,
    /// The agent alone. It leaves processes behind; it exists so that tests can show what the sweep is for.
    RootOnly,
}

/// How a session's processes are held together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Containment {
    pub host: Host,
    pub sweep: Sweep,
}

/// A process to start.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) mark: RunMark,
    pub(crate) containment: Containment,
    pub(crate) stdin: StdinMode,
    pub(crate) stderr: Errors,
    pub(crate) weights: Weights,
    /// Where a copy of its output goes.
    pub(crate) tap: Option<Tap>,
    /// The sandbox that it is started in, if it is.
    pub(crate) confinement: Option<Confinement>,
    pub(crate) share: ProcessorShare,
}

/// Whether the process is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdinMode {
    Piped,
    Null,
}

/// Where what it says on stderr goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// Apart; the end of it is kept.
    Tail,
    /// Among the lines of output.
    WithOutput,
}

/// What was read from a process at once.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProcessRead {
    /// Lines, and what they weigh until whoever they are for has taken them.
    Lines(Vec<OutputLine>, Weight),
    /// It has closed its output and goes on.
    Closed,
    /// The last thing heard: it has exited, its output was read to the end, and its tree is gone.
    Ended(ProcessOutcome),
}

/// What comes out of a process, line by line.
#[derive(Debug)]
pub(crate) enum Said {
    /// A line, and what it weighs until whoever it is for has taken it.
    Line(OutputLine, Weight),
    /// As [`ProcessRead::Ended`].
    Ended(ProcessOutcome),
}

/// How a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessOutcome {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stderr_tail: String,
    /// Members of the tree that outlived the kill.
    pub survivors: Vec<i32>,
}

/// How long each step of an end may take.
#[derive(Debug, Clone, Copy)]
pub struct Graces {
    /// From the end of its input to SIGTERM.
    pub close: Duration,
    /// From SIGTERM to SIGKILL.
    pub term: Duration,
}

#[derive(Debug)]
enum Control {
    Write(Bytes),
    CloseInput,
    End(Graces),
    Kill,
    #[cfg(feature = "frames")]
    NoteChildren,
    #[cfg(feature = "frames")]
    EndChildren,
}

/// A running process. Dropping it kills the tree.
#[derive(Debug)]
pub struct Process {
    output: mpsc::Receiver<ProcessRead>,
    /// Lines that were heard and not said yet, with what they weigh together.
    rest: Option<(std::vec::IntoIter<OutputLine>, Weight)>,
    control: mpsc::Sender<Control>,
    pid: i32,
}

impl Process {
    /// Starts the process and the task that owns it. Whoever stops waiting for that leaves nothing behind: what was
    /// started meanwhile has an owner already, which ends the whole tree.
    pub(crate) async fn start(launch: Launch) -> Result<Self, ProgramError> {
        let path = launch.program.clone();
        let (reply, started) = oneshot::channel();
        crate::task::detach(Box::pin(async move {
            // A process that nobody waits for is dropped here.
            let _unwanted = reply.send(Self::start_owned(launch).await);
        }));
        let gone = |_| ProgramError::Spawn { path, source: std::io::ErrorKind::Interrupted.into() };
        started.await.map_err(gone)?
    }

    async fn start_owned(launch: Launch) -> Result<Self, ProgramError> {
        let path = launch.program.clone();
        let failed = |source| ProgramError::Spawn { path: path.clone(), source };
        let command = command(&launch).map_err(failed)?;
        let cgroup = match launch.containment.sweep {
            Sweep::Tree => Cgroup::make(&launch.mark),
            Sweep::WithoutGroup | Sweep::RootOnly => None,
        };
        let limits = launch.confinement.as_ref().map(Confinement::limits).unwrap_or_default();
        let limits = LimitGroups::make(limits, &launch.mark, cgroup.as_ref()).map_err(failed)?;
        let limited = limits.entrances().map_err(failed)?;
        launch.share.weigh(cgroup.as_ref());
        let mut entrance = cgroup.as_ref().and_then(Cgroup::entrance);
        if limits.on_tree {
            let gone = || failed(std::io::ErrorKind::NotFound.into());
            let entrance = entrance.as_mut().ok_or_else(gone)?;
            entrance.required = true;
        }
        let start = spawner::Start {
            command: command.command,
            entrance,
            limited,
            kept: command.kept,
            niceness: launch.share.niceness,
        };
        let child = spawner::spawn(start).await.map_err(failed)?;
        let pid = child.id();
        let (lines, output) = mpsc::channel(READS);
        let (control, orders) = mpsc::channel(WRITES);
        let task =
            task::LinuxTask::new(child, (cgroup, limits), command.merged, launch, lines, orders)
                .map_err(failed)?;
        crate::task::detach(Box::pin(task.run()));
        Ok(Self { output, rest: None, control, pid })
    }

    /// A descriptor for the first process inside of the sandbox that this one keeps.
    pub(crate) fn first_inside(&self) -> std::io::Result<OwnedFd> {
        table::only_child(self.pid)
    }

    /// The next lines, as many as were read at once, or the end; `None` only after the end.
    pub async fn hear(&mut self) -> Option<ProcessRead> {
        self.output.recv().await
    }

    /// The next line or the end; `None` only after the end.
    pub(crate) async fn next(&mut self) -> Option<Said> {
        loop {
            if let Some((lines, weight)) = &mut self.rest
                && let Some(line) = lines.next()
            {
                let share = weight.split(weight::units(line.kept()).min(weight.num_permits()));
                return share.map(|share| Said::Line(line, share));
            }
            match self.output.recv().await? {
                ProcessRead::Lines(lines, weight) => self.rest = Some((lines.into_iter(), weight)),
                ProcessRead::Closed => {}
                ProcessRead::Ended(exit) => return Some(Said::Ended(exit)),
            }
        }
    }

    /// A handle for writing and ending that can live apart from the reader.
    pub fn control(&self) -> ProcessControl {
        ProcessControl { control: self.control.clone() }
    }
}

/// Speaks to a running process.
#[derive(Debug, Clone)]
pub struct ProcessControl {
    control: mpsc::Sender<Control>,
}

impl ProcessControl {
    /// Writes bytes to its input, in order. A process that is gone swallows them: its end tells the story.
    pub async fn write(&self, bytes: Bytes) {
        let _gone = self.control.send(Control::Write(bytes)).await;
    }

    /// Ends its input after what was written so far.
    pub async fn close_input(&self) {
        let _gone = self.control.send(Control::CloseInput).await;
    }

    /// Ends it step by step: input closed, SIGTERM, SIGKILL, each to the whole tree.
    pub async fn end(&self, graces: Graces) {
        let _gone = self.control.send(Control::End(graces)).await;
    }

    /// Notes which processes it has started so far.
    #[cfg(feature = "frames")]
    pub(crate) async fn note_children(&self) {
        let _gone = self.control.send(Control::NoteChildren).await;
    }

    /// Ends by force what it has started since they were noted.
    #[cfg(feature = "frames")]
    pub(crate) async fn end_children(&self) {
        let _gone = self.control.send(Control::EndChildren).await;
    }

    /// Ends it by force, with its whole tree.
    pub async fn kill(&self) {
        let _gone = self.control.send(Control::Kill).await;
    }
}

struct Prepared {
    command: std::process::Command,
    /// What a sandbox is made of or entered by; the process must have it open.
    kept: Option<OwnedFd>,
    /// The reading end of the one pipe for both outputs, when they are merged.
    merged: Option<std::io::PipeReader>,
}

#[expect(clippy::disallowed_methods, reason = "this module is the owner of processes")]
fn command(launch: &Launch) -> std::io::Result<Prepared> {
    let (mut command, kept, cwd) = match &launch.confinement {
        Some(confinement) => {
            let confined = confinement.start(&launch.into())?;
            let mut command = std::process::Command::new(&confined.program);
            command.args(confined.args).env_clear().envs(confined.env);
            (command, Some(confined.kept), confined.cwd)
        }
        None => {
            let mut command = std::process::Command::new(&launch.program);
            let env = launch.env.iter().map(|(key, value)| (key, value));
            command.args(&launch.args).env_clear().envs(env);
            (command, None, launch.cwd.clone())
        }
    };
    command.current_dir(cwd).env(MARK, launch.mark.value()).stdin(match launch.stdin {
        StdinMode::Piped => Stdio::piped(),
        StdinMode::Null => Stdio::null(),
    });
    let merged = match launch.stderr {
        Errors::Tail => {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            None
        }
        Errors::WithOutput => {
            let (reader, writer) = std::io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            Some(reader)
        }
    };
    Ok(Prepared { command, kept, merged })
}

#[cfg(test)]
mod tests;
