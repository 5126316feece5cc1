//! The shape of a run as clients read it, and how it is kept from growing without bound.

use musher_core::{Spend, Trigger, TurnOutcome};
use serde::Serialize;
use utoipa::ToSchema;

/// At most so many turns, marks and spans.
const MAX_OUTLINE_ENTRIES: usize = 2_000;
/// So many are let go of at once.
const THINNED: usize = 500;

/// The shape of a run.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct Outline {
    pub(super) turns: Vec<Turn>,
    /// What is worth a look, in the order of the log.
    pub(super) marks: Vec<OutlineMark>,
    /// What took its time, in the order of the log.
    pub(super) spans: Vec<Span>,
    /// There were more than 2,000 of something, and the least useful were left out.
    pub(super) thinned: bool,
}

/// A turn.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Turn {
    pub(super) turn: u32,
    /// The event with which it began.
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) ended_at: Option<i64>,
    /// The event with which it ended.
    pub(super) end_seq: Option<u64>,
    #[schema(value_type = String, examples("prompt", "background", "unknown"))]
    pub(super) trigger: Trigger,
    /// The head of what the agent was asked.
    pub(super) prompt: String,
    #[schema(value_type = Option<String>)]
    pub(super) outcome: Option<TurnOutcome>,
    /// Absent when a part of it is unknown.
    pub(super) cost_usd: Option<f64>,
    /// Some of the cost or of the tokens was worked out, and is the least that it can be.
    pub(super) estimated: bool,
    #[serde(skip)]
    #[schema(ignore)]
    pub(super) spent: Spend,
    /// How many calls of tools it made.
    pub(super) tools: u64,
    /// All billed tokens.
    pub(super) tokens: u64,
}

/// A place that is worth a look.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Mark)]
pub(crate) struct OutlineMark {
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) kind: MarkKind,
    pub(super) text: String,
    /// Whether it still waits for a person.
    pub(super) open: bool,
}

/// Why a place is worth a look; those that people would miss least come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MarkKind {
    Notice,
    Compaction,
    Denied,
    Error,
    Question,
    Approval,
}

/// Something that took its time.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Span {
    pub(super) seq: u64,
    pub(super) at: i64,
    /// Absent when it goes on.
    pub(super) until: Option<i64>,
    pub(super) kind: SpanKind,
    /// The tool, or what was waited for.
    pub(super) name: String,
    pub(super) failed: bool,
}

/// What the time was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpanKind {
    Tool,
    /// For a person.
    Wait,
}

impl Outline {
    /// Lets go of the least useful when there is too much.
    pub(super) fn thin(&mut self) {
        if self.turns.len() > MAX_OUTLINE_ENTRIES {
            self.thinned = true;
            // Of old turns every second one; the newest are what people look at.
            let mut at = 0;
            self.turns.retain(|_| {
                at += 1;
                at > 2 * THINNED || at % 2 == 1
            });
        }
        if self.marks.len() > MAX_OUTLINE_ENTRIES {
            self.thinned = true;
            let least = |mark: &OutlineMark| (mark.open, mark.kind, mark.seq);
            drop_least(&mut self.marks, least);
        }
        if self.spans.len() > MAX_OUTLINE_ENTRIES {
            self.thinned = true;
            let least = |span: &Span| {
                let took = span.until.map(|until| until - span.at);
                (took.is_none(), span.kind == SpanKind::Wait, took, span.seq)
            };
            drop_least(&mut self.spans, least);
        }
    }
}

/// Drops those that come first by a key, and keeps the order of the others.
fn drop_least<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|at| key(&items[*at]));
    let mut drop = vec![false; items.len()];
    for at in order.into_iter().take(THINNED) {
        drop[at] = true;
    }
    let mut drop = drop.into_iter();
    items.retain(|_| !drop.next().unwrap_or(false));
}
