//! What the driver does with a command.

use musher_core::{
    Answer, AskId, ClosedBy, CommandId, EventKind, Level, Origin, Outcome, PromptId, Who,
};

use super::super::port::BackendOrder;
use super::super::spec::check_prompt;
use super::super::{CommandError, HostAnswer, PendingPrompt, SessionCommand};
use super::Driver;
use crate::attachments::PromptFiles;

/// Prompts that may wait; more than that is not a conversation.
const PENDING: usize = 256;

/// Bytes that may be said into one turn; an agent that does not read would otherwise have them pile up.
const STEERED: usize = 8 * 1024 * 1024;

/// A prompt on its way to the agent.
#[derive(Debug)]
pub(super) struct WaitingPrompt {
    pub(super) id: PromptId,
    pub(super) text: String,
    pub(super) files: PromptFiles,
}

impl WaitingPrompt {
    /// A prompt with which no files go.
    pub(super) fn of(id: PromptId, text: String) -> Self {
        Self { id, text, files: PromptFiles::default() }
    }
}

impl Driver {
    pub(super) fn obey(&mut self, command: SessionCommand) -> Result<(), CommandError> {
        let can = self.profile.capabilities;
        let supported = |power: bool, what| {
            if power { Ok(()) } else { Err(CommandError::Unsupported(what)) }
        };
        match command {
            SessionCommand::Prompt { id, text } => self.take_prompt(id, text),
            SessionCommand::TakeBack { id } => self.take_back(&id),
            SessionCommand::Steer { id, text } => {
                supported(can.steer, "be steered")?;
                self.steer(id, text)
            }
            SessionCommand::Answer { ask, answer, command, who } => {
                let changed = self.asks.answer(&ask, &answer)?;
                let grants = matches!(answer, Answer::AllowAlways { rule: Some(_), .. });
                self.close_ask(
                    ask,
                    ClosedBy::Person,
                    answer,
                    command.map(|command| (command, who)),
                );
                if let Some(update) = changed {
                    self.emit(EventKind::Tool(Box::new(update)));
                }
                // A grant also answers what was asked meanwhile.
                for (ask, answer) in if grants { self.asks.settled() } else { Vec::new() } {
                    self.close_ask(ask, ClosedBy::Rule, answer, None);
                }
                Ok(())
            }
            SessionCommand::Interrupt => {
                supported(can.interrupt, "be interrupted; stop it instead")?;
                self.interrupt()
            }
            SessionCommand::SetModel { model } => {
                supported(can.set_model, "change its model")?;
                self.order(BackendOrder::SetModel { model })
            }
            SessionCommand::SetMode { mode } => {
                supported(can.set_mode, "change its permission mode")?;
                self.order(BackendOrder::SetMode { mode })
            }
            SessionCommand::Remark { remark } => self.remarked(remark),
            SessionCommand::Report => {
                self.report();
                Ok(())
            }
            SessionCommand::Withdraw { ask } => {
                self.withdraw(ask);
                Ok(())
            }
            SessionCommand::Stop => {
                // Work that is done stays done, even if its process has not left yet.
                if self.state.is_leaving() {
                    self.end.cancel();
                } else {
                    self.begin_ending(Outcome::Stopped, None);
                }
                Ok(())
            }
            SessionCommand::Kill => {
                if !self.state.is_leaving() {
                    self.begin_ending(Outcome::Stopped, None);
                }
                self.kill.cancel();
                Ok(())
            }
        }
    }

    fn take_prompt(&mut self, id: PromptId, text: String) -> Result<(), CommandError> {
        check_prompt(&text).map_err(CommandError::BadPrompt)?;
        // What it began with may be sent to it as well; it is said once.
        if self.spec.pending.iter().any(|pending| pending.id == id) {
            return Ok(());
        }
        if !self.state.is_open() {
            return Err(CommandError::Ended);
        }
        if self.turns.busy() || self.state.agent_is_busy() || self.watched.asking() {
            if self.pending.len() >= PENDING {
                return Err(CommandError::Busy);
            }
            self.hold_prompt(WaitingPrompt::of(id, text));
        } else {
            self.send_prompt(WaitingPrompt::of(id, text));
        }
        Ok(())
    }

    /// Forgets a prompt that waits. The record tells it, so that no later run says it either.
    fn take_back(&mut self, id: &PromptId) -> Result<(), CommandError> {
        let before = self.pending.len();
        self.pending.retain(|waiting| waiting.id != *id);
        if self.pending.len() == before {
            return Err(CommandError::NotWaiting);
        }
        self.emit(EventKind::PromptWithdrawn { prompt: id.clone() });
        Ok(())
    }

    fn steer(&mut self, id: PromptId, text: String) -> Result<(), CommandError> {
        check_prompt(&text).map_err(CommandError::BadPrompt)?;
        if !self.state.is_open() {
            return Err(CommandError::Ended);
        }
        if self.turns.open.is_none() {
            return Err(CommandError::NoTurn);
        }
        if self.turns.steered + text.len() > STEERED {
            return Err(CommandError::Busy);
        }
        self.outbound.has_room()?;
        self.turns.say(id.clone(), text.len());
        let (prompt, origin) = (Some(id.clone()), Origin::Steer);
        let (text_told, attachments) = (text.clone(), Vec::new());
        self.emit(EventKind::UserMessage { prompt, text: text_told, origin, attachments });
        self.order(BackendOrder::Steer { id, text })
    }

    fn interrupt(&mut self) -> Result<(), CommandError> {
        if self.turns.open.is_none() {
            return Err(CommandError::NoTurn);
        }
        self.order(BackendOrder::Interrupt)?;
        self.turns.interrupt();
        Ok(())
    }

    fn prompted(&mut self, queued: &WaitingPrompt) {
        let WaitingPrompt { id, text, files } = queued;
        let (prompt, text, attachments) = (Some(id.clone()), text.clone(), files.sent());
        self.emit(EventKind::UserMessage { prompt, text, origin: Origin::Prompt, attachments });
    }

    /// Queues a prompt. Its event is emitted now, so that the log has it before the sender hears that it was taken.
    fn hold_prompt(&mut self, prompt: WaitingPrompt) {
        self.prompted(&prompt);
        self.pending.push_back(prompt);
    }

    /// Whether the agent was to begin something that a person was told it would begin.
    pub(super) fn owes_a_turn(&self) -> bool {
        let told = self.turns.owes() || !self.pending.is_empty();
        told && !self.state.is_leaving()
    }

    /// Takes the prompts that were given before the session began.
    pub(super) fn hold_pending(&mut self) {
        for PendingPrompt { id, text } in self.spec.pending.clone() {
            self.hold_prompt(WaitingPrompt::of(id, text));
        }
    }

    /// Drops the queued prompts and says so, because their senders were told that they would be begun.
    pub(super) fn forget_pending(&mut self) {
        let count = std::mem::take(&mut self.pending).len();
        if count > 0 {
            let text = format!("{count} prompts that waited were not begun");
            let code = Some("prompts_not_begun".into());
            self.emit(EventKind::Notice { level: Level::Warning, code, text });
        }
    }

    /// Tells of a prompt and gives it to the agent.
    pub(super) fn send_prompt(&mut self, prompt: WaitingPrompt) {
        self.prompted(&prompt);
        self.begin_prompt(prompt);
    }

    /// Gives the agent a prompt that was told of; a turn begins when it says so.
    pub(super) fn begin_prompt(&mut self, prompt: WaitingPrompt) {
        self.state.wait_until(None);
        self.clocks.heard();
        // Queue it before asking, so that an immediate answer finds it.
        self.pending.push_front(prompt);
        if self.files_have_changed() {
            return;
        }
        let Some(WaitingPrompt { id, text, files }) = self.pending.pop_front() else { return };
        self.turns.sent.push(id.clone());
        // A backend that is gone tells why by its end.
        let (text, images) = (files.named_in(&text), files.images());
        let _ended = self.order(BackendOrder::Prompt { id, text, images });
    }

    /// Records that an ask was closed without an answer.
    pub(super) fn unanswered(&mut self, ask: AskId, by: ClosedBy) {
        self.hosted.forget(&ask);
        self.watched.forget(&ask);
        self.emit(EventKind::AskClosed { ask, by, answer: None, command: None, who: None });
    }

    /// Records who closed an ask, then tells the agent.
    pub(super) fn close_ask(
        &mut self,
        ask: AskId,
        by: ClosedBy,
        answer: Answer,
        brought: Option<(CommandId, Option<Who>)>,
    ) {
        let told = Some(answer.clone());
        let (command, who) = brought.unzip();
        let who = who.flatten();
        self.emit(EventKind::AskClosed { ask: ask.clone(), by, answer: told, command, who });
        if matches!(answer, Answer::DenyAndInterrupt { .. }) {
            self.turns.interrupt();
        }
        self.clocks.heard();
        if self.files_answered(&ask, &answer) {
            return;
        }
        if let Some(asker) = self.hosted.take(&ask) {
            return self.answer_host(asker, HostAnswer { answer, by });
        }
        let answer = match answer {
            // The rule is ours to keep; to the agent it is a plain yes.
            Answer::AllowAlways { rule: Some(_), .. } => Answer::Allow { input: None },
            Answer::AllowAlways { rule: None, .. }
            | Answer::Allow { .. }
            | Answer::Deny { .. }
            | Answer::DenyAndInterrupt { .. }
            | Answer::Replies { .. }
            | Answer::Form { .. } => answer,
        };
        // A backend that is gone has no use for an answer.
        let _ended = self.order(BackendOrder::Answer { ask, answer });
    }
}
