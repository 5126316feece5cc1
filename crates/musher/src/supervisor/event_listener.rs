//! From a run's log to what the pool wants to know of it; the rest is for readers.

use musher_core::pool::RunReport;
use musher_core::{CommandId, Event, EventKind, Ledger, Lineage, Origin, RunId, SessionId};

use crate::bus::{QueuedPrompt, SessionStatus};
use musher_log::Kinds;

/// Listens to one run.
#[derive(Debug)]
pub(super) struct EventListener {
    run: RunId,
    kinds: Kinds,
    /// Reports are often running totals; the pool is told what each adds.
    ledger: Ledger,
    session: Option<SessionId>,
    /// Prompts that wait for the end of the turn, and whether they are others than when they were asked for.
    queued: Vec<QueuedPrompt>,
    queue_changed: bool,
    /// How the session stands, and what was last asked for of that.
    status: SessionStatus,
    told: SessionStatus,
    /// The end was heard.
    pub(super) over: bool,
}

impl EventListener {
    /// `lineage` is that of the session that the run resumed.
    pub(super) fn new(run: RunId, lineage: Lineage) -> Self {
        let kinds = Kinds::new([
            "session_info",
            "notice",
            "ask_opened",
            "ask_closed",
            "user_message",
            "turn_started",
            "turn_ended",
            "model_changed",
            "prompt_withdrawn",
            "usage",
            "session_ended",
        ]);
        Self {
            run,
            kinds,
            ledger: Ledger::resuming(lineage),
            session: None,
            queued: Vec::new(),
            queue_changed: false,
            status: SessionStatus::default(),
            told: SessionStatus::default(),
            over: false,
        }
    }

    /// The prompts that wait, if they are others than before.
    pub(super) fn queued_if_new(&mut self) -> Option<Vec<QueuedPrompt>> {
        std::mem::take(&mut self.queue_changed).then(|| self.queued.clone())
    }

    /// How the session stands, if that is otherwise than before.
    pub(super) fn status_if_new(&mut self) -> Option<SessionStatus> {
        let is_new = self.told != self.status;
        self.told.clone_from(&self.status);
        is_new.then(|| self.status.clone())
    }

    /// Notes how the session stands. What helpers of the agent do is not its own.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a few kinds tell how a session stands")]
    fn note_status(&mut self, event: &Event) {
        if !event.scope.is_main() {
            return;
        }
        let status = &mut self.status;
        match &event.kind {
            EventKind::SessionInfo(info) => {
                status.model = info.model.clone().or(status.model.take());
                status.mode = info.permission_mode.clone().or(status.mode.take());
            }
            EventKind::ModelChanged { to, .. } => status.model = Some(to.clone()),
            EventKind::TurnStarted { .. } => status.in_turn = true,
            EventKind::TurnEnded(_) => status.in_turn = false,
            EventKind::Usage(report) => status.context = report.context.or(status.context),
            EventKind::SessionEnded(_) => *status = SessionStatus::default(),
            _ => {}
        }
    }

    /// Notes which prompts wait for the end of the turn.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only prompts matter here")]
    fn note_queue(&mut self, event: &Event) {
        match &event.kind {
            EventKind::UserMessage {
                prompt: Some(prompt), text, origin: Origin::Prompt, ..
            } => {
                let (id, text) = (prompt.clone(), text.clone());
                self.queued.push(QueuedPrompt { id, text, at: event.at });
            }
            EventKind::TurnStarted { prompts, .. } => {
                self.queued.retain(|queued| !prompts.contains(&queued.id));
            }
            EventKind::PromptWithdrawn { prompt } => {
                self.queued.retain(|queued| queued.id != *prompt);
            }
            EventKind::SessionEnded(_) => self.queued.clear(),
            _ => return,
        }
        self.queue_changed = true;
    }

    /// What a line of the log means to the pool, with its number.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the pool wants to know of a few kinds")]
    pub(super) fn hear(&mut self, line: &[u8]) -> Option<(u64, RunReport)> {
        if !self.kinds.has(line) {
            return None;
        }
        let event: Event = serde_json::from_slice(line)
            .inspect_err(|error| tracing::warn!(run.id = %self.run, cause = %error, "event cannot be read, left out"))
            .ok()?;
        self.note_queue(&event);
        self.note_status(&event);
        let heard = match event.kind {
            EventKind::SessionInfo(info) => {
                let session =
                    info.session.filter(|session| self.session.as_ref() != Some(session))?;
                self.session = Some(session.clone());
                RunReport::Session { session }
            }
            EventKind::Notice { code: Some(code), .. } if code == "setup_done" => {
                RunReport::SetupDone
            }
            EventKind::AskOpened { ask, settled, .. } => RunReport::AskOpened { ask, settled },
            EventKind::AskClosed { ask, by, command, .. } => {
                RunReport::AskClosed { ask, by, command }
            }
            EventKind::UserMessage { prompt: Some(prompt), .. } => {
                // A prompt that came through the pool is named by its command.
                RunReport::Taken { command: CommandId::parse(prompt.as_str()).ok()? }
            }
            EventKind::Usage(report) => {
                let entry = self.ledger.enter(&report);
                if entry.is_nothing() {
                    return None;
                }
                RunReport::Usage { model: report.model, entry }
            }
            EventKind::SessionEnded(end) => {
                self.over = true;
                RunReport::Ended { outcome: end.outcome, error: end.error, session: end.session }
            }
            _ => return None,
        };
        Some((event.seq, heard))
    }
}
