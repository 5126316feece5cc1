//! Plays one check run: each prompt is one pass through the gates, and each gate is a tool call.

use std::fmt::Write;
use std::sync::Arc;

use musher_core::{
    CallId, ErrorClass, ErrorInfo, EventKind, Executor, GateEnded, GateFault, GateResult, HintCode,
    SessionInfo, ToolKind, ToolOutput, ToolPhase, ToolUpdate, Trigger, TurnEnded, TurnOutcome,
};
use serde_json::json;

use super::NAME;
use super::command::{EndedBy, GateCommand, GateRun};
use super::disk;
use super::expected::ExpectedOutput;
use super::judge::{GateExit, judge};
use super::plan::{GateSpec, GatesPlan};
use super::variables;
use crate::process::{ProgramError, secrets};
use crate::session::{Attempt, BackendEnd, BackendOrder, Signal};

/// Why a pass did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutShort {
    Interrupted,
    /// The session is being ended.
    Ending,
}

struct CheckRun {
    plan: Arc<GatesPlan>,
    attempt: Attempt,
    calls: u64,
    survivors: Vec<i32>,
    /// What was ordered while a gate was run.
    early: Vec<BackendOrder>,
}

/// Runs one attempt to its end.
pub(super) async fn check(plan: Arc<GatesPlan>, mut attempt: Attempt) -> BackendEnd {
    if let Some(earlier) = &attempt.resume {
        let message = format!("session {earlier} is not known: a check run keeps none");
        let error =
            ErrorInfo::new(ErrorClass::SessionNotFound, message).hinting(HintCode::StartFresh);
        return BackendEnd { unknown_session: true, ..BackendEnd::failed(error) };
    }
    if let Err(bad) = plan.check() {
        return BackendEnd::failed(ErrorInfo::new(ErrorClass::Config, bad.to_string()));
    }
    for gate in &plan.gates {
        let own: Vec<_> =
            gate.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        for (name, value) in secrets(&own) {
            // A session that is gone hears nothing that could be hidden.
            let _gone = attempt.hide(&name, &value).await;
        }
    }
    let mut run = CheckRun { plan, attempt, calls: 0, survivors: Vec::new(), early: Vec::new() };
    // What cuts a session short is told by its driver; here it only ends.
    let _cut = run.passes().await;
    BackendEnd { survivors: run.survivors, ..BackendEnd::default() }
}

impl CheckRun {
    async fn passes(&mut self) -> Result<(), CutShort> {
        let cwd = Some(self.attempt.spec.cwd.display().to_string());
        let info = SessionInfo { runtime: Some(NAME.into()), cwd, ..SessionInfo::default() };
        self.tell(vec![EventKind::SessionInfo(Box::new(info))]).await?;
        while self.next_prompt().await {
            let started = EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() };
            self.tell(vec![started]).await?;
            let mut said = String::new();
            let outcome = match self.pass(&mut said).await {
                Ok(()) => TurnOutcome::Completed,
                Err(CutShort::Interrupted) => TurnOutcome::Interrupted,
                Err(CutShort::Ending) => return Err(CutShort::Ending),
            };
            let ended = TurnEnded {
                final_text: Some(said).filter(|said| !said.is_empty()),
                synthesised: false,
                ..TurnEnded::synthesised(outcome, None)
            };
            self.tell(vec![EventKind::TurnEnded(Box::new(ended))]).await?;
        }
        Ok(())
    }

    /// Waits for a prompt; none comes when the session closes.
    async fn next_prompt(&mut self) -> bool {
        loop {
            let order = match self.early.is_empty() {
                false => Some(self.early.remove(0)),
                true => tokio::select! {
                    biased;
                    () = self.attempt.port.kill.cancelled() => None,
                    () = self.attempt.port.end.cancelled() => None,
                    order = self.attempt.port.orders.recv() => order,
                },
            };
            match order {
                Some(BackendOrder::Prompt { .. }) => return true,
                Some(BackendOrder::Close) | None => return false,
                // There is no gate to interrupt, and the rest is not for a runtime without these powers.
                Some(
                    BackendOrder::Interrupt
                    | BackendOrder::Steer { .. }
                    | BackendOrder::Answer { .. }
                    | BackendOrder::Permission { .. }
                    | BackendOrder::SetModel { .. }
                    | BackendOrder::SetMode { .. },
                ) => {}
            }
        }
    }

    /// Runs the gates in their order; `said` is the result of each in words.
    async fn pass(&mut self, said: &mut String) -> Result<(), CutShort> {
        let plan = self.plan.clone();
        let mut stopped = false;
        for gate in &plan.gates {
            if stopped {
                let _infallible = writeln!(said, "{}: not run", gate.name);
                continue;
            }
            let ended = self.gate(gate).await?;
            let _infallible = writeln!(said, "{}", in_words(&ended));
            stopped = gate.required && ended.result != GateResult::Green && !plan.all;
        }
        Ok(())
    }

    async fn gate(&mut self, gate: &GateSpec) -> Result<GateEnded, CutShort> {
        let port = &self.attempt.port;
        if port.end.is_cancelled() || port.kill.is_cancelled() {
            return Err(CutShort::Ending);
        }
        self.calls += 1;
        let call = CallId::new(format!("gate-{}", self.calls));
        let update =
            |phase| ToolUpdate { by: Executor::Host, ..ToolUpdate::phase(call.clone(), phase) };
        let proposed = ToolUpdate {
            name: Some(gate.name.clone()),
            kind: Some(ToolKind::Execute),
            subject: Some(gate.command.clone()),
            input: Some(json!({ "gate": gate.name, "command": gate.command })),
            ..update(ToolPhase::Proposed)
        };
        let begun = [proposed, update(ToolPhase::Running)];
        self.tell(begun.map(|update| EventKind::Tool(Box::new(update))).into()).await?;
        // The plan was looked at before anything was run.
        let expected = ExpectedOutput::of(gate.expect.as_deref()).map_err(|_| CutShort::Ending)?;
        let command = GateCommand { gate, call: &call, expected, early: &mut self.early };
        let ran = command.run(&mut self.attempt).await;
        let (mut text, exit, ms) = match &ran {
            Ok(run) => {
                self.survivors.extend(&run.exit.survivors);
                let exit = GateExit::of(run.exit.code, run.exit.signal);
                (run.text.clone(), exit, u64::try_from(run.took.as_millis()).unwrap_or(u64::MAX))
            }
            Err(_) => (String::new(), GateExit::of(None, None), 0),
        };
        let judged = self.judged(gate, ran).await;
        let (phase, note) = match &judged {
            Ok((GateResult::Green, ..)) => (ToolPhase::Completed, None),
            Ok((.., note)) => (ToolPhase::Failed, note.as_deref()),
            Err(_) => (ToolPhase::Cancelled, None),
        };
        if let Some(note) = note {
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let _infallible = write!(text, "{newline}[{note}]");
        }
        let output = ToolOutput { text, structured: None, exit_code: exit.code };
        let last = ToolUpdate { output: Some(output), elapsed_ms: Some(ms), ..update(phase) };
        let last = EventKind::Tool(Box::new(last));
        let (result, fault, _) = match judged {
            Ok(judged) => judged,
            Err(cut) => {
                self.tell(vec![last]).await?;
                return Err(cut);
            }
        };
        let (name, required) = (gate.name.clone(), gate.required);
        let (exit_code, signal) = (exit.code, exit.signal);
        let ended = GateEnded { gate: name, result, required, call, fault, exit_code, signal, ms };
        // Together, so that what was printed is in the event right before the end of the gate.
        self.tell(vec![last, EventKind::GateEnded(Box::new(ended.clone()))]).await?;
        Ok(ended)
    }

    /// The result of a gate, why it is broken if it is, and a note for those who read its output.
    async fn judged(
        &self,
        gate: &GateSpec,
        ran: Result<GateRun, ProgramError>,
    ) -> Result<(GateResult, Option<GateFault>, Option<String>), CutShort> {
        let run = match ran {
            Ok(run) => run,
            Err(error) => {
                let full = matches!(&error, ProgramError::Spawn { source, .. }
                    if source.kind() == std::io::ErrorKind::StorageFull);
                let fault = if full { GateFault::DiskFull } else { GateFault::NotStarted };
                let note = format!("it did not start: {error}");
                return Ok((GateResult::Broken, Some(fault), Some(note)));
            }
        };
        match run.by {
            Some(EndedBy::Session) => return Err(CutShort::Ending),
            Some(EndedBy::Interrupt) => return Err(CutShort::Interrupted),
            Some(EndedBy::Deadline) | None if !run.begun => {
                let note = "it did not start: its sandbox could not be made";
                return Ok((GateResult::Broken, Some(GateFault::NotStarted), Some(note.into())));
            }
            Some(EndedBy::Deadline) => {
                let note = format!("ended: it took longer than {:?}", gate.timeout());
                return Ok((GateResult::TimedOut, None, Some(note)));
            }
            None => {}
        }
        let spec = &self.attempt.spec;
        let disk_full = match run.exit.code {
            Some(0) | None => false,
            Some(_) => {
                let tmp = spec.sandbox.as_ref().map(|sandbox| sandbox.tmp.as_path());
                let env = variables::of(&self.attempt.env, gate);
                disk::any_is_full(disk::places(&spec.cwd, tmp, &env)).await
            }
        };
        let exit = GateExit::of(run.exit.code, run.exit.signal);
        let (result, fault) = judge(exit, run.as_expected, disk_full);
        let note = fault.map(|fault| match (fault, &gate.expect) {
            (GateFault::NotExpected, Some(expect)) => {
                format!("{}: `{expect}` matches no line", fault.as_str())
            }
            _ => fault.as_str().to_owned(),
        });
        Ok((result, fault, note))
    }

    /// Tells the driver, unless the session is being ended by force and nobody listens.
    async fn tell(&self, kinds: Vec<EventKind>) -> Result<(), CutShort> {
        let signals: Vec<Signal> = kinds.into_iter().map(Signal::event).collect();
        tokio::select! {
            biased;
            () = self.attempt.port.kill.cancelled() => Err(CutShort::Ending),
            sent = self.attempt.port.signals.send(signals.into()) => {
                sent.map_err(|_| CutShort::Ending)
            }
        }
    }
}

fn in_words(ended: &GateEnded) -> String {
    let mut words = format!("{}: {}", ended.gate, ended.result.as_str());
    let _infallible = match (ended.fault, ended.exit_code) {
        (Some(fault), _) => write!(words, ", {}", fault.as_str()),
        (None, Some(code)) if code != 0 => write!(words, ", exit {code}"),
        (None, _) => Ok(()),
    };
    if !ended.required {
        words.push_str(" (advisory)");
    }
    words
}
