//! The loop around every agent that is a program: its lines go to a translator, and what the driver wants goes to the program.

pub(crate) mod asks;
#[cfg(test)]
pub(crate) mod feeding;
mod frame;
#[cfg(feature = "json-rpc")]
mod json_rpc;
mod recording;

use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use musher_core::{ErrorClass, ErrorInfo, EventKind};

use crate::attachments;
use crate::process::{OutputLine, Process, ProcessControl, ProcessOutcome, ProcessRead, Weight};
use crate::session::{Attempt, BackendEnd, BackendOrder, FrameBatch, LADDER, Signal};

pub(crate) use frame::{AgentFrame, LineText, line_text};
#[cfg(feature = "json-rpc")]
pub(crate) use json_rpc::{RpcHandler, read_message};
pub use recording::Recording;

/// How long a program may take until it answers for the first time. Most need a second; a loaded machine needs more.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// What a line or an order led to.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    pub(crate) signals: Vec<Signal>,
    /// After how many signals a frame ended, where there are several.
    pub(crate) ends: Vec<usize>,
    /// Lines to write to the agent.
    pub(crate) replies: Vec<Bytes>,
    pub(crate) tools: ToolProcesses,
}

impl From<Vec<Signal>> for Translation {
    fn from(signals: Vec<Signal>) -> Self {
        Self { signals, ..Self::default() }
    }
}

/// What is to become of the processes that the program has started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ToolProcesses {
    /// They are the program's own business.
    #[default]
    Left,
    /// Those that live now are no tools: they stay.
    Noted,
    /// All that were not noted are ended: the program has given its tools up and left them running.
    Ended,
}

/// How a program takes images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageForm {
    /// It reads the file itself.
    Path,
    /// It is sent the bytes.
    Bytes,
}

/// Turns a program's lines into signals, and orders into lines. It is pure: it touches no process and no clock.
pub(crate) trait Translate: Debug {
    /// Takes in one line, and adds what it leads to. Every line gives at least one signal.
    fn read(&mut self, line: &OutputLine, step: Translation) -> Translation;

    fn order(&mut self, order: BackendOrder) -> Translation;

    /// How the program takes an image that goes with a prompt.
    fn images(&self) -> ImageForm {
        ImageForm::Path
    }

    /// Whether the program has answered for the first time.
    fn is_ready(&self) -> bool;

    /// Why the program is of no use any more, once it is; it is ended then.
    fn failure(&self) -> Option<&AgentFailure>;

    /// What the way in which it ended tells beyond its frames.
    fn exit_error(&self, _exit: &ProcessOutcome) -> Option<ErrorInfo> {
        None
    }
}

/// Why a program is of no use any more.
#[derive(Debug, Clone)]
pub(crate) struct AgentFailure {
    pub(crate) error: ErrorInfo,
    /// It does not know the session that was to be resumed.
    pub(crate) unknown_session: bool,
}

impl AgentFailure {
    pub(crate) fn fatal(error: ErrorInfo) -> Self {
        Self { error, unknown_session: false }
    }

    pub(crate) fn unknown_session(error: ErrorInfo) -> Self {
        Self { error, unknown_session: true }
    }
}

/// One attempt with one program.
pub(crate) struct Conversation<T> {
    attempt: Attempt,
    process: Process,
    control: ProcessControl,
    translator: T,
    /// The program did not answer in time.
    mute: Option<AgentFailure>,
    /// The end was already passed on.
    ending: bool,
    killing: bool,
}

enum Wake {
    Heard(Option<ProcessRead>),
    Order(BackendOrder),
    Silence,
    End,
    Kill,
}

impl<T: Translate> Conversation<T> {
    pub(crate) fn new(attempt: Attempt, process: Process, translator: T) -> Self {
        let control = process.control();
        Self { attempt, process, control, translator, mute: None, ending: false, killing: false }
    }

    /// Says the first words, and goes on until the program and its tree are gone.
    pub(crate) async fn run(mut self, opening: Translation) -> BackendEnd {
        self.carry_out(opening, None).await;
        let mut handshake = pin!(tokio::time::sleep(HANDSHAKE_TIMEOUT));
        loop {
            let port = &mut self.attempt.port;
            let greeted = self.translator.is_ready() || self.ending;
            // Most of what comes is the agent's. Orders come first, and the end is looked for again with all that is passed
            // on, so that an agent that never stops keeps nobody from ending it.
            let wake = tokio::select! {
                biased;
                Some(order) = port.orders.recv() => Wake::Order(order),
                heard = self.process.hear() => Wake::Heard(heard),
                () = port.kill.cancelled(), if !self.killing => Wake::Kill,
                () = port.end.cancelled(), if !self.ending => Wake::End,
                () = handshake.as_mut(), if !greeted => Wake::Silence,
            };
            match wake {
                Wake::Kill => self.kill().await,
                Wake::End => self.end().await,
                Wake::Silence => self.never_answered().await,
                Wake::Order(BackendOrder::Close) => self.control.close_input().await,
                Wake::Order(order) => {
                    let (order, lost) = self.with_images(order).await;
                    let mut step = self.translator.order(order);
                    step.signals.extend(lost);
                    self.carry_out(step, None).await;
                }
                Wake::Heard(Some(ProcessRead::Lines(lines, weight))) => {
                    self.read(lines, weight).await;
                }
                Wake::Heard(Some(ProcessRead::Closed)) => {
                    self.carry_out(vec![Signal::OutputClosed].into(), None).await;
                }
                Wake::Heard(Some(ProcessRead::Ended(exit))) => return self.ended(exit),
                // The process task ends only after it has said so, or with the whole program.
                Wake::Heard(None) => return BackendEnd::default(),
            }
        }
    }

    async fn read(&mut self, lines: Vec<OutputLine>, weight: Weight) {
        // Lines may be long, and what they meant is all that is needed from here on.
        let signals = Vec::with_capacity(lines.len() + 1);
        let mut step = Translation { signals, ..Translation::default() };
        for line in lines {
            if !step.signals.is_empty() {
                step.ends.push(step.signals.len());
            }
            step = self.translator.read(&line, step);
        }
        self.carry_out(step, Some(weight)).await;
        if self.translator.failure().is_some() && !self.ending {
            self.end().await;
        }
    }

    /// The order with the bytes of its images, where the program is sent them. One that cannot be read is told of; the
    /// prompt names its path in any case.
    async fn with_images(&self, order: BackendOrder) -> (BackendOrder, Vec<Signal>) {
        let BackendOrder::Prompt { id, text, images } = order else { return (order, Vec::new()) };
        if images.is_empty() || self.translator.images() == ImageForm::Path {
            return (BackendOrder::Prompt { id, text, images }, Vec::new());
        }
        let (images, lost) = attachments::load(images).await;
        let lost = lost.into_iter().map(Signal::event).collect();
        (BackendOrder::Prompt { id, text, images }, lost)
    }

    async fn never_answered(&mut self) {
        let seconds = HANDSHAKE_TIMEOUT.as_secs();
        let message = format!("the agent did not answer within {seconds} seconds of its start");
        let error = ErrorInfo::new(ErrorClass::Startup, message)
            .with_hint("start its program by hand and see what it waits for")
            .with_code("no_handshake");
        self.mute = Some(AgentFailure::fatal(error.clone()));
        self.carry_out(vec![Signal::event(EventKind::Error { error })].into(), None).await;
        self.end().await;
    }

    fn ended(self, exit: ProcessOutcome) -> BackendEnd {
        let failure = self.translator.failure().cloned().or(self.mute);
        let told = self.translator.exit_error(&exit);
        BackendEnd {
            exit_code: exit.code,
            signal: exit.signal,
            stderr_tail: Some(exit.stderr_tail),
            survivors: exit.survivors,
            unknown_session: failure.as_ref().is_some_and(|failure| failure.unknown_session),
            error: failure.map(|failure| failure.error).or(told),
        }
    }

    /// Writes to the program what a line or an order led to, and tells the driver of it.
    async fn carry_out(&mut self, step: Translation, weight: Option<Weight>) {
        for reply in step.replies {
            self.control.write(reply).await;
        }
        match step.tools {
            ToolProcesses::Left => {}
            ToolProcesses::Noted => self.control.note_children().await,
            ToolProcesses::Ended => self.control.end_children().await,
        }
        if step.signals.is_empty() {
            return;
        }
        let batch = FrameBatch { signals: step.signals, ends: step.ends, weight };
        let port = &self.attempt.port;
        let told = (port.kill.is_cancelled() && !self.killing)
            || (port.end.is_cancelled() && !self.ending);
        if !told && let Ok(permit) = port.signals.try_reserve() {
            return permit.send(batch);
        }
        // A host that does not listen must not keep the end from reaching the process.
        loop {
            let port = &self.attempt.port;
            let killed = tokio::select! {
                biased;
                () = port.kill.cancelled(), if !self.killing => true,
                () = port.end.cancelled(), if !self.ending => false,
                permit = port.signals.reserve() => {
                    if let Ok(permit) = permit {
                        permit.send(batch);
                    }
                    return;
                }
            };
            if killed { self.kill().await } else { self.end().await }
        }
    }

    async fn end(&mut self) {
        self.ending = true;
        self.control.end(LADDER).await;
    }

    async fn kill(&mut self) {
        self.killing = true;
        self.control.kill().await;
    }
}
