//! What a run log leaves open: what its writer would still have had to say.

use std::collections::BTreeSet;
use std::path::Path;

use musher_core::{
    AskId, Event, EventKind, Ledger, Lineage, OpenWork, Origin, PromptId, SessionEnded, SessionId,
    SessionOrigin, Spend, Tokens, UsageOf, UsageReport,
};

use super::error::LogError;
use super::line::{Kinds, lines};
use super::reader::{LogRead, LogReader};

const PIECE: usize = 256 * 1024;
/// The call that stands for all that an agent may have begun when nobody wrote it down any more.
const UNSEEN: &str = "unseen";
/// The kinds that leave something open, close it or count.
const KINDS: [&str; 11] = [
    "session_info",
    "user_message",
    "turn_started",
    "turn_ended",
    "tool",
    "task",
    "ask_opened",
    "ask_closed",
    "usage",
    "notice",
    "session_ended",
];

/// The open ends of a run log.
#[derive(Debug, Default)]
pub struct OpenEnds {
    pub last_seq: u64,
    /// In the order in which they were opened.
    pub open_asks: Vec<AskId>,
    pub open_turn: Option<UnendedTurn>,
    /// Calls and tasks without an end, of the agent and its helpers.
    pub work: OpenWork,
    /// Prompts that no turn began with, in the order in which they were taken.
    pub unbegun: Vec<PromptId>,
    /// Prompts that a turn began with.
    pub begun: BTreeSet<PromptId>,
    pub session: Option<SessionId>,
    pub origin: SessionOrigin,
    pub ledger: Ledger,
    /// Model calls that were told of.
    calls: BTreeSet<String>,
    pub turns: u32,
    /// As far as the ends of turns and the usage tell.
    pub model_calls: u32,
    /// When the first and the last of these events were heard.
    pub began_at: Option<i64>,
    pub last_at: Option<i64>,
    /// The end, if it was said.
    pub ended: Option<SessionEnded>,
}

/// A turn without an end.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct UnendedTurn {
    pub number: Option<u32>,
    pub prompts: Vec<PromptId>,
    pub began_at: i64,
    pub model_calls: u32,
}

/// Reads a whole log once. `lineage` is that of the session that the run resumed.
pub fn open_ends(dir: &Path, lineage: Lineage) -> Result<OpenEnds, LogError> {
    let mut ends = OpenEnds { ledger: Ledger::resuming(lineage), ..OpenEnds::default() };
    let mut reader = LogReader::open(dir, None)?;
    let kinds = Kinds::new(KINDS);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read(&mut buffer, PIECE)? {
            LogRead::Lines(batch) => {
                ends.last_seq = batch.last;
                for line in lines(&buffer[batch.lines]).filter(|line| kinds.has(line)) {
                    // A kind that has changed beyond our reading leaves nothing open that we could close.
                    if let Ok(event) = serde_json::from_slice(line) {
                        ends.hear(event);
                    }
                }
            }
            LogRead::Reset { .. } => {}
            LogRead::End => return Ok(ends),
        }
    }
}

impl OpenEnds {
    /// The number of the open turn.
    pub(super) fn turn(&self) -> Option<u32> {
        self.open_turn.as_ref().and_then(|turn| turn.number)
    }

    /// The last words on what was used, and entered: of the calls that have none, and of what the agent may have begun
    /// when nobody wrote it down any more, if it asks a model.
    pub(super) fn count_what_is_left(&mut self, asks_a_model: bool) -> Vec<EventKind> {
        let mut left = self.ledger.left();
        let at_work = self.open_turn.is_some() || !self.unbegun.is_empty();
        if asks_a_model && at_work && !self.ledger.has_counted(UNSEEN) {
            left.push(UsageReport::cut(UNSEEN, None, Spend::unpriced(Tokens::default())));
        }
        left.iter().for_each(|report| {
            self.ledger.enter(report);
        });
        left.into_iter().map(EventKind::Usage).collect()
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only the kinds that were chosen come here; others leave nothing open"
    )]
    fn hear(&mut self, event: Event) {
        self.began_at.get_or_insert(event.at);
        self.last_at = Some(event.at);
        self.work.hear(&event.kind, &event.scope);
        match event.kind {
            EventKind::SessionInfo(info) => {
                if info.forked_from.is_some() {
                    self.origin = SessionOrigin::Forked;
                } else if info.resumed_from.is_some() {
                    self.origin = SessionOrigin::Resumed;
                }
                self.session = info.session.or_else(|| self.session.take());
            }
            EventKind::TurnStarted { prompts, .. } => {
                self.turns += 1;
                self.unbegun.retain(|prompt| !prompts.contains(prompt));
                self.begun.extend(prompts.iter().cloned());
                self.open_turn = Some(UnendedTurn {
                    number: event.turn,
                    prompts,
                    began_at: event.at,
                    ..UnendedTurn::default()
                });
            }
            EventKind::UserMessage { prompt: Some(prompt), origin: Origin::Prompt, .. } => {
                self.unbegun.push(prompt);
            }
            EventKind::PromptWithdrawn { prompt } => self.unbegun.retain(|it| *it != prompt),
            EventKind::TurnEnded(ended) => {
                self.open_turn = None;
                self.model_calls += ended.model_calls;
            }
            EventKind::AskOpened { ask, .. } => self.open_asks.push(ask),
            EventKind::AskClosed { ask, .. } => self.open_asks.retain(|open| *open != ask),
            EventKind::Usage(report) => {
                self.ledger.enter(&report);
                let is_new = report.id.as_deref() != Some(UNSEEN)
                    && report.id.is_none_or(|id| self.calls.insert(id));
                if let Some(turn) = &mut self.open_turn
                    && report.of == UsageOf::ModelCall
                    && event.scope.is_main()
                    && is_new
                {
                    turn.model_calls += 1;
                }
            }
            // The session to resume was unknown, so its totals have no part in this run.
            EventKind::Notice { code: Some(code), .. } if code == "resume_fallback" => {
                self.origin = SessionOrigin::Fallback;
                self.ledger = Ledger::default();
            }
            EventKind::SessionEnded(ended) => self.ended = Some(*ended),
            _ => {}
        }
    }
}
