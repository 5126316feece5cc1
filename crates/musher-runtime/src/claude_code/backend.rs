//! The process side: starts the agent, feeds its lines to the translator and writes what comes back.

use musher_core::{ErrorClass, ErrorInfo, SessionId, SessionInfo};
use uuid::Uuid;

use super::launch::{self, PreparedLaunch};
use super::translate::{Translation, Translator};
use crate::process::{Process, ProcessControl, ProcessOutcome, ProcessRead, Weight};
use crate::session::{Attempt, BackendEnd, BackendOrder, FrameBatch, LADDER, Signal};

/// Runs one attempt to its end.
pub(super) async fn run(attempt: Attempt) -> BackendEnd {
    let session = match &attempt.resume {
        Some(earlier) if !attempt.fork => earlier.clone(),
        Some(_) | None => SessionId::new(Uuid::new_v4().to_string()),
    };
    let PreparedLaunch { launch, mcp_file } = match launch::prepare(&attempt, &session) {
        Ok(ready) => ready,
        Err(error) => return BackendEnd::failed(error),
    };
    let process = match Process::start(launch).await {
        Ok(process) => process,
        Err(error) => return BackendEnd::failed(launch::start_error(&error)),
    };
    let ended = Conversation::new(attempt, process).run(session).await;
    drop(mcp_file);
    ended
}

struct Conversation {
    attempt: Attempt,
    process: Process,
    control: ProcessControl,
    translator: Translator,
    /// The end was already passed on.
    ending: bool,
    killing: bool,
}

enum Wake {
    Heard(Option<ProcessRead>),
    Order(BackendOrder),
    End,
    Kill,
}

impl Conversation {
    fn new(attempt: Attempt, process: Process) -> Self {
        let control = process.control();
        let translator = Translator::default();
        Self { attempt, process, control, translator, ending: false, killing: false }
    }

    async fn run(mut self, session: SessionId) -> BackendEnd {
        let (spec, settings) = (&self.attempt.spec, self.attempt.settings);
        let (initialize, hook) =
            (launch::initialize(spec, settings), launch::permission_hook(spec, settings));
        let hello = self.translator.hello(initialize, hook);
        self.control.write(hello).await;
        let resumed = self.attempt.resume.clone();
        let opening = Translator::opening(SessionInfo {
            session: Some(session),
            runtime: Some("claude-code".into()),
            model: self.attempt.spec.model.clone(),
            cwd: Some(self.attempt.spec.cwd.display().to_string()),
            resumed_from: resumed.clone().filter(|_| !self.attempt.fork),
            forked_from: resumed.filter(|_| self.attempt.fork),
            ..SessionInfo::default()
        });
        self.carry_out(Translation { signals: vec![opening], ..Translation::default() }, None)
            .await;
        loop {
            let port = &mut self.attempt.port;
            // Most of what comes is the agent's. Orders come first, and the end is looked for again with all that is passed
            // on, so that an agent that never stops keeps nobody from ending it.
            let wake = tokio::select! {
                biased;
                Some(order) = port.orders.recv() => Wake::Order(order),
                heard = self.process.hear() => Wake::Heard(heard),
                () = port.kill.cancelled(), if !self.killing => Wake::Kill,
                () = port.end.cancelled(), if !self.ending => Wake::End,
            };
            match wake {
                Wake::Kill => self.kill().await,
                Wake::End => self.end().await,
                Wake::Order(BackendOrder::Close) => self.control.close_input().await,
                Wake::Order(order) => {
                    let step = self.translator.order(order);
                    self.carry_out(step, None).await;
                }
                Wake::Heard(Some(ProcessRead::Lines(lines, weight))) => {
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
                    let over = self.translator.unknown_session.is_some()
                        || self.translator.fatal.is_some();
                    if over && !self.ending {
                        self.end().await;
                    }
                }
                Wake::Heard(Some(ProcessRead::Closed)) => {
                    let signals = vec![Signal::OutputClosed];
                    self.carry_out(Translation { signals, ..Translation::default() }, None).await;
                }
                Wake::Heard(Some(ProcessRead::Ended(exit))) => {
                    let refused = self.refused(&exit);
                    return BackendEnd {
                        exit_code: exit.code,
                        signal: exit.signal,
                        stderr_tail: Some(exit.stderr_tail),
                        survivors: exit.survivors,
                        unknown_session: self.translator.unknown_session.is_some(),
                        error: self
                            .translator
                            .unknown_session
                            .or(self.translator.fatal)
                            .or(refused),
                    };
                }
                // The process task ends only after it has said so, or with the whole program.
                Wake::Heard(None) => return BackendEnd::default(),
            }
        }
    }

    /// An option that the program does not take is the person's to correct.
    fn refused(&self, exit: &ProcessOutcome) -> Option<ErrorInfo> {
        let words = exit.stderr_tail.lines().next()?.strip_prefix("error: option ")?;
        let at_once = !self.translator.has_spoken() && exit.code == Some(1);
        at_once.then(|| {
            ErrorInfo::new(ErrorClass::Config, format!("the agent refused its option {words}"))
        })
    }

    async fn carry_out(&mut self, step: Translation, weight: Option<Weight>) {
        for reply in step.replies {
            self.control.write(reply).await;
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
            let wake = tokio::select! {
                biased;
                () = port.kill.cancelled(), if !self.killing => Wake::Kill,
                () = port.end.cancelled(), if !self.ending => Wake::End,
                permit = port.signals.reserve() => {
                    if let Ok(permit) = permit {
                        permit.send(batch);
                    }
                    return;
                }
            };
            match wake {
                Wake::Kill => self.kill().await,
                Wake::End => self.end().await,
                Wake::Heard(_) | Wake::Order(_) => {}
            }
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
