//! Plays one script: turn by turn, step by step, listening to orders all the while.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use musher_core::{
    Answer, Approval, Ask, Channel, CostBasis, Delta, ErrorClass, ErrorInfo, EventKind, EventScope,
    HintCode, ItemBody, ItemId, Level, ModelChange, Question, QuestionOption, SessionId,
    SessionInfo, Spend, ToolKind, Trigger, TurnEnded, TurnOutcome, UsageReport,
};
use musher_sandbox::Sandbox;
use uuid::Uuid;

use super::format::{self, Scenario, ScriptStep};
use super::sessions::{Keep, ScriptProgress, ScriptSessionError, ScriptSessions};
use super::tools::Approved;
use super::{DRY_RUN, Script};
use crate::process::{Containment, RunMark, Weights};
use crate::session::{Attempt, BackendEnd, BackendOrder, FrameBatch, Signal};

/// Why a step did not come to its end.
#[derive(Debug)]
pub(super) enum StepBroken {
    Interrupted,
    Failed(ErrorInfo),
    TimedOut,
    /// The session is being ended.
    Ending,
}

pub(super) struct Player {
    attempt: Attempt,
    scenario: Scenario,
    model: String,
    session: SessionId,
    sessions: ScriptSessions,
    progress: ScriptProgress,
    minted: u64,
    prompt: String,
    last_said: Option<String>,
    survivors: Vec<i32>,
    /// What was ordered while a step was busy with something else.
    early: Vec<BackendOrder>,
}

/// Plays one attempt to its end.
pub(super) async fn play(script: Script, attempt: Attempt) -> BackendEnd {
    let sessions = ScriptSessions::new(script.sessions.clone());
    let refuse = |class, message: String| BackendEnd::failed(ErrorInfo::new(class, message));
    let given = match given(&script, &attempt) {
        Ok(given) => given,
        Err(message) => return refuse(ErrorClass::Config, message),
    };
    let mint = || SessionId::new(Uuid::new_v4().to_string());
    let (session, progress) = match &attempt.resume {
        None => {
            let script = given.unwrap_or_else(|| DRY_RUN.to_owned());
            (mint(), ScriptProgress { script, ..ScriptProgress::default() })
        }
        Some(earlier) => match sessions.load(earlier) {
            Err(ScriptSessionError::Unknown) => {
                let error = ErrorInfo::new(
                    ErrorClass::SessionNotFound,
                    format!("session {earlier} is not known"),
                )
                .hinting(HintCode::StartFresh);
                return BackendEnd { unknown_session: true, ..BackendEnd::failed(error) };
            }
            Err(ScriptSessionError::Damaged(why)) => return refuse(ErrorClass::Config, why),
            Ok(progress) if given.as_ref().is_some_and(|given| *given != progress.script) => {
                let message = format!("session {earlier} was begun with another script");
                return refuse(ErrorClass::Config, message);
            }
            Ok(progress) if attempt.fork => (mint(), progress),
            Ok(progress) => (earlier.clone(), progress),
        },
    };
    let scenario = match format::read(&progress.script) {
        Ok(scenario) => scenario,
        Err(why) => {
            let name =
                attempt.spec.program.as_ref().map(|file| format!("script `{}`: ", file.display()));
            return refuse(ErrorClass::Config, format!("{}{why}", name.unwrap_or_default()));
        }
    };
    let model = attempt.spec.model.clone().unwrap_or_else(|| scenario.model.clone());
    let player = Player {
        attempt,
        scenario,
        model,
        session,
        sessions,
        progress,
        minted: 0,
        prompt: String::new(),
        last_said: None,
        survivors: Vec::new(),
        early: Vec::new(),
    };
    player.run().await
}

/// The script that was asked for, if any was.
fn given(script: &Script, attempt: &Attempt) -> Result<Option<String>, String> {
    match (&attempt.spec.program, &script.text) {
        (Some(file), _) => std::fs::read_to_string(file)
            .map(Some)
            .map_err(|error| format!("script `{}` cannot be read: {error}", file.display())),
        (None, Some(text)) => Ok(Some(text.to_string())),
        (None, None) => Ok(None),
    }
}

impl Player {
    async fn run(mut self) -> BackendEnd {
        // What breaks off the session is told by its driver; here it only ends.
        let _broken = self.turns().await;
        BackendEnd { exit_code: Some(0), survivors: self.survivors, ..BackendEnd::default() }
    }

    async fn turns(&mut self) -> Result<(), StepBroken> {
        let spec = self.attempt.spec.clone();
        let resumed = self.attempt.resume.clone();
        self.event(EventKind::SessionInfo(Box::new(SessionInfo {
            // What is not kept cannot be gone on with, so it has no id to offer.
            session: self.sessions.are_kept().then(|| self.session.clone()),
            runtime: Some("script".into()),
            model: Some(self.model.clone()),
            cwd: Some(spec.cwd.display().to_string()),
            tools: Some(["write", "edit", "run"].map(String::from).to_vec()),
            resumed_from: resumed.clone().filter(|_| !self.attempt.fork),
            forked_from: resumed.filter(|_| self.attempt.fork),
            ..SessionInfo::default()
        })))
        .await?;
        self.say_cut_short().await?;
        while let Some(prompt) = self.next_prompt().await {
            self.prompt = prompt;
            self.turn().await?;
        }
        Ok(())
    }

    /// Waits between turns; nothing more comes when the session closes.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "one order is looked for; `until` takes the rest"
    )]
    async fn next_prompt(&mut self) -> Option<String> {
        let order = |order| match order {
            BackendOrder::Prompt { text, .. } => Ok(Some(text)),
            BackendOrder::Close => Ok(None),
            other => Err(other),
        };
        loop {
            match self.until(order).await {
                Ok(prompt) => return prompt,
                // There is no turn to interrupt.
                Err(StepBroken::Interrupted) => {}
                Err(StepBroken::Failed(_) | StepBroken::TimedOut | StepBroken::Ending) => {
                    return None;
                }
            }
        }
    }

    async fn turn(&mut self) -> Result<(), StepBroken> {
        self.last_said = None;
        let started = EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() };
        self.event(started).await?;
        let ended = match self.steps().await {
            Ok(()) => self.ended(TurnOutcome::Completed, None),
            Err(StepBroken::Interrupted) => self.ended(TurnOutcome::Interrupted, None),
            Err(StepBroken::Failed(error)) => self.ended(TurnOutcome::Failed, Some(error)),
            Err(broken @ (StepBroken::Ending | StepBroken::TimedOut)) => return Err(broken),
        };
        self.event(EventKind::TurnEnded(Box::new(ended))).await
    }

    fn ended(&mut self, outcome: TurnOutcome, error: Option<ErrorInfo>) -> TurnEnded {
        TurnEnded {
            final_text: self.last_said.take(),
            synthesised: false,
            ..TurnEnded::synthesised(outcome, error)
        }
    }

    async fn steps(&mut self) -> Result<(), StepBroken> {
        let mut call_open = false;
        loop {
            let Some(step) = self.scenario.steps.get(self.progress.step).cloned() else {
                if !call_open && self.last_said.is_none() {
                    self.say("The script is at its end.".into()).await?;
                }
                return Ok(());
            };
            // As with a model: one call says and thinks and may end in a tool, whose result goes to the next.
            if !call_open && !matches!(step, ScriptStep::Turn) {
                self.signal(Signal::ModelCall).await?;
                call_open = true;
            }
            call_open &= !matches!(
                step,
                ScriptStep::Tool { .. } | ScriptStep::Ask { .. } | ScriptStep::Approve { .. }
            );
            let at = self.progress.step;
            // What asks first begins with the answer; until then it has done nothing.
            let asks = matches!(
                step,
                ScriptStep::Tool { .. } | ScriptStep::Ask { .. } | ScriptStep::Approve { .. }
            );
            if !asks {
                self.begin(Keep::Cheaply)?;
            }
            let result = self.step(&step).await;
            let cut_off = matches!(result, Err(StepBroken::Ending | StepBroken::TimedOut));
            if self.progress.step > at || !cut_off {
                self.progress.step = at + 1;
                self.progress.open = false;
                self.save(Keep::Cheaply)?;
            }
            result?;
            if matches!(step, ScriptStep::Turn) {
                return Ok(());
            }
        }
    }

    /// Notes that the step is begun before it does anything: a step is never played twice, whatever cuts it short.
    pub(super) fn begin(&mut self, keep: Keep) -> Result<(), StepBroken> {
        self.progress.step += 1;
        self.progress.open = true;
        self.save(keep)
    }

    /// Says that the last step was cut short, if it was: nobody knows how much of it was done.
    async fn say_cut_short(&mut self) -> Result<(), StepBroken> {
        if !std::mem::take(&mut self.progress.open) {
            return Ok(());
        }
        let step = self.progress.step;
        let text = format!(
            "step {step} was begun and cut short, so it may be done in part; it is not played again"
        );
        let (level, code) = (Level::Warning, Some("step_cut_short".into()));
        self.event(EventKind::Notice { level, code, text }).await
    }

    async fn step(&mut self, step: &ScriptStep) -> Result<(), StepBroken> {
        match step {
            ScriptStep::Say(text) => self.say(self.fill(text)).await,
            ScriptStep::Think(text) => self.think(self.fill(text)).await,
            ScriptStep::Tool { tool, ask_first } => self.tool(tool, *ask_first).await,
            ScriptStep::Ask { question, options, multi, save } => {
                self.question(question, options, *multi, save.as_deref()).await
            }
            ScriptStep::Approve { act } => self.approve(act).await,
            ScriptStep::Usage { tokens, cost } => {
                let spend = Spend::costing(*tokens, *cost);
                let report = UsageReport {
                    cost_basis: if cost.is_some() {
                        CostBasis::Reported
                    } else {
                        CostBasis::Unknown
                    },
                    id: None,
                    ..UsageReport::call("", Some(self.model.clone()), spend)
                };
                self.event(EventKind::Usage(report)).await
            }
            ScriptStep::Fail { class, message } => {
                Err(StepBroken::Failed(ErrorInfo::new(*class, self.fill(message))))
            }
            ScriptStep::Hang => Err(self.interruption().await),
            ScriptStep::Turn => Ok(()),
        }
    }

    async fn say(&mut self, text: String) -> Result<(), StepBroken> {
        let item = self.stream(Channel::Text, &text).await?;
        self.last_said = Some(text.clone());
        let body = ItemBody::Text { text };
        self.event(EventKind::ItemDone { item, body, aborted: false }).await
    }

    async fn think(&mut self, text: String) -> Result<(), StepBroken> {
        let item = self.stream(Channel::Reasoning, &text).await?;
        let body = ItemBody::Reasoning { text, opaque: None };
        self.event(EventKind::ItemDone { item, body, aborted: false }).await
    }

    async fn stream(&mut self, channel: Channel, text: &str) -> Result<ItemId, StepBroken> {
        let item = ItemId::new(format!("item-{}", self.mint()));
        for word in text.split_inclusive(' ') {
            self.rest(self.scenario.pace).await?;
            let (item, text) = (item.clone(), word.to_owned());
            self.signal(Signal::Delta(Delta { item, channel, text, scope: EventScope::Main }))
                .await?;
        }
        Ok(item)
    }

    async fn question(
        &mut self,
        question: &str,
        options: &[String],
        multi: bool,
        save: Option<&str>,
    ) -> Result<(), StepBroken> {
        let options = options
            .iter()
            .map(|label| QuestionOption { label: label.clone(), description: None })
            .collect();
        let question = Question { text: self.fill(question), header: None, options, multi };
        let answer = self.ask(Ask::Question { questions: vec![question] }).await?;
        let told = match answer {
            Answer::Replies { replies } => {
                replies.first().map(musher_core::QuestionReply::joined).unwrap_or_default()
            }
            Answer::DenyAndInterrupt { .. } => return Err(StepBroken::Interrupted),
            Answer::Deny { .. }
            | Answer::Allow { .. }
            | Answer::AllowAlways { .. }
            | Answer::Form { .. } => "(no answer)".to_owned(),
        };
        if let Some(name) = save {
            self.progress.saved.insert(name.to_owned(), told);
        }
        Ok(())
    }

    async fn approve(&mut self, act: &str) -> Result<(), StepBroken> {
        let act = self.fill(act);
        let approved = self
            .approval(Approval {
                tool: "approve".into(),
                tool_kind: ToolKind::Other,
                call: None,
                subject: Some(act.clone()),
                subject_field: None,
                input: serde_json::json!({ "act": act }),
                edits: Vec::new(),
                reason: None,
                always: Vec::new(),
                human_only: false,
                shortened: None,
                as_is: false,
            })
            .await?;
        match approved {
            Approved::Yes { .. } => Ok(()),
            Approved::No { reason } => {
                let message = format!("`{act}` was not approved: {reason}");
                Err(StepBroken::Failed(ErrorInfo::new(ErrorClass::Policy, message)))
            }
        }
    }

    /// Puts in what is known by name; unknown names stay, because a shell has its own.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = text.replace("${prompt}", &self.prompt);
        for (name, value) in &self.progress.saved {
            filled = filled.replace(&format!("${{{name}}}"), value);
        }
        filled
    }

    pub(super) fn mint(&mut self) -> u64 {
        self.minted += 1;
        self.minted
    }

    pub(super) fn cwd(&self) -> PathBuf {
        self.attempt.spec.cwd.clone()
    }

    pub(super) fn env(&self) -> Vec<(OsString, OsString)> {
        self.attempt.env.to_vec()
    }

    pub(super) fn mark(&self) -> RunMark {
        self.attempt.mark.clone()
    }

    pub(super) fn weights(&self) -> Weights {
        self.attempt.weights.clone()
    }

    pub(super) fn containment(&self) -> Containment {
        self.attempt.spec.containment
    }

    pub(super) fn sandbox(&self) -> Option<Arc<Sandbox>> {
        self.attempt.spec.sandbox.clone()
    }

    pub(super) fn survivors(&mut self, survivors: Vec<i32>) {
        self.survivors.extend(survivors);
    }

    fn save(&self, keep: Keep) -> Result<(), StepBroken> {
        self.sessions.save(&self.session, &self.progress, keep).map_err(|error| {
            let message = format!("the session could not be kept: {error}");
            StepBroken::Failed(ErrorInfo::new(ErrorClass::Unavailable, message))
        })
    }

    pub(super) async fn event(&mut self, kind: EventKind) -> Result<(), StepBroken> {
        self.signal(Signal::event(kind)).await
    }

    pub(super) async fn signal(&mut self, signal: Signal) -> Result<(), StepBroken> {
        self.send(vec![signal].into()).await
    }

    pub(super) async fn send(&mut self, batch: FrameBatch) -> Result<(), StepBroken> {
        tokio::select! {
            sent = self.attempt.port.signals.send(batch) => sent.map_err(|_| StepBroken::Ending),
            () = self.attempt.port.end.cancelled() => Err(StepBroken::Ending),
            () = self.attempt.port.kill.cancelled() => Err(StepBroken::Ending),
        }
    }

    /// Rests between words, and heeds an interrupt even when there is no time to rest.
    async fn rest(&mut self, time: Duration) -> Result<(), StepBroken> {
        tokio::select! {
            biased;
            broken = self.interruption() => Err(broken),
            () = pause(time) => Ok(()),
        }
    }

    /// Waits until the turn is interrupted or the session ended; other orders are kept for later.
    pub(super) async fn interruption(&mut self) -> StepBroken {
        loop {
            if let Err(broken) = self.until(Err::<(), BackendOrder>).await {
                return broken;
            }
        }
    }

    /// Waits for the order that `take` is looking for.
    pub(super) async fn until<T>(
        &mut self,
        mut take: impl FnMut(BackendOrder) -> Result<T, BackendOrder>,
    ) -> Result<T, StepBroken> {
        let mut waiting = std::mem::take(&mut self.early).into_iter();
        loop {
            let order = match waiting.next() {
                Some(order) => order,
                None => tokio::select! {
                    biased;
                    () = self.attempt.port.kill.cancelled() => return Err(StepBroken::Ending),
                    () = self.attempt.port.end.cancelled() => return Err(StepBroken::Ending),
                    order = self.attempt.port.orders.recv() => order.ok_or(StepBroken::Ending)?,
                },
            };
            match take(order) {
                Ok(found) => {
                    self.early.extend(waiting);
                    return Ok(found);
                }
                Err(BackendOrder::Interrupt) => {
                    self.early.extend(waiting);
                    return Err(StepBroken::Interrupted);
                }
                Err(BackendOrder::SetModel { model }) => {
                    let from = Some(std::mem::replace(&mut self.model, model.clone()));
                    let why = ModelChange::Person;
                    self.event(EventKind::ModelChanged { from, to: model, why }).await?;
                }
                // What is said into a turn is what the script calls the prompt from then on.
                Err(BackendOrder::Steer { text, .. }) => self.prompt = text,
                Err(order @ (BackendOrder::Prompt { .. } | BackendOrder::Close)) => {
                    self.early.push(order);
                }
                // An answer or a verdict that nobody waits for any more.
                Err(
                    BackendOrder::Answer { .. }
                    | BackendOrder::Permission { .. }
                    | BackendOrder::SetMode { .. },
                ) => {}
            }
        }
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
