//! The driver: the loop around every runtime that decides what happens inside one run.

mod closing;
mod commands;
mod files;
mod hosted;
mod signals;
mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use musher_core::{
    ClosedBy, ErrorClass, ErrorInfo, Event, EventKind, EventScope, Ledger, Level, OpenWork,
    Outcome, SessionEnded, SessionId, SessionOrigin, Tokens, Usd,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::error;

use super::asks::SessionAsks;
use super::ending::{self, Ending};
use super::limits::Clocks;
use super::outbound::Outbound;
use super::port::{Attempt, BackendEnd, BackendOrder, FrameBatch, Port, ProjectFilesMode};
use super::profile::{Backend, BackendProfile};
use super::redact::Redactor;
use super::spec;
use super::turns::SessionTurns;
use super::{OutputBatch, Request, Session, SessionOutput, SessionSpec};
use crate::attachments::CheckedAttachments;
use crate::clock;
use crate::process::{RunMark, Tap, Weights};
use crate::secret_finder::SecretFinder;
use commands::WaitingPrompt;
use files::WatchedFiles;
use hosted::Hosted;
use state::DriverState;

/// Batches of outputs that may wait for the host; when full, the agent is not listened to and waits.
const OUTPUTS: usize = 8;
/// Outputs that may wait in the driver itself before it stops listening.
const OUTBOX: usize = 64;
const SIGNALS: usize = 16;
const ORDERS: usize = 1024;
const REQUESTS: usize = 64;
/// An agent that neither works nor leaves is waited for this long.
const LINGERING_AGENT_TIMEOUT: Duration = Duration::from_secs(30);
/// An agent that has closed its output has this long to leave.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts a session of a runtime: the driver, and behind it the backend. Needs a tokio runtime.
pub fn start(profile: BackendProfile, mut session_spec: SessionSpec, backend: Backend) -> Session {
    let (outputs, receiver) = mpsc::channel(OUTPUTS);
    let (requests, commands) = mpsc::channel(REQUESTS);
    let dropped = CancellationToken::new();
    let session = Session::new(receiver, requests, dropped.clone());
    let folder = crate::process::folder(&session_spec.cwd);
    let refused = spec::check(&session_spec, &profile).err().or_else(|| {
        folder.as_ref().err().map(|e| ErrorInfo::new(ErrorClass::Config, e.to_string()))
    });
    if let Ok(folder) = folder {
        session_spec.cwd = folder;
    }
    let attachments = CheckedAttachments::of(&session_spec, profile.capabilities);
    let (attachments, refused) = match attachments {
        Ok(checked) => (checked, refused),
        Err(error) => (CheckedAttachments::default(), refused.or_else(|| Some(error.into()))),
    };
    attachments.open_to(&mut session_spec);
    let backend = super::files::guard(backend, &mut session_spec, &profile);
    let backend =
        if session_spec.setup.is_empty() { backend } else { super::setup::before(backend) };
    let mut driver = Driver::new(profile, session_spec, backend, dropped);
    driver.attachments = Arc::new(attachments);
    crate::task::detach(match refused {
        Some(error) => {
            drop(commands);
            Box::pin(async move { driver.finish(BackendEnd::failed(error), &outputs).await })
        }
        None => Box::pin(driver.run(outputs, commands)),
    });
    session
}

struct Driver {
    profile: BackendProfile,
    spec: Arc<SessionSpec>,
    env: Arc<[(std::ffi::OsString, std::ffi::OsString)]>,
    mark: RunMark,
    weights: Weights,
    backend: Backend,
    attachments: Arc<CheckedAttachments>,
    /// The host let go of the session.
    dropped: CancellationToken,
    outbound: Outbound,
    tap: Option<Tap>,
    end: CancellationToken,
    kill: CancellationToken,
    /// No agent outlives its driver, not even one that broke.
    _kill_at_the_end: DropGuard,

    seq: u64,
    outbox: OutputBatch,
    redactor: Redactor,

    session: Option<SessionId>,
    origin: SessionOrigin,
    turns: SessionTurns,
    asks: SessionAsks,
    hosted: Hosted,
    watched: WatchedFiles,
    clocks: Clocks,
    ledger: Ledger,
    work: OpenWork,
    pending: VecDeque<WaitingPrompt>,
    state: DriverState,
    /// By when an agent that has closed its output must have left.
    mute_by: Option<Instant>,
    warned_of_cost: bool,
}

enum Wake {
    HandedOn,
    Durable,
    Deaf,
    Dropped,
    Request(Option<Request>),
    Signals(Option<FrameBatch>),
    Deadline,
}

struct Running {
    signals: mpsc::Receiver<FrameBatch>,
    backend: JoinHandle<BackendEnd>,
}

impl Driver {
    fn new(
        profile: BackendProfile,
        spec: SessionSpec,
        backend: Backend,
        dropped: CancellationToken,
    ) -> Self {
        let mut variables = profile.variables.to_vec();
        for (choice, more) in profile.chosen {
            if spec.environment.get(choice).is_some_and(|value| !value.is_empty()) {
                variables.extend(*more);
            }
        }
        let env = spec.environment.select(&variables, profile.banned);
        let kill = CancellationToken::new();
        let secrets = spec.secrets(&env);
        let finder = SecretFinder::new(&secrets);
        let raw = spec.keeper.as_ref().map(|keeper| keeper.raw.clone());
        let tap = raw.map(|raw| Tap::with_finder(raw, secrets.clone(), finder.clone()));
        let inherited = spec.environment.get(crate::process::MARK);
        let mark = match &spec.mark {
            Some(own) => RunMark::named(own.clone(), inherited),
            None => RunMark::new(inherited),
        };
        let lineage = spec.resume.as_ref().map(|resume| resume.lineage.clone()).unwrap_or_default();
        Self {
            weights: Weights::default(),
            mark,
            redactor: Redactor::new(secrets, finder),
            tap,
            outbound: Outbound::new(spec.keeper.as_ref().map(|keeper| keeper.durable.clone())),
            env: env.into(),
            session: None,
            origin: match &spec.resume {
                None => SessionOrigin::Fresh,
                Some(resume) if resume.fork => SessionOrigin::Forked,
                Some(_) => SessionOrigin::Resumed,
            },
            asks: SessionAsks::new(spec.rules.clone(), spec.asks, spec.cwd.clone())
                .reminding_after(spec.ask_reminder),
            hosted: Hosted::default(),
            watched: WatchedFiles::default(),
            clocks: Clocks::new(&spec.limits),
            ledger: Ledger::resuming(lineage),
            profile,
            spec: Arc::new(spec),
            backend,
            attachments: Arc::default(),
            dropped,
            end: CancellationToken::new(),
            _kill_at_the_end: kill.clone().drop_guard(),
            kill,
            seq: 0,
            outbox: OutputBatch::default(),
            turns: SessionTurns::default(),
            work: OpenWork::default(),
            pending: VecDeque::new(),
            state: DriverState::new(),
            mute_by: None,
            warned_of_cost: false,
        }
    }

    async fn run(
        mut self,
        outputs: mpsc::Sender<OutputBatch>,
        mut requests: mpsc::Receiver<Request>,
    ) {
        let resume = self.spec.resume.as_ref().map(|resume| resume.session.clone());
        let mut running = self.attempt(resume);
        let files = match &self.spec.resume {
            None => self.attachments.of_fresh(),
            Some(_) => self.attachments.of_resumed(),
        };
        let first = WaitingPrompt {
            files,
            ..WaitingPrompt::of(super::mint_prompt(), self.spec.prompt.clone())
        };
        self.send_prompt(first);
        self.hold_pending();
        self.warn_of_a_useless_mode();
        let mut listening = true;
        let mut commanded = true;
        let mut timer = pin!(tokio::time::sleep(Duration::ZERO));
        loop {
            let deadline = self.next_deadline();
            // Each word of the agent moves a deadline away. The timer is left as it is then, and set anew when it rings.
            if let Some(deadline) = deadline
                && (timer.is_elapsed() || deadline < timer.deadline())
            {
                timer.as_mut().reset(deadline);
            }
            let room = self.outbox.outputs.len() < OUTBOX;
            let wake = tokio::select! {
                biased;
                permit = outputs.reserve(), if !self.outbox.outputs.is_empty() => match permit {
                    Ok(permit) => {
                        permit.send(std::mem::take(&mut self.outbox));
                        Wake::HandedOn
                    }
                    Err(_) => Wake::Deaf,
                },
                () = self.outbound.released() => Wake::Durable,
                request = requests.recv(), if commanded => Wake::Request(request),
                signals = running.signals.recv(), if room => Wake::Signals(signals),
                () = self.dropped.cancelled(), if listening => Wake::Dropped,
                () = timer.as_mut(), if deadline.is_some() => Wake::Deadline,
            };
            match wake {
                Wake::HandedOn | Wake::Durable => {}
                Wake::Deaf => self.outbox = OutputBatch::default(),
                Wake::Dropped => {
                    listening = false;
                    self.kill.cancel();
                }
                Wake::Request(Some(Request::Command(command, reply))) => {
                    // An error means that the caller has gone.
                    let _gone = reply.send(self.obey(command).map(|()| self.seq));
                }
                Wake::Request(Some(Request::Ask(body, reply))) => self.asked_by_host(body, reply),
                Wake::Request(None) => commanded = false,
                Wake::Signals(Some(batch)) => self.hear(batch),
                Wake::Signals(None) => {
                    let ended = (&mut running.backend).await.unwrap_or_else(|panic| {
                        error!(runtime = %self.profile.name, "runtime broke");
                        let message = format!("the runtime broke: {panic}");
                        BackendEnd::failed(ErrorInfo::new(ErrorClass::Internal, message))
                    });
                    match self.fallback(&ended) {
                        Some(fresh) => running = fresh,
                        None => {
                            // Reply to late commands at once, so that their senders do not wait.
                            drop(requests);
                            return self.finish(ended, &outputs).await;
                        }
                    }
                }
                Wake::Deadline => self.deadline_passed(),
            }
        }
    }

    fn warn_of_a_useless_mode(&mut self) {
        if let Some(mode) =
            self.spec.permission_mode.as_deref().filter(|_| !self.profile.capabilities.set_mode)
        {
            let text = format!(
                "{} has no permission modes, so `{mode}` changes nothing",
                self.profile.name
            );
            let code = Some("no_permission_modes".into());
            self.emit(EventKind::Notice { level: Level::Warning, code, text });
        }
    }

    /// Starts the backend anew.
    fn attempt(&mut self, resume: Option<SessionId>) -> Running {
        let (orders, orders_in) = mpsc::channel(ORDERS);
        let (signals_out, signals) = mpsc::channel(SIGNALS);
        self.outbound.connect(orders);
        self.watched.starting();
        self.mute_by = None;
        let fork = self.spec.resume.as_ref().is_some_and(|resume| resume.fork);
        let attempt = Attempt {
            spec: self.spec.clone(),
            env: self.env.clone(),
            mark: self.mark.clone(),
            weights: self.weights.clone(),
            tap: self.tap.clone(),
            attachments: self.attachments.clone(),
            fork: fork && resume.is_some(),
            resume,
            settings: ProjectFilesMode::LeftOut,
            port: Port {
                orders: orders_in,
                signals: signals_out,
                end: self.end.clone(),
                kill: self.kill.clone(),
            },
        };
        let backend = (self.backend)(attempt);
        Running { signals, backend: crate::task::spawn(backend) }
    }

    /// A fresh session with the full prompt, if and only if the one to resume is unknown.
    fn fallback(&mut self, ended: &BackendEnd) -> Option<Running> {
        let resume = self.spec.resume.clone()?;
        let fresh_prompt = resume.fresh_prompt.filter(|_| ended.unknown_session)?;
        let over = self.state.ending().is_some() || self.dropped.is_cancelled();
        if over || self.origin == SessionOrigin::Fallback {
            return None;
        }
        self.origin = SessionOrigin::Fallback;
        self.ledger = Ledger::default();
        self.emit(EventKind::Notice {
            level: Level::Warning,
            code: Some("resume_fallback".into()),
            text: format!(
                "session {} is unknown to {}; a fresh session was started with the full prompt",
                resume.session, self.profile.name
            ),
        });
        self.turns.forget();
        let running = self.attempt(None);
        let files = self.attachments.of_fresh();
        self.send_prompt(WaitingPrompt {
            files,
            ..WaitingPrompt::of(super::mint_prompt(), fresh_prompt)
        });
        Some(running)
    }

    fn next_deadline(&self) -> Option<Instant> {
        let limits = match &self.state {
            DriverState::Ending(_) => None,
            DriverState::Open { .. } | DriverState::Leaving => {
                self.clocks.next(self.expected_to_speak())
            }
        };
        limits
            .into_iter()
            .chain(self.asks.next_deadline())
            .chain(self.state.next_deadline())
            .chain(self.leave_by())
            .chain(self.mute_by.filter(|_| !self.end.is_cancelled()))
            .min()
    }

    /// When an agent that was told to leave, and has nothing more to say, is made to.
    fn leave_by(&self) -> Option<Instant> {
        let silent = self.turns.open.is_none() && !self.end.is_cancelled();
        let leaving = self.state.is_leaving() && silent;
        self.clocks.silent_for(LINGERING_AGENT_TIMEOUT).filter(|_| leaving)
    }

    fn expected_to_speak(&self) -> bool {
        // A host that does not listen keeps the agent silent; that is not the agent's fault.
        let at_work = self.turns.busy() || self.work.has_background();
        at_work && !self.asks.any_open() && self.outbox.outputs.len() < OUTBOX
    }

    fn deadline_passed(&mut self) {
        let now = Instant::now();
        for (ask, answer) in self.asks.overdue() {
            self.close_ask(ask, ClosedBy::Deadline, answer, None);
        }
        for text in self.asks.reminders() {
            let code = Some("ask_waits".to_owned());
            self.emit(EventKind::Notice { level: Level::Warning, code, text });
        }
        if self.state.next_deadline().is_some_and(|at| at <= now) {
            self.waited_enough();
        }
        if self.leave_by().is_some_and(|by| by <= now) {
            self.end.cancel();
        }
        if self.mute_by.is_some_and(|by| by <= now) {
            self.end_mute();
        }
        if self.state.ending().is_none()
            && let Some(error) = self.clocks.passed(self.expected_to_speak())
        {
            self.begin_ending(Outcome::TimedOut, Some(error));
        }
    }

    fn order(&mut self, order: BackendOrder) -> Result<(), super::CommandError> {
        self.outbound.send(order, self.seq)
    }

    fn emit(&mut self, kind: EventKind) {
        self.emit_from(kind, EventScope::Main, None);
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "two kinds end a content")]
    fn emit_from(&mut self, kind: EventKind, scope: EventScope, raw: Option<musher_core::RawRef>) {
        // A content that is whole says what was held back of it.
        let whole = match &kind {
            EventKind::ItemDone { item, .. } => Some(item.as_str()),
            EventKind::Tool(update) if update.phase.is_final() => Some(update.call.as_str()),
            _ => None,
        };
        if let Some(item) = whole {
            let rest = self.redactor.done(item, &scope);
            rest.into_iter().for_each(|delta| self.outbox.add(delta));
        }
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            at: clock::now_ms(),
            kind,
            turn: self.turns.current(),
            scope,
            raw,
        };
        self.outbox.outputs.push_back(SessionOutput::Event(self.redactor.event(event)));
    }

    /// Closes all that is open and says the end.
    async fn finish(mut self, mut ended: BackendEnd, outputs: &mpsc::Sender<OutputBatch>) {
        ended.stderr_tail = ended.stderr_tail.filter(|tail| !tail.is_empty());
        let owes = self.owes_a_turn();
        self.forget_pending();
        self.count_what_is_left();
        if self.turns.open.is_some() {
            let cut_short = ending::turn_cut_short(&ended, self.state.ending());
            self.turn_ended(cut_short, None, ClosedBy::ProcessEnd);
        }
        for ask in self.asks.close_all(ClosedBy::ProcessEnd) {
            self.unanswered(ask, ClosedBy::ProcessEnd);
        }
        for (scope, end) in self.work.end() {
            self.emit_from(end, scope, None);
        }
        self.report();
        if !ended.survivors.is_empty() {
            let message = format!("processes {:?} could not be ended", ended.survivors);
            self.emit(EventKind::Error { error: ErrorInfo::new(ErrorClass::Internal, message) });
        }
        let dropped = self.dropped.is_cancelled();
        let decided = match std::mem::replace(&mut self.state, DriverState::Leaving) {
            DriverState::Ending(ending) => Some(ending),
            DriverState::Open { .. } if dropped => Some(Ending::new(Outcome::Stopped, None)),
            DriverState::Open { .. } | DriverState::Leaving => None,
        };
        let (outcome, error) = ending::conclude(&ended, decided, self.turns.last.as_ref(), owes);
        let took = self.clocks.elapsed().as_millis();
        let tail = ended.stderr_tail.map(|tail| self.redactor.text(tail));
        let end = SessionEnded {
            outcome,
            error,
            session: self.session.clone(),
            origin: self.origin,
            usage: Tokens::default(),
            cost_usd: None,
            known_cost_usd: Usd::default(),
            estimated: false,
            models: BTreeMap::new(),
            turns: self.turns.count,
            model_calls: self.turns.model_calls,
            duration_ms: u64::try_from(took).unwrap_or(u64::MAX),
            exit_code: ended.exit_code,
            signal: ended.signal,
            stderr_tail: tail,
            survivors: ended.survivors,
        };
        let end = end.spending(&self.ledger);
        self.emit(EventKind::SessionEnded(Box::new(end)));
        // A host that is gone does not need to hear of the end.
        let _gone = outputs.send(self.outbox).await;
    }
}
