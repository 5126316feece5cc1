//! One agent at work: prompt by prompt, model call by model call, until nothing more is asked of it.

use std::sync::Arc;

use musher_core::{
    CallId, ErrorClass, ErrorInfo, EventKind, Level, ModelChange, SessionInfo, Trigger, TurnEnded,
    TurnOutcome,
};

use super::connection::ModelConnection;
use super::history::{History, unanswered};
use super::inbox::{self, GivenPrompt, Inbox, Outbox, SettingChange, WaitBroken};
use super::key;
use super::mode::Mode;
use super::stop::StopReason;
use super::wire::{HistoryEntry, ModelAnswer, ToolChoice, Wire};
use super::{Service, work};
use crate::prices::Prices;
use crate::process::{Copying, SECRET_LEN, Tap, Weights};
use crate::session::{Attempt, BackendEnd, Signal};
use crate::tools::{Hosts, ToolHost, ToolSpec};
use crate::{SessionSpec, SystemPrompt};

/// How often a model may fail to call a tool in a row before its turn is given up.
const BAD_CALLS: u32 = 3;
/// How often an answer in a row may be nothing, or be paused by the service.
const NO_PROGRESS: u32 = 32;

/// How often in a row a conversation is made shorter for one answer.
const COMPACTIONS: u32 = 2;

/// Everything that an agent has.
#[derive(Debug)]
pub(super) struct ModelAgent {
    pub(super) service: &'static Service,
    pub(super) spec: Arc<SessionSpec>,
    pub(super) inbox: Inbox,
    pub(super) outbox: Outbox,
    pub(super) door: ModelConnection,
    pub(super) wire: Box<dyn Wire>,
    pub(super) prices: Prices,
    pub(super) model: String,
    pub(super) mode: Mode,
    pub(super) system: String,
    pub(super) tools: Arc<dyn ToolHost>,
    pub(super) offered: Vec<ToolSpec>,
    pub(super) history: History,
    pub(super) weights: Weights,
    pub(super) tap: Option<Tap>,
    pub(super) raw: Option<Copying>,
    /// Model calls of this run.
    pub(super) calls: u32,
    /// How full the model's window was when it answered last.
    pub(super) context: u64,
    /// Entries that the model had been shown then.
    pub(super) shown: usize,
    pub(super) told_of_estimate: bool,
    /// The model of which was told last that it is not the one that was asked for.
    pub(super) told_of_served: Option<String>,
    /// The model turned out not to see images.
    pub(super) no_images: bool,
    /// Counts what needs a name of its own.
    pub(super) minted: u64,
    /// What the model says now is for us alone.
    pub(super) quiet: bool,
    turn: Turn,
}

/// What is remembered of the turn under way.
#[derive(Debug, Default)]
struct Turn {
    prompt: String,
    text: Option<String>,
    stop: Option<String>,
    denials: Vec<String>,
}

/// Runs one attempt to its end.
pub(super) async fn run(service: &'static Service, attempt: Attempt) -> BackendEnd {
    match prepare(service, attempt).await {
        Ok(agent) => agent.run().await,
        Err(ended) => ended,
    }
}

async fn prepare(
    service: &'static Service,
    mut attempt: Attempt,
) -> Result<ModelAgent, BackendEnd> {
    let spec = attempt.spec.clone();
    let wire = find_wire(service, &spec).map_err(BackendEnd::failed)?;
    let mode = spec.permission_mode.as_deref().map_or(Ok(Mode::default()), Mode::read);
    let mode = mode.map_err(BackendEnd::failed)?;
    let prices = Prices::load(service.prices, spec.model_options.prices.as_deref());
    let prices = prices.map_err(BackendEnd::failed)?;
    let door = ModelConnection::open(&spec, service.about.base_url, service.about.base_variable);
    let mut door = door.map_err(BackendEnd::failed)?;
    let key = key::find(&attempt, service.about.key_variables).await.map_err(BackendEnd::failed)?;
    if key.is_none() && !door.own {
        let variable = service.about.key_variables.first().copied().unwrap_or_default();
        let message = format!("there is no key for {}: {variable} is not set", service.name);
        let error = ErrorInfo::new(ErrorClass::Auth, message)
            .with_hint("set it, or name a file or a command that gives the key");
        return Err(BackendEnd::failed(error));
    }
    let headers = wire.headers(key.as_ref().map(|key| key.value.as_str()));
    door.add(&headers).map_err(BackendEnd::failed)?;
    let tools = work::tools(&attempt).map_err(BackendEnd::failed)?;
    let history = History::open(&attempt).map_err(|error| BackendEnd {
        unknown_session: error.class == ErrorClass::SessionNotFound,
        ..BackendEnd::failed(error)
    })?;
    let mut tap = attempt.tap.take();
    let mut secret = None;
    if let Some(key) = key.as_ref().filter(|key| key.value.len() >= SECRET_LEN) {
        tap = tap.map(|tap| tap.hiding("key", &key.value));
        let (name, value) = (key.source.clone(), key.value.clone());
        secret = Some(Signal::Secret { name, value });
    }
    let hosts = Hosts(tools.into_iter().chain(spec.tools.clone()).collect());
    let model = spec.model.clone().or_else(|| history.model.clone());
    let (inbox, outbox) = inbox::open(attempt.port);
    let agent = ModelAgent {
        service,
        inbox,
        outbox,
        door,
        wire,
        prices,
        model: model.unwrap_or_else(|| service.model.to_owned()),
        mode,
        system: system_prompt(&spec),
        offered: hosts.tools(),
        tools: Arc::new(hosts),
        context: 0,
        shown: 0,
        history,
        weights: attempt.weights,
        raw: tap.as_ref().map(Tap::open),
        tap,
        calls: 0,
        told_of_estimate: false,
        told_of_served: None,
        no_images: false,
        minted: 0,
        quiet: false,
        turn: Turn::default(),
        spec,
    };
    // A host that is gone needs to hear nothing.
    let _ending = agent.outbox.send(secret.into_iter().collect(), None).await;
    let opening = agent.opening(attempt.resume, attempt.fork, key.map(|key| key.source));
    let _ending = agent.outbox.event(EventKind::SessionInfo(Box::new(opening))).await;
    Ok(agent)
}

fn find_wire(service: &Service, spec: &SessionSpec) -> Result<Box<dyn Wire>, ErrorInfo> {
    let wanted = spec.model_options.wire.as_deref();
    let found = match wanted {
        None => service.wires.first(),
        Some(wanted) => service.wires.iter().find(|(name, _)| *name == wanted),
    };
    let Some((_, make)) = found else {
        let wanted = wanted.unwrap_or_default().escape_debug();
        let message = format!("{} does not speak the wire format `{wanted}`", service.name);
        let names: Vec<&str> = service.wires.iter().map(|(name, _)| *name).collect();
        return Err(ErrorInfo::new(ErrorClass::Config, message)
            .with_hint(format!("use one of {}", names.join(", "))));
    };
    Ok(make())
}

fn system_prompt(spec: &SessionSpec) -> String {
    let own = format!(include_str!("system-prompt.txt"), folder = spec.cwd.display());
    match &spec.system_prompt {
        None => own,
        Some(SystemPrompt::Append(more)) => format!("{own}\n{more}"),
        Some(SystemPrompt::Replace(other)) => other.clone(),
    }
}

impl ModelAgent {
    fn opening(
        &self,
        resumed: Option<musher_core::SessionId>,
        fork: bool,
        auth_source: Option<String>,
    ) -> SessionInfo {
        SessionInfo {
            // What is not kept cannot be gone on with, so it has no id to offer.
            session: self.history.is_kept().then(|| self.history.session.clone()),
            runtime: Some(self.service.name.to_owned()),
            model: Some(self.model.clone()),
            cwd: Some(self.spec.cwd.display().to_string()),
            tools: Some(self.offered.iter().map(|tool| tool.name.to_string()).collect()),
            permission_mode: Some(self.mode.as_str().to_owned()),
            auth_source,
            resumed_from: resumed.clone().filter(|_| !fork),
            forked_from: resumed.filter(|_| fork),
            ..SessionInfo::default()
        }
    }

    async fn run(mut self) -> BackendEnd {
        let error = self.turns().await.err();
        self.copy_the_end().await;
        let survivors = self.tools.close().await;
        BackendEnd { exit_code: Some(0), survivors, error, ..BackendEnd::default() }
    }

    /// Works on every prompt. What cannot be kept ends the session; what else goes wrong ends its turn.
    async fn turns(&mut self) -> Result<(), ErrorInfo> {
        // A host that offers its tools in process names its own server for agents that cannot have them so.
        let own = usize::from(self.spec.tools.is_some());
        if self.spec.mcp_servers.len() > own {
            let text = format!("{} uses no tool servers but our own", self.service.name);
            // A host that is gone needs to hear nothing.
            let _ending = self.notice(Level::Warning, "no_tool_servers", text).await;
        }
        while let Some(GivenPrompt { text, images }) = self.inbox.prompt().await {
            self.turn = Turn { prompt: text.clone(), ..Turn::default() };
            let started = EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() };
            if self.outbox.event(started).await.is_err() {
                return Ok(());
            }
            self.history.push(HistoryEntry::User { text, images })?;
            let outcome = self.conversation().await;
            // However it ended, what follows must find a conversation that can be gone on with.
            if let Some(results) = unanswered(&self.history.entries) {
                self.history.push(HistoryEntry::Results { results })?;
            }
            self.history.end_turn()?;
            let ended = match outcome {
                Ok(()) => self.ended(TurnOutcome::Completed, None),
                Err(WaitBroken::Interrupted) => self.ended(TurnOutcome::Interrupted, None),
                Err(WaitBroken::Failed(error)) => self.ended(TurnOutcome::Failed, Some(error)),
                Err(WaitBroken::Refused(error)) => self.ended(TurnOutcome::Refused, Some(error)),
                Err(WaitBroken::OutOfTurns(error)) => {
                    self.ended(TurnOutcome::OutOfTurns, Some(error))
                }
                Err(WaitBroken::Ending) => return Ok(()),
            };
            if self.outbox.event(EventKind::TurnEnded(Box::new(ended))).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn ended(&mut self, outcome: TurnOutcome, error: Option<ErrorInfo>) -> TurnEnded {
        let turn = std::mem::take(&mut self.turn);
        TurnEnded {
            final_text: turn.text,
            native_reason: turn.stop,
            denials: turn.denials,
            synthesised: false,
            ..TurnEnded::synthesised(outcome, error)
        }
    }

    /// Asks the model until it has nothing more to do.
    async fn conversation(&mut self) -> Result<(), WaitBroken> {
        let (mut bad_calls, mut no_progress) = (0, 0);
        let mut empty_before = false;
        loop {
            self.take_changes().await?;
            self.make_room().await?;
            let answer = self.ask_the_model(ToolChoice::Auto).await?;
            let empty = answer.is_empty();
            let (end, calls) = (answer.end.clone(), answer.calls.clone());
            self.keep(answer)?;
            if end.stop.may_act() && !calls.is_empty() {
                (bad_calls, no_progress) = (0, 0);
                let done = self.carry_out(&calls).await?;
                if let Some(summary) = done {
                    self.turn.text = Some(summary);
                    return Ok(());
                }
                continue;
            }
            no_progress += 1;
            let again = match end.stop {
                StopReason::Paused => no_progress < NO_PROGRESS,
                StopReason::Calls | StopReason::BadCall if bad_calls < BAD_CALLS => {
                    bad_calls += 1;
                    let text = "Your tool call could not be read. Call one of the tools that are \
                                offered, with one JSON object as its arguments.";
                    self.say_to_the_model(text)?;
                    true
                }
                StopReason::ContextFull if no_progress <= COMPACTIONS => {
                    self.compact().await?;
                    true
                }
                StopReason::End if empty && self.wire.empty_is_a_fault() => {
                    !std::mem::replace(&mut empty_before, true)
                }
                StopReason::End
                | StopReason::Calls
                | StopReason::BadCall
                | StopReason::MaxOutput
                | StopReason::ContextFull
                | StopReason::Declined
                | StopReason::Failed
                | StopReason::Faulty
                | StopReason::Unknown
                | StopReason::Unsaid => false,
            };
            if again {
                continue;
            }
            if let Some(broken) = end.broken(calls.len()) {
                return Err(broken);
            }
            // What was said into the turn meanwhile is a part of it.
            self.inbox.take_in()?;
            if !self.inbox.changes.iter().any(|change| matches!(change, SettingChange::Steer(_))) {
                return Ok(());
            }
        }
    }

    /// Takes what changed since the last model call.
    async fn take_changes(&mut self) -> Result<(), WaitBroken> {
        for change in std::mem::take(&mut self.inbox.changes) {
            match change {
                SettingChange::Steer(text) => self.say_to_the_model(&text)?,
                SettingChange::Model(model) => {
                    let from = Some(std::mem::replace(&mut self.model, model.clone()));
                    let why = ModelChange::Person;
                    self.outbox.event(EventKind::ModelChanged { from, to: model, why }).await?;
                }
                SettingChange::Mode(mode) => match Mode::read(&mode) {
                    Ok(mode) => {
                        self.mode = mode;
                        let info = SessionInfo {
                            permission_mode: Some(mode.as_str().to_owned()),
                            ..SessionInfo::default()
                        };
                        self.outbox.event(EventKind::SessionInfo(Box::new(info))).await?;
                    }
                    Err(error) => self.outbox.event(EventKind::Error { error }).await?,
                },
            }
        }
        self.history.speak_to(&self.model).map_err(WaitBroken::Failed)
    }

    fn say_to_the_model(&mut self, text: &str) -> Result<(), WaitBroken> {
        self.history.push(HistoryEntry::said(text)).map_err(WaitBroken::Failed)
    }

    /// Puts an answer into the history. Of one whose calls are not made only what it said is kept: half a call cannot be
    /// sent back.
    fn keep(&mut self, answer: ModelAnswer) -> Result<(), WaitBroken> {
        let ModelAnswer { raw, text, calls, end } = answer;
        self.stopped(end.native);
        if !text.is_empty() {
            self.said_so_far(text.clone());
        }
        let entry = if end.stop.may_act() || calls.is_empty() {
            if raw.is_empty() {
                return Ok(());
            }
            HistoryEntry::Model { wire: self.wire.name().to_owned(), raw, text, calls }
        } else {
            if text.is_empty() {
                return Ok(());
            }
            HistoryEntry::Model { wire: String::new(), raw: Vec::new(), text, calls: Vec::new() }
        };
        self.history.push(entry).map_err(WaitBroken::Failed)?;
        self.shown = self.history.entries.len();
        Ok(())
    }

    /// The service's own word for how the last answer ended.
    pub(super) fn stopped(&mut self, native: Option<String>) {
        self.turn.stop = native;
    }

    pub(super) fn denied(&mut self, tool: &str) {
        self.turn.denials.push(tool.to_owned());
    }

    /// The prompt that the turn is about.
    pub(super) fn prompt(&self) -> &str {
        &self.turn.prompt
    }

    pub(super) fn said_so_far(&mut self, text: String) {
        self.turn.text = Some(text);
    }

    pub(super) async fn notice(
        &self,
        level: Level,
        code: &str,
        text: String,
    ) -> Result<(), WaitBroken> {
        let code = Some(code.to_owned());
        self.outbox.event(EventKind::Notice { level, code, text }).await
    }

    /// The next id of its kind.
    pub(super) fn mint(&mut self, kind: &str) -> String {
        self.minted += 1;
        format!("{kind}-{}", self.minted)
    }

    pub(super) fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.offered.iter().find(|tool| tool.name == name)
    }
}

/// A call's id as events have it.
pub(super) fn call_id(id: &str) -> CallId {
    CallId::new(id)
}
