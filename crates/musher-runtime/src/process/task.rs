//! The task behind a process: it owns the pipes and the tree until nothing is left of either.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::cgroup::Cgroup;
use super::child::AgentChild;
use super::confined::{Confinement, SandboxHolders};
use super::framer::{Framer, OutputLine};
use super::guard::{self, Guard};
use super::limits::LimitGroups;
use super::linux::ExitWatch;
use super::tail::StreamTail;
use super::tap::{Copying, Tap};
use super::tree::ProcessTree;
use super::{Control, Launch, ProcessOutcome, ProcessRead, Weight, Weights};

/// After the exit, output that is still in the pipe gets this long before what holds it is swept away.
const PIPE_DRAIN_TIMEOUT: Duration = Duration::from_millis(250);
/// After the sweep, a pipe that stays open without a word is given up.
const GIVE_UP: Duration = Duration::from_secs(2);
/// How much a process may print ahead of us.
const PIPE: usize = 256 * 1024;
/// How much may wait for a process to read it; one write may be longer.
const UNREAD: usize = 64 * 1024 * 1024;
/// How often a process that does not die is killed before it is given up.
const SWEEPS: u8 = 3;

pub(super) struct LinuxTask {
    child: AgentChild,
    exit: ExitWatch,
    tree: Option<ProcessTree>,
    input: Option<pipe::Sender>,
    writes: VecDeque<Bytes>,
    close_after_writes: bool,
    /// Somebody still holds the process.
    attended: bool,
    output: Option<pipe::Receiver>,
    /// The end of its output was told, or nobody needs to hear of it.
    told_of_end: bool,
    framer: Framer,
    copying: Option<Copying>,
    errors: Option<pipe::Receiver>,
    error_buffer: BytesMut,
    tail: StreamTail,
    lines: mpsc::Sender<ProcessRead>,
    weights: Weights,
    orders: mpsc::Receiver<Control>,
    step: Step,
    /// It is in a sandbox, which tells a signal that ended it by a code.
    confined: bool,
    /// What it may take of the machine.
    limits: LimitGroups,
}

/// Where the process is on its way out.
#[derive(Debug, Clone, Copy)]
enum Step {
    Running,
    /// Its input is closed; SIGTERM at the deadline.
    Closing {
        until: Instant,
        term: Duration,
    },
    /// It was told to end; the sweep comes at the deadline, and again if it does not help.
    Terminating {
        until: Instant,
        sweeps: u8,
    },
    /// It has exited; the sweep comes at the deadline or at the end of the output.
    Draining {
        status: Status,
        until: Instant,
    },
    /// The tree is gone; the output is read to its end or given up at the deadline.
    Swept {
        status: Status,
        until: Instant,
    },
}

impl Step {
    /// When it is over. A process that runs may do so for ever.
    fn until(self) -> Option<Instant> {
        match self {
            Self::Running => None,
            Self::Closing { until, .. }
            | Self::Terminating { until, .. }
            | Self::Draining { until, .. }
            | Self::Swept { until, .. } => Some(until),
        }
    }
}

/// What woke the task.
enum Wake {
    Order(Option<Control>),
    Said,
    HandedOn,
    Output(io::Result<usize>),
    Errors(io::Result<usize>),
    Wrote(io::Result<usize>),
    Exit,
    Deadline,
}

#[derive(Debug, Clone, Copy)]
struct Status {
    code: Option<i32>,
    signal: Option<i32>,
}

impl Status {
    fn of(status: ExitStatus, confined: bool) -> Self {
        match status.code() {
            // As shells do, bubblewrap adds the number of the signal to this code.
            Some(code) if confined && (129..=159).contains(&code) => {
                Self { code: None, signal: Some(code - 128) }
            }
            code => Self { code, signal: status.signal() },
        }
    }
}

impl LinuxTask {
    pub(super) fn new(
        mut child: AgentChild,
        (cgroup, limits): (Option<Cgroup>, LimitGroups),
        merged: Option<io::PipeReader>,
        launch: Launch,
        lines: mpsc::Sender<ProcessRead>,
        orders: mpsc::Receiver<Control>,
    ) -> io::Result<Self> {
        let pid = child.id();
        // From here on the tree is ended even when a step below fails.
        let holders =
            launch.confinement.as_ref().map_or(SandboxHolders::None, Confinement::holders);
        let confined = holders != SandboxHolders::None;
        let tree = ProcessTree::of(pid, cgroup, launch.mark, launch.containment, holders);
        let guard = Guard(Some(tree));
        let receiver = |fd: Option<OwnedFd>| fd.map(pipe::Receiver::from_owned_fd).transpose();
        let stdout = child.stdout.take().map(OwnedFd::from).or(merged.map(OwnedFd::from));
        let stdin = child.stdin.take().map(OwnedFd::from);
        if let Some(stdout) = &stdout {
            // An agent that floods is woken less often. Where so much is not granted, less will do.
            let _less = rustix::pipe::fcntl_setpipe_size(stdout, PIPE);
        }
        Ok(Self {
            exit: ExitWatch::of(child.pid())?,
            input: stdin.map(pipe::Sender::from_owned_fd).transpose()?,
            output: receiver(stdout)?,
            told_of_end: false,
            errors: receiver(child.stderr.take().map(OwnedFd::from))?,
            child,
            tree: guard.release(),
            writes: VecDeque::new(),
            close_after_writes: false,
            attended: true,
            framer: Framer::starting_at(launch.tap.as_ref().map_or(0, Tap::position)),
            copying: launch.tap.as_ref().map(Tap::open),
            error_buffer: BytesMut::with_capacity(4096),
            tail: StreamTail::default(),
            lines,
            weights: launch.weights,
            orders,
            step: Step::Running,
            confined,
            limits,
        })
    }

    pub(super) async fn run(mut self) {
        let mut waiting: Vec<OutputLine> = Vec::new();
        let mut survivors = Vec::new();
        let lines = self.lines.clone();
        let weights = self.weights.clone();
        loop {
            let copied = self.copying.as_ref().is_none_or(|copying| !copying.is_waiting());
            let quiet =
                self.output.is_none() && self.errors.is_none() && waiting.is_empty() && copied;
            match self.step {
                Step::Draining { status, .. } if quiet => {
                    survivors = self.sweep().await;
                    self.step = Step::Swept { status, until: Instant::now() };
                }
                Step::Swept { status, .. } if quiet => {
                    self.tail.push(self.limits.last_words(status.signal));
                    let exit = ProcessOutcome {
                        code: status.code,
                        signal: status.signal,
                        stderr_tail: self.tail.text(),
                        survivors,
                    };
                    // A reader that is gone does not need to hear of the end.
                    let _gone = self.lines.send(ProcessRead::Ended(exit)).await;
                    return;
                }
                Step::Running
                | Step::Closing { .. }
                | Step::Terminating { .. }
                | Step::Draining { .. }
                | Step::Swept { .. } => {}
            }
            let exited = matches!(self.step, Step::Draining { .. } | Step::Swept { .. });
            let until = self.step.until();
            // What is read is handed on before more is read: that is how a slow reader makes the agent wait.
            let may_read = waiting.is_empty() && copied && self.output.is_some();
            let may_write = !self.writes.is_empty() && self.input.is_some();
            let mute = self.output.is_none() && waiting.is_empty() && !exited && !self.told_of_end;
            let wake = tokio::select! {
                biased;
                order = self.orders.recv(), if self.attended => Wake::Order(order),
                room = room(&lines, &weights, &waiting), if !waiting.is_empty() => {
                    let together = std::mem::take(&mut waiting);
                    // Without room nobody will ever read them.
                    if let Some((permit, weight)) = room {
                        permit.send(ProcessRead::Lines(together, weight));
                    }
                    Wake::Said
                }
                () = hand_on(&mut self.copying), if !copied => Wake::HandedOn,
                read = read(&mut self.output, self.framer.buffer()), if may_read => Wake::Output(read),
                read = read(&mut self.errors, &mut self.error_buffer), if self.errors.is_some() => Wake::Errors(read),
                written = write(&mut self.input, self.writes.front()), if may_write => Wake::Wrote(written),
                () = self.exit.exited(), if !exited => Wake::Exit,
                room = lines.reserve(), if mute => {
                    self.told_of_end = true;
                    // A reader that is gone does not need to hear of it.
                    if let Ok(permit) = room {
                        permit.send(ProcessRead::Closed);
                    }
                    Wake::Said
                }
                () = passed(until), if until.is_some() => Wake::Deadline,
            };
            match wake {
                Wake::Order(order) => self.obey(order).await,
                // What the lines mean is wanted sooner than the copy of them; but an agent that floods is read on at once,
                // so that it need not be woken for each piece.
                Wake::Said if self.framer.is_flooded() => {}
                Wake::Said => tokio::task::yield_now().await,
                Wake::HandedOn => {}
                Wake::Output(read) => self.output_read(&read, &mut waiting),
                Wake::Errors(read) => self.errors_read(&read),
                Wake::Wrote(written) => self.wrote(&written),
                Wake::Exit => {
                    let status = match self.child.try_wait() {
                        Ok(Some(status)) => Status::of(status, self.confined),
                        Ok(None) => continue,
                        // The host takes in all its children, so nobody can know how this one ended.
                        Err(error) => {
                            warn!(pid = self.child.id(), cause = %error, "exit status of an agent is unknown");
                            Status { code: None, signal: None }
                        }
                    };
                    self.input = None;
                    self.step =
                        Step::Draining { status, until: Instant::now() + PIPE_DRAIN_TIMEOUT };
                }
                Wake::Deadline => {
                    if let Some(left) = self.overdue(waiting.is_empty()).await {
                        survivors = left;
                    }
                }
            }
        }
    }

    fn output_read(&mut self, read: &io::Result<usize>, waiting: &mut Vec<OutputLine>) {
        self.heard();
        if let (Ok(count), Some(copying)) = (read, &mut self.copying) {
            copying.push(self.framer.fresh(*count));
        }
        waiting.extend(std::iter::from_fn(|| self.framer.next_line()));
        if !matches!(read, Ok(1..)) {
            self.output = None;
            waiting.extend(self.framer.finish());
            if let Some(copying) = &mut self.copying {
                copying.finish();
            }
        }
    }

    fn errors_read(&mut self, read: &io::Result<usize>) {
        self.heard();
        self.tail.push(&self.error_buffer);
        self.error_buffer.clear();
        if !matches!(read, Ok(1..)) {
            self.errors = None;
        }
    }

    /// Output after the sweep is progress, so the wait for its end starts anew.
    fn heard(&mut self) {
        if let Step::Swept { until, .. } = &mut self.step {
            *until = Instant::now() + GIVE_UP;
        }
    }

    async fn obey(&mut self, order: Option<Control>) {
        let exited = matches!(self.step, Step::Draining { .. } | Step::Swept { .. });
        match order {
            Some(Control::Write(bytes)) if self.input.is_some() => {
                let waiting: usize = self.writes.iter().map(Bytes::len).sum();
                if waiting + bytes.len() > UNREAD && !self.writes.is_empty() {
                    // What it is sent would pile up without end.
                    self.tail.push(b"\nmusher: it does not read its input, so it was ended\n");
                    self.writes.clear();
                    self.input = None;
                    self.step = Step::Closing { until: Instant::now(), term: GIVE_UP };
                } else {
                    self.writes.push_back(bytes);
                }
            }
            Some(Control::Write(_)) => {}
            Some(Control::CloseInput) => self.close_input(),
            Some(Control::End(graces)) if !exited => {
                self.close_input();
                self.step =
                    Step::Closing { until: Instant::now() + graces.close, term: graces.term };
            }
            Some(Control::End(_)) => {}
            Some(Control::Kill) if !exited => {
                self.sweep().await;
                self.step = Step::Terminating { until: Instant::now() + GIVE_UP, sweeps: 1 };
            }
            Some(Control::Kill) => {}
            #[cfg(feature = "frames")]
            Some(Control::NoteChildren) => {
                guard::on_tree(&mut self.tree, ProcessTree::note).await;
            }
            #[cfg(feature = "frames")]
            Some(Control::EndChildren) => {
                let survivors = guard::on_tree(&mut self.tree, ProcessTree::kill_unnoted).await;
                if !survivors.is_empty() {
                    warn!(pids = ?survivors, "tools of an agent outlived their turn");
                }
            }
            // Nobody holds the process any more: it ends at once.
            None => {
                self.attended = false;
                if !exited {
                    self.sweep().await;
                    self.step = Step::Terminating { until: Instant::now() + GIVE_UP, sweeps: 1 };
                }
            }
        }
    }

    fn close_input(&mut self) {
        if self.writes.is_empty() {
            self.input = None;
        } else {
            self.close_after_writes = true;
        }
    }

    fn wrote(&mut self, written: &io::Result<usize>) {
        match written {
            Ok(count) => {
                if let Some(front) = self.writes.front_mut() {
                    front.advance(*count);
                    if front.is_empty() {
                        self.writes.pop_front();
                    }
                }
                if self.writes.is_empty() && self.close_after_writes {
                    self.input = None;
                }
            }
            // The reader is gone; its exit is what matters.
            Err(error) => {
                debug!(pid = self.child.id(), cause = %error, "agent takes no more input");
                self.input = None;
                self.writes.clear();
            }
        }
    }

    /// What a passed deadline demands; gives the survivors when it was the sweep after the exit.
    async fn overdue(&mut self, reader_keeps_up: bool) -> Option<Vec<i32>> {
        match self.step {
            Step::Running => None,
            Step::Closing { term, .. } => {
                self.input = None;
                if let Some(tree) = &mut self.tree {
                    tree.signal(Signal::TERM);
                }
                self.step = Step::Terminating { until: Instant::now() + term, sweeps: 0 };
                None
            }
            Step::Terminating { sweeps: SWEEPS.., .. } => {
                // Not even the kernel can end it. The run must not wait for ever, and says who is left.
                let survivors = self.sweep().await;
                self.output = None;
                self.errors = None;
                let status = Status { code: None, signal: None };
                self.step = Step::Swept { status, until: Instant::now() };
                Some(survivors)
            }
            Step::Terminating { sweeps, .. } => {
                self.sweep().await;
                // The exit of what was killed is still to be seen.
                self.step =
                    Step::Terminating { until: Instant::now() + GIVE_UP, sweeps: sweeps + 1 };
                None
            }
            Step::Draining { status, .. } => {
                let survivors = self.sweep().await;
                self.step = Step::Swept { status, until: Instant::now() + GIVE_UP };
                Some(survivors)
            }
            Step::Swept { status, .. } => {
                if reader_keeps_up {
                    self.output = None;
                    self.errors = None;
                    if let Some(copying) = &mut self.copying {
                        copying.finish();
                    }
                    if let Some(line) = self.framer.finish()
                        && let Some(weight) = self.weights.room_for(line.kept()).await
                    {
                        let _gone = self.lines.send(ProcessRead::Lines(vec![line], weight)).await;
                    }
                }
                self.step = Step::Swept { status, until: Instant::now() + GIVE_UP };
                None
            }
        }
    }

    /// Kills the whole tree.
    async fn sweep(&mut self) -> Vec<i32> {
        guard::on_tree(&mut self.tree, ProcessTree::kill).await
    }
}

impl Drop for LinuxTask {
    /// A task that is dropped before its end, as by a runtime that shuts down, still leaves nothing behind.
    fn drop(&mut self) {
        let exited = matches!(self.step, Step::Swept { .. });
        if let Some(mut tree) = self.tree.take().filter(|_| !exited) {
            tree.kill();
            let _already_waited = self.child.wait();
        }
    }
}

async fn read(pipe: &mut Option<pipe::Receiver>, buffer: &mut BytesMut) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read_buf(buffer).await,
        None => std::future::pending().await,
    }
}

async fn passed(time: Option<Instant>) {
    if let Some(time) = time {
        tokio::time::sleep_until(time).await;
    }
}

async fn hand_on(copying: &mut Option<Copying>) {
    match copying {
        Some(copying) => copying.hand_on().await,
        None => std::future::pending().await,
    }
}

async fn write(pipe: &mut Option<pipe::Sender>, bytes: Option<&Bytes>) -> io::Result<usize> {
    match (pipe, bytes) {
        (Some(pipe), Some(bytes)) => pipe.write(bytes).await,
        _ => std::future::pending().await,
    }
}

/// Waits until there is room for lines, in the channel and by their weight.
async fn room<'a>(
    lines: &'a mpsc::Sender<ProcessRead>,
    weights: &Weights,
    waiting: &[OutputLine],
) -> Option<(mpsc::Permit<'a, ProcessRead>, Weight)> {
    let weight = weights.room_for(waiting.iter().map(OutputLine::kept).sum()).await?;
    Some((lines.reserve().await.ok()?, weight))
}
