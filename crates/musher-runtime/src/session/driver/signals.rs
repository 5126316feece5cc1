//! What the driver does with what a backend says.

use std::time::Duration;

use musher_core::{
    Ask, AskId, ClosedBy, ErrorClass, ErrorInfo, EventKind, EventScope, HintCode, Level, Outcome,
    RawRef, Spend, Tokens, Trigger, TurnEnded, TurnOutcome, UsageReport,
};
use tokio::time::Instant;

use super::super::SessionOutput;
use super::super::asks::Fate;
use super::super::port::{BackendOrder, BeforeStart, FrameBatch, Signal, StartStep};
use super::state::DriverState;
use super::{Driver, EXIT_TIMEOUT, LINGERING_AGENT_TIMEOUT};
use crate::clock;

impl Driver {
    /// Takes in what frames meant that came together; limits are looked at whenever all of one is known.
    pub(super) fn hear(&mut self, batch: FrameBatch) {
        self.clocks.heard();
        self.outbox.outputs.reserve(batch.signals.len());
        let mut ends = batch.ends.into_iter().peekable();
        for (taken, signal) in batch.signals.into_iter().enumerate() {
            if ends.next_if_eq(&taken).is_some() {
                self.check_spending();
                self.settle();
            }
            match signal {
                Signal::Event { kind, scope, raw } => self.happened(kind, scope, raw),
                Signal::Delta(delta) => {
                    if let Some(delta) = self.redactor.delta(delta) {
                        self.outbox.add(delta);
                    }
                }
                Signal::ModelCall => self.turns.model_call(),
                Signal::AskOpened { ask, body, scope, raw } => self.asked(ask, body, scope, raw),
                Signal::AskWithdrawn { ask } => {
                    if self.asks.close(&ask, ClosedBy::Agent) {
                        self.unanswered(ask, ClosedBy::Agent);
                    }
                }
                Signal::Permission(request) => {
                    let verdict = self.asks.permission(&request);
                    // A backend that is gone has no use for a verdict.
                    let _ended =
                        self.order(BackendOrder::Permission { request: request.id, verdict });
                }
                Signal::BeforeStart(BeforeStart(step)) => match step {
                    StartStep::Seen { files, settings, left_out } => {
                        self.seen(files, settings, left_out);
                    }
                    StartStep::AskFirst { body, reply } => self.ask_first(body, reply),
                },
                Signal::Alive => {}
                Signal::Begun { prompt } => self.turns.begun(prompt),
                Signal::NotTaken { prompt } => {
                    self.turns.not_taken(Some(&prompt));
                }
                Signal::OutputClosed => {
                    self.mute_by.get_or_insert_with(|| Instant::now() + EXIT_TIMEOUT);
                }
                Signal::Secret { name, value } => self.redactor.hide(name, value),
            }
        }
        if !self.outbox.outputs.is_empty() {
            // What the frames meant weighs as much as the frames, until the host has taken it.
            self.outbox.weigh(batch.weight);
        }
        self.check_spending();
        self.settle();
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "turns are the driver's; other kinds pass through"
    )]
    fn happened(&mut self, kind: EventKind, scope: EventScope, raw: Option<RawRef>) {
        match kind {
            EventKind::TurnStarted { trigger, .. } => self.turn_started(trigger, raw),
            EventKind::TurnEnded(ended) => self.turn_ended(*ended, raw, ClosedBy::TurnEnd),
            kind => {
                self.note(&kind, &scope);
                self.emit_from(kind, scope, raw);
            }
        }
    }

    /// Keeps what the driver must remember of an event.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the driver keeps track of a few kinds; new ones pass through"
    )]
    fn note(&mut self, kind: &EventKind, scope: &EventScope) {
        match kind {
            EventKind::SessionInfo(info) => {
                if let Some(session) = &info.session {
                    self.session = Some(session.clone());
                }
            }
            EventKind::SessionState { state } => self.state.agent_says(*state),
            EventKind::Tool(_) | EventKind::Task(_) => self.work.hear(kind, scope),
            EventKind::Usage(report) => self.count(report),
            EventKind::RateLimit(limit) if limit.exhausted => {
                let wait = limit.resets_at.map(|at| at.saturating_sub(clock::now_ms()));
                if let Some(wait) = wait.and_then(|wait| u64::try_from(wait).ok()) {
                    self.clocks.excuse(Duration::from_millis(wait));
                }
            }
            EventKind::Retry { delay_ms: Some(delay), .. } => {
                self.clocks.excuse(Duration::from_millis(*delay));
            }
            _ => {}
        }
    }

    /// Enters what was used. What an earlier run of the session has spent and only now was told is said to be so.
    fn count(&mut self, report: &UsageReport) {
        let entry = self.ledger.enter(report);
        if let Some(earlier) = entry.earlier {
            let tokens = earlier.tokens.total();
            let cost = earlier
                .cost_usd
                .map_or_else(|| "at an unknown cost".to_owned(), |cost| format!("for {cost}"));
            let text = format!(
                "{} counts {tokens} tokens more, {cost}, than was known of the runs before this one; they are counted here",
                self.profile.name
            );
            let code = Some("usage_corrected".into());
            self.emit(EventKind::Notice { level: Level::Info, code, text });
        }
        if !report.cut {
            self.warn_of_unknown_cost(report);
        }
    }

    /// Says the last word on every call that has none, when nobody else can say it any more.
    pub(super) fn count_what_is_left(&mut self) {
        let mut left = self.ledger.left();
        let asked = self.profile.asks_a_model && self.turns.model_calls > 0;
        if left.is_empty() && self.ledger.is_empty() && asked {
            // A model was called, and nobody said a word about it.
            left.push(UsageReport::cut("unseen", None, Spend::unpriced(Tokens::default())));
        }
        for report in left {
            self.ledger.enter(&report);
            self.emit(EventKind::Usage(report));
        }
    }

    /// A budget cannot be kept where nobody says what things cost; the person must know.
    fn warn_of_unknown_cost(&mut self, report: &UsageReport) {
        let blind = self.spec.limits.budget.is_some() && report.spend.cost_usd.is_none();
        if blind && !report.partial && !std::mem::replace(&mut self.warned_of_cost, true) {
            let model = report.model.as_deref().unwrap_or("the model");
            self.emit(EventKind::Notice {
                level: Level::Warning,
                code: Some("cost_unknown".into()),
                text: format!(
                    "nobody says what {model} costs, so the budget cannot be kept for it"
                ),
            });
        }
    }

    fn turn_started(&mut self, trigger: Trigger, raw: Option<RawRef>) {
        if self.turns.open.is_some() {
            let lost = TurnEnded::synthesised(TurnOutcome::Lost, None);
            self.turn_ended(lost, None, ClosedBy::TurnEnd);
        }
        self.state.wait_until(None);
        let prompts = self.turns.begin();
        let trigger = if prompts.is_empty() { trigger } else { Trigger::Prompt };
        self.emit_from(EventKind::TurnStarted { trigger, prompts }, EventScope::Main, raw);
    }

    /// Ends the turn: first everything that is open in it, then the turn itself.
    pub(super) fn turn_ended(&mut self, mut ended: TurnEnded, raw: Option<RawRef>, by: ClosedBy) {
        if self.turns.open.is_none() {
            let prompts = self.turns.begin();
            self.emit(EventKind::TurnStarted { trigger: Trigger::Unknown, prompts });
        }
        for ask in self.asks.close_all(by) {
            self.unanswered(ask, by);
        }
        for (scope, end) in self.work.end_turn() {
            self.emit_from(end, scope, None);
        }
        self.report();
        let ending = self.state.ending();
        let by_us = ending.is_some_and(|ending| ending.outcome != Outcome::Failed);
        let interrupted = self.turns.was_interrupted() || by_us;
        if interrupted && ended.outcome == TurnOutcome::Failed {
            ended.outcome = TurnOutcome::Interrupted;
        }
        let number = self.turns.current();
        let ended = self.turns.end(ended);
        self.emit_from(EventKind::TurnEnded(Box::new(ended)), EventScope::Main, raw);
        // The end belongs to the turn that it ends.
        if let Some(SessionOutput::Event(event)) = self.outbox.outputs.back_mut() {
            event.turn = number;
        }
    }

    pub(super) fn asked(&mut self, ask: AskId, body: Ask, scope: EventScope, raw: Option<RawRef>) {
        let fate = self.asks.open(&ask, &body);
        let deadline = match &fate {
            Fate::Waits { deadline: Some(wait), .. } => {
                let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                Some(clock::now_ms().saturating_add(wait))
            }
            Fate::Waits { deadline: None, .. } | Fate::Settled { .. } => None,
        };
        // A rule with a secret in it could not be shown as it is, so it is not offered.
        let rule = match &fate {
            Fate::Waits { rule: Some(rule), .. } => {
                let text = rule.to_string();
                (self.redactor.text(text.clone()) == text).then(|| rule.clone())
            }
            Fate::Waits { rule: None, .. } | Fate::Settled { .. } => None,
        };
        let settled = matches!(fate, Fate::Settled { .. });
        self.emit_from(
            EventKind::AskOpened { ask: ask.clone(), body, deadline, rule, settled },
            scope,
            raw,
        );
        if let Fate::Settled { by, answer } = fate {
            self.close_ask(ask, by, answer, None);
        }
    }

    /// Ends a run that has used up its model calls or its money while it still wants more.
    fn check_spending(&mut self) {
        let limits = self.spec.limits;
        let more_to_do = self.turns.open.is_some() || !self.pending.is_empty();
        if !more_to_do {
            return;
        }
        if let Some(max) = limits.max_turns.filter(|max| self.turns.model_calls > *max) {
            let error = ErrorInfo::new(
                ErrorClass::MaxTurns,
                format!("the limit of {max} model calls was reached"),
            )
            .hinting(HintCode::RaiseMaxTurns);
            self.begin_ending(Outcome::OutOfTurns, Some(error));
        }
        let spent = self.ledger.known_cost();
        if let Some(budget) = limits.budget.filter(|budget| spent >= *budget) {
            let error = ErrorInfo::new(
                ErrorClass::Budget,
                format!("{spent} of a budget of {budget} are spent"),
            )
            .hinting(HintCode::RaiseBudget);
            self.begin_ending(Outcome::OutOfBudget, Some(error));
        }
    }

    /// Decides what comes next once nothing is under way.
    pub(super) fn settle(&mut self) {
        if self.turns.busy() {
            return;
        }
        if let DriverState::Ending(ending) = &mut self.state {
            if ending.interrupting_until.take().is_some() {
                self.end.cancel();
            }
            return;
        }
        if self.watched.asking() {
            return;
        }
        let Some(last) = &self.turns.last else { return };
        if self.state.agent_is_busy() || self.turns.awaits_words() {
            // A turn that nobody asked for may follow at once; the agent says when none does.
            if !self.work.has_background() {
                self.state.wait_at_most_until(Instant::now() + LINGERING_AGENT_TIMEOUT);
            }
            return;
        }
        if matches!(last.outcome, TurnOutcome::OutOfTurns | TurnOutcome::OutOfBudget) {
            self.forget_pending();
        }
        if let Some(prompt) = self.pending.pop_front() {
            self.begin_prompt(prompt);
        } else if !self.work.has_background() && self.state.is_open() {
            if self.spec.linger.is_zero() {
                self.close();
            } else {
                // Idle now: what was waited for before no longer counts.
                self.state.wait_until(self.clocks.silent_for(self.spec.linger));
            }
        }
    }
}
