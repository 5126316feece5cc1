//! Makes the shape of a run from its log, line by line; most lines are passed over without being read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use musher_core::{
    Ask, AskId, Event, EventKind, Ledger, Level, Lineage, PromptId, Spend, ToolPhase,
};
use serde::Deserialize;

use super::shape::{MarkKind, Outline, OutlineMark, Span, SpanKind, Turn};
use crate::watch::network::NetworkFold;
use musher_log::line_kind;

/// Letters of a prompt, and of anything else.
const PROMPT: usize = 120;
const TEXT: usize = 200;
/// Prompts that wait for their turn, and calls that are under way; more are forgotten.
const UNDER_WAY: usize = 1_000;

/// An outline in the making.
#[derive(Debug)]
pub(super) struct Fold {
    outline: Outline,
    ledger: Ledger,
    /// The heads of prompts whose turn has not begun.
    prompts: BTreeMap<PromptId, String>,
    /// The numbers of the events with which calls and asks began.
    calls: BTreeMap<String, u64>,
    asks: BTreeMap<AskId, u64>,
    pub(super) network: NetworkFold,
}

/// What is read of a call; its input and output are passed over.
#[derive(Deserialize)]
struct Call<'a> {
    seq: u64,
    at: i64,
    #[serde(default)]
    turn: Option<u32>,
    #[serde(borrow)]
    call: Cow<'a, str>,
    phase: ToolPhase,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    subject: Option<Cow<'a, str>>,
}

impl Fold {
    /// `lineage` is that of the session that the run resumed.
    pub(super) fn new(lineage: Lineage) -> Self {
        Self {
            outline: Outline::default(),
            ledger: Ledger::resuming(lineage),
            prompts: BTreeMap::new(),
            calls: BTreeMap::new(),
            asks: BTreeMap::new(),
            network: NetworkFold::default(),
        }
    }

    pub(super) fn outline(&self) -> Outline {
        self.outline.clone()
    }

    /// Takes in a line of the log; one that cannot be read says nothing.
    pub(super) fn take(&mut self, line: &[u8]) {
        match line_kind(line) {
            Some("tool") => {
                if let Ok(call) = serde_json::from_slice(line) {
                    self.call(&call);
                }
            }
            Some(
                "turn_started" | "turn_ended" | "user_message" | "ask_opened" | "ask_closed"
                | "usage" | "compaction" | "notice" | "network" | "error" | "session_ended",
            ) => {
                if let Ok(event) = serde_json::from_slice(line) {
                    self.event(event);
                }
            }
            Some(_) | None => return,
        }
        self.outline.thin();
    }

    fn call(&mut self, call: &Call<'_>) {
        let began = self.calls.get(call.call.as_ref()).copied();
        if let (None, Some(name)) = (began, &call.name) {
            if let Some(turn) = self.turn(call.turn) {
                turn.tools += 1;
            }
            let name = name.as_ref().to_owned();
            self.span(call.seq, call.at, SpanKind::Tool, name);
            if self.calls.len() < UNDER_WAY {
                self.calls.insert(call.call.as_ref().to_owned(), call.seq);
            }
        }
        if call.phase == ToolPhase::Denied {
            let name = began.and_then(|seq| self.name_of(seq));
            let name = name.or(call.name.as_deref().map(str::to_owned)).unwrap_or_default();
            let subject = call.subject.as_deref().unwrap_or_default();
            self.mark(call.seq, call.at, MarkKind::Denied, &format!("{name} {subject}"));
        }
        if call.phase.is_final()
            && let Some(seq) = self.calls.remove(call.call.as_ref())
        {
            let failed = match call.phase {
                ToolPhase::Failed | ToolPhase::Denied => true,
                ToolPhase::Proposed
                | ToolPhase::Running
                | ToolPhase::Progress
                | ToolPhase::Completed
                | ToolPhase::Cancelled => false,
            };
            self.end_span(seq, call.at, failed);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only a few kinds give a run its shape")]
    fn event(&mut self, event: Event) {
        let Event { seq, at, turn, kind, .. } = event;
        match kind {
            EventKind::UserMessage { prompt: Some(prompt), text, .. }
                if self.prompts.len() < UNDER_WAY =>
            {
                self.prompts.insert(prompt, head(&text, PROMPT));
            }
            EventKind::TurnStarted { trigger, prompts } => {
                let texts = prompts.iter().filter_map(|prompt| self.prompts.remove(prompt));
                let texts: Vec<String> = texts.collect();
                let number = turn.unwrap_or_else(|| {
                    self.outline.turns.last().map_or(1, |last| last.turn.saturating_add(1))
                });
                self.outline.turns.push(Turn {
                    turn: number,
                    seq,
                    at,
                    ended_at: None,
                    end_seq: None,
                    trigger,
                    prompt: texts.into_iter().next().unwrap_or_default(),
                    outcome: None,
                    cost_usd: None,
                    estimated: false,
                    spent: Spend::default(),
                    tools: 0,
                    tokens: 0,
                });
            }
            EventKind::TurnEnded(ended) => {
                if let Some(turn) = self.turn(turn) {
                    turn.ended_at = Some(at);
                    turn.end_seq = Some(seq);
                    turn.outcome = Some(ended.outcome);
                }
            }
            EventKind::Usage(report) => {
                let added = self.ledger.enter(&report).spend;
                if let Some(turn) = self.turn(turn).filter(|_| added != Spend::default()) {
                    turn.spent = turn.spent.plus(added);
                    turn.tokens = turn.spent.tokens.total();
                    turn.cost_usd = turn.spent.cost_usd.map(|cost| cost.dollars());
                    turn.estimated = turn.spent.estimated;
                }
            }
            EventKind::AskOpened { ask, body, settled: false, .. } => self.ask(seq, at, ask, &body),
            EventKind::AskClosed { ask, .. } => {
                if let Some(began) = self.asks.remove(&ask) {
                    self.end_span(began, at, false);
                    let marks = &mut self.outline.marks;
                    if let Ok(found) = marks.binary_search_by_key(&began, |mark| mark.seq) {
                        marks[found].open = false;
                    }
                }
            }
            EventKind::Compaction { done: true, .. } => {
                self.mark(seq, at, MarkKind::Compaction, "The conversation was shortened");
            }
            EventKind::Notice { level: Level::Warning | Level::Error, text, .. } => {
                self.mark(seq, at, MarkKind::Notice, &text);
            }
            EventKind::Network(report) => self.network.take(*report),
            EventKind::Error { error } => self.mark(seq, at, MarkKind::Error, &error.message),
            EventKind::SessionEnded(ended) => {
                if let Some(error) = &ended.error {
                    self.mark(seq, at, MarkKind::Error, &error.message);
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self, seq: u64, at: i64, ask: AskId, body: &Ask) {
        let (kind, name, text) = match body {
            Ask::Approval(approval) => {
                let subject = approval.subject.as_deref().unwrap_or_default();
                (MarkKind::Approval, "approval", format!("{} {subject}", approval.tool))
            }
            Ask::Plan { plan } => (MarkKind::Approval, "plan", plan.clone()),
            Ask::Question { questions } => {
                let text = questions.first().map_or("", |question| &question.text);
                (MarkKind::Question, "question", text.to_owned())
            }
            Ask::Form { message, .. } => (MarkKind::Question, "form", message.clone()),
        };
        self.mark(seq, at, kind, &text);
        self.span(seq, at, SpanKind::Wait, name.to_owned());
        if self.asks.len() < UNDER_WAY {
            self.asks.insert(ask, seq);
            if let Some(mark) = self.outline.marks.last_mut() {
                mark.open = true;
            }
        }
    }

    /// The turn that an event belongs to: the one it names, else the last.
    fn turn(&mut self, number: Option<u32>) -> Option<&mut Turn> {
        let turns = &mut self.outline.turns;
        match number {
            Some(number) => turns.iter_mut().rev().take(8).find(|turn| turn.turn == number),
            None => turns.last_mut(),
        }
    }

    fn mark(&mut self, seq: u64, at: i64, kind: MarkKind, text: &str) {
        let text = head(text, TEXT);
        self.outline.marks.push(OutlineMark { seq, at, kind, text, open: false });
    }

    fn span(&mut self, seq: u64, at: i64, kind: SpanKind, name: String) {
        self.outline.spans.push(Span { seq, at, until: None, kind, name, failed: false });
    }

    fn end_span(&mut self, seq: u64, until: i64, failed: bool) {
        let spans = &mut self.outline.spans;
        if let Ok(found) = spans.binary_search_by_key(&seq, |span| span.seq) {
            (spans[found].until, spans[found].failed) = (Some(until), failed);
        }
    }

    fn name_of(&self, seq: u64) -> Option<String> {
        let found = self.outline.spans.binary_search_by_key(&seq, |span| span.seq).ok()?;
        Some(self.outline.spans[found].name.clone())
    }
}

/// The first letters of a text, on one line.
fn head(text: &str, most: usize) -> String {
    let start: String = text.chars().take(most * 2).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    words.join(" ").chars().take(most).collect()
}
