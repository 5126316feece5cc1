//! Runs the command of one gate to its end, in a process tree of its own, and keeps the beginning and the end of its output.

use std::time::Duration;

use bytes::Bytes;
use musher_core::{CallId, Channel, Delta, EventScope};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::expected::ExpectedOutput;
use super::opening::CommandOpening;
use super::plan::GateSpec;
use super::variables;
use crate::process::{
    Confinement, Errors, Graces, Launch, Process, ProcessControl, ProcessOutcome, ProcessorShare,
    ProgramError, Said, StdinMode, Tap, Weights, secrets,
};
use crate::session::{Attempt, BackendOrder, Signal};
use crate::tools::kept::{OutputRoom, UnreadOutput};

/// What is kept of the output. A run log cuts fields that are longer than both together.
const KEPT: OutputRoom = OutputRoom { head: 8 * 1024, tail: 20 * 1024 };
/// Pieces of output that may wait to be kept; when full, the command waits.
const PIECES: usize = 8;
/// What a command gets to end by itself once it is told to. It has no input that could be closed first.
const GRACES: Graces = Graces { close: Duration::ZERO, term: Duration::from_secs(3) };
/// A command that floods us may keep those graces from being counted; after this it is killed.
const FLOOD_KILL_TIMEOUT: Duration = Duration::from_secs(4);
/// Checks yield to what people do on the machine, and go before agents, which wait for them.
const SHARE: ProcessorShare = ProcessorShare { niceness: 10, weight: Some(200) };
/// A sign of life is given this often within the time after which silence would end the run.
const SIGNS_OF_LIFE: u32 = 3;

/// Why a command did not come to its end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndedBy {
    Deadline,
    Interrupt,
    /// The session is being ended.
    Session,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(super) struct GateRun {
    /// Whoever ended it; nobody, if it came to its end.
    pub(super) by: Option<EndedBy>,
    pub(super) exit: ProcessOutcome,
    /// Whether the command itself was begun, and not only the sandbox around it.
    pub(super) begun: bool,
    pub(super) as_expected: bool,
    pub(super) text: String,
    pub(super) took: Duration,
}

/// A gate that is being run, as one tool call.
pub(super) struct GateCommand<'a> {
    pub(super) gate: &'a GateSpec,
    pub(super) call: &'a CallId,
    pub(super) expected: ExpectedOutput,
    /// Orders for later that come meanwhile.
    pub(super) early: &'a mut Vec<BackendOrder>,
}

/// Where a command is on its way out.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// It is ended at the deadline.
    Running(Option<Instant>),
    /// It was told to end, and is killed at the deadline.
    Ending(EndedBy, Instant),
    Killed(EndedBy),
}

impl Step {
    fn by(self) -> Option<EndedBy> {
        match self {
            Self::Running(_) => None,
            Self::Ending(by, _) | Self::Killed(by) => Some(by),
        }
    }

    async fn deadline(self) {
        match self {
            Self::Running(Some(deadline)) | Self::Ending(_, deadline) => {
                tokio::time::sleep_until(deadline).await;
            }
            Self::Running(None) | Self::Killed(_) => std::future::pending().await,
        }
    }
}

impl GateCommand<'_> {
    /// Runs it. Nothing of it is left when this returns, or what is left is among the survivors.
    pub(super) async fn run(mut self, attempt: &mut Attempt) -> Result<GateRun, ProgramError> {
        let began = Instant::now();
        let (copies, mut pieces) = mpsc::channel(PIECES);
        let mut opening = CommandOpening::of(attempt.spec.sandbox.is_some());
        let launch = self.launch(attempt, copies, &opening);
        // A start is waited for, also when the session is being ended: only what was started can be known to be gone.
        let mut process = Process::start(launch).await?;
        let control = process.control();
        let mut output = UnreadOutput::with_room(KEPT);
        let mut held = Vec::new();
        let mut step = Step::Running(Instant::now().checked_add(self.gate.timeout()));
        let mut listening = true;
        let mut life = SignOfLife::within(attempt.spec.limits.inactivity);
        let exit = loop {
            let running = matches!(step, Step::Running(_));
            let killed = matches!(step, Step::Killed(_));
            tokio::select! {
                biased;
                () = attempt.port.kill.cancelled(), if !killed => {
                    control.kill().await;
                    step = Step::Killed(EndedBy::Session);
                }
                () = attempt.port.end.cancelled(), if running => {
                    step = end(&control, EndedBy::Session).await;
                }
                order = attempt.port.orders.recv(), if listening => match order {
                    Some(BackendOrder::Interrupt) if running => {
                        step = end(&control, EndedBy::Interrupt).await;
                    }
                    Some(BackendOrder::Interrupt) => {}
                    Some(order) => self.early.push(order),
                    None => listening = false,
                },
                () = step.deadline() => match step {
                    Step::Running(_) => step = end(&control, EndedBy::Deadline).await,
                    Step::Ending(by, _) | Step::Killed(by) => {
                        control.kill().await;
                        step = Step::Killed(by);
                    }
                },
                () = life.due() => {
                    // A driver with so much to do has no need of another sign.
                    let _busy = attempt.port.signals.try_send(vec![Signal::Alive].into());
                }
                Some(piece) = pieces.recv() => {
                    let piece = opening.without_word(&piece);
                    self.keep(attempt, &piece, &mut output, &mut held);
                }
                said = process.next() => match said {
                    Some(Said::Line(line, _)) => {
                        if opening.is_own(&line.body) {
                            self.expected.look_at(&line.body);
                        }
                    }
                    Some(Said::Ended(exit)) => break exit,
                    None => break ProcessOutcome::default(),
                },
            }
        };
        while let Ok(piece) = pieces.try_recv() {
            let piece = opening.without_word(&piece);
            self.keep(attempt, &piece, &mut output, &mut held);
        }
        self.keep(attempt, &opening.rest(), &mut output, &mut held);
        // A limit that ended it is told here.
        output.push(exit.stderr_tail.as_bytes());
        let as_expected = self.expected.is_met();
        Ok(GateRun {
            by: step.by(),
            exit,
            begun: opening.begun(),
            as_expected,
            text: output.take(),
            took: began.elapsed(),
        })
    }

    fn launch(
        &self,
        attempt: &Attempt,
        copies: mpsc::Sender<Bytes>,
        opening: &CommandOpening,
    ) -> Launch {
        let env = variables::of(&attempt.env, self.gate);
        let mut hidden = attempt.spec.secrets(&attempt.env);
        hidden.extend(secrets(&env));
        Launch {
            stdin: StdinMode::Null,
            stderr: Errors::WithOutput,
            // What is printed is kept in bounded room, so nobody need wait for it to be told.
            weights: Weights::default(),
            tap: Some(Tap::new(copies, hidden)),
            confinement: attempt.spec.sandbox.clone().map(Confinement::of),
            share: SHARE,
            ..attempt.launch("/bin/sh".into(), opening.args(&self.gate.command), env)
        }
    }

    /// Keeps a piece of output, and shows it to those who watch unless they are behind.
    fn keep(&self, attempt: &Attempt, piece: &[u8], output: &mut UnreadOutput, held: &mut Vec<u8>) {
        output.push(piece);
        held.extend_from_slice(piece);
        let whole = match std::str::from_utf8(held) {
            // A character whose end was not yet printed.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => held.len(),
        };
        let rest = held.split_off(whole);
        let text = std::mem::replace(held, rest);
        if text.is_empty() {
            return;
        }
        let delta = Delta {
            item: self.call.as_str().into(),
            channel: Channel::ToolOutput,
            text: String::from_utf8_lossy(&text).into_owned(),
            scope: EventScope::Main,
        };
        // Text in flight is disposable: the event that ends the call holds what counts.
        let _behind = attempt.port.signals.try_send(vec![Signal::Delta(delta)].into());
    }
}

async fn end(control: &ProcessControl, by: EndedBy) -> Step {
    control.end(GRACES).await;
    Step::Ending(by, Instant::now() + FLOOD_KILL_TIMEOUT)
}

/// Keeps the limit on silence from ending a gate: a build may be silent for long, and a gate has a deadline of its own.
struct SignOfLife(Option<tokio::time::Interval>);

impl SignOfLife {
    fn within(silence: Option<Duration>) -> Self {
        let period = silence.map(|silence| silence / SIGNS_OF_LIFE);
        Self(period.filter(|period| !period.is_zero()).map(tokio::time::interval))
    }

    async fn due(&mut self) {
        match &mut self.0 {
            Some(interval) => {
                interval.tick().await;
            }
            None => std::future::pending().await,
        }
    }
}
