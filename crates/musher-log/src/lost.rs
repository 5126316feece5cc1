//! Closes the log of a run whose runner died: says what the runner no longer could.

use musher_core::{
    ClosedBy, ErrorClass, ErrorInfo, Event, EventKind, EventScope, Level, Lineage, Outcome,
    SessionEnded, Spend, TurnEnded, TurnOutcome, UsageReport,
};

use super::disk::LogDisk;
use super::ends::{OpenEnds, UnendedTurn, open_ends};
use super::error::LogError;
use super::lock::Lock;
use super::outcome;
use super::writer::{Writer, mend_head};

/// A run that was lost.
#[derive(Debug, Clone)]
pub struct Lost {
    /// Why, as people are told.
    pub reason: ErrorInfo,
    pub now_ms: i64,
    /// What the session that the run resumed had spent before.
    pub lineage: Lineage,
    /// Work that nobody wrote down has an unknown cost; without a model it has none.
    pub asks_a_model: bool,
}

/// Closes the log and records the outcome. It may be done again, and says the same then; a run that had said its end
/// before its runner died keeps it, also when somebody has cut its log since.
pub fn close_lost(lock: Lock, lost: Lost) -> Result<SessionEnded, LogError> {
    let dir = lock.dir().to_owned();
    let recorded: Option<SessionEnded> = outcome::read(&dir)?;
    if let Some(ended) = &recorded {
        mend_head(&lock)?;
        let readable = open_ends(&dir, lost.lineage.clone()).is_ok_and(|ends| ends.ended.is_some());
        if readable {
            return Ok(ended.clone());
        }
    }
    let mut writer = Writer::reopen(lock)?;
    let mut ends = open_ends(&dir, lost.lineage)?;
    let ended = match ends.ended.take().or(recorded.clone()) {
        Some(ended) if recorded.is_some() => {
            let text =
                "somebody has cut this log after the run had ended, so its last events are gone";
            let (level, code) = (Level::Warning, Some("log_cut".into()));
            let reason = ErrorInfo::new(ErrorClass::Internal, text);
            let notice = EventKind::Notice { level, code, text: text.into() };
            let mut kinds = vec![(None, EventScope::Main, notice)];
            let uncounted = uncounted(&ended, &ends).into_iter();
            kinds.extend(uncounted.map(|report| (None, EventScope::Main, report)));
            kinds.extend(closing(ends, TurnOutcome::Lost, &reason, &ended));
            writer.append_last(&numbered(kinds, lost.now_ms, writer.next_seq()))?;
            ended
        }
        Some(ended) => ended,
        None => {
            let left = ends.count_what_is_left(lost.asks_a_model);
            let ended = the_end(&ends, &lost.reason);
            let counted = |report| (ends.turn(), EventScope::Main, report);
            let mut kinds: Vec<Closing> = left.into_iter().map(counted).collect();
            kinds.extend(closing(ends, TurnOutcome::Lost, &lost.reason, &ended));
            writer.append_last(&numbered(kinds, lost.now_ms, writer.next_seq()))?;
            ended
        }
    };
    writer.finish(&ended)?;
    Ok(ended)
}

/// What the outcome tells of usage beyond what the log still has, so that the bill is whole without the events.
fn uncounted(ended: &SessionEnded, ends: &OpenEnds) -> Vec<EventKind> {
    let counted = ends.ledger.by_model();
    let rest = ended.models.iter().map(|(model, total)| {
        let before = counted.get(model).copied().unwrap_or_default();
        let tokens = total.tokens.minus(before.tokens);
        let known = total.known_cost().minus(before.known_cost());
        let spend = match total.cost_usd {
            Some(_) => Spend::costing(tokens, Some(known)),
            None => Spend::unpriced(tokens).at_least(known),
        };
        (model, if total.estimated { spend.as_estimate() } else { spend })
    });
    let is_free = |spend: &Spend| spend.cost_usd.is_some_and(|cost| cost.is_zero());
    let nothing = |spend: &Spend| spend.tokens.total() == 0 && is_free(spend);
    let rest = rest.filter(|(_, spend)| !nothing(spend));
    rest.map(|(model, spend)| {
        let id = format!("recorded-{model}");
        EventKind::Usage(UsageReport::call(id, Some(model.clone()), spend))
    })
    .collect()
}

/// Closes the log of a run that a person ended while the disk took nothing: its own end is said, and what was spent in all,
/// without what the agent said before it. On a disk that has no room even for that, it may be done again.
pub fn close_short<D: LogDisk>(
    writer: &mut Writer<D>,
    ended: &SessionEnded,
    now_ms: i64,
) -> Result<(), LogError> {
    let ends = open_ends(writer.dir(), Lineage::default())?;
    if ends.ended.is_some() {
        return Ok(());
    }
    let text = "the disk was full when the run was ended, so its last words are not in its log";
    let reason = ErrorInfo::new(ErrorClass::Unavailable, text);
    let (level, code) = (Level::Warning, Some("cut_short".into()));
    let notice = EventKind::Notice { level, code, text: text.into() };
    let mut kinds = vec![(None, EventScope::Main, notice)];
    // One report for each model, however many calls there were: the room that is kept is small.
    let uncounted = uncounted(ended, &ends).into_iter();
    kinds.extend(uncounted.map(|report| (None, EventScope::Main, report)));
    kinds.extend(closing(ends, TurnOutcome::Interrupted, &reason, ended));
    writer.append_last(&numbered(kinds, now_ms, writer.next_seq())).map(drop)
}

fn the_end(ends: &OpenEnds, reason: &ErrorInfo) -> SessionEnded {
    let open_calls = ends.open_turn.as_ref().map_or(0, |turn| turn.model_calls);
    let end = SessionEnded {
        outcome: Outcome::Lost,
        session: ends.session.clone(),
        origin: ends.origin,
        turns: ends.turns,
        model_calls: ends.model_calls + open_calls,
        duration_ms: between(ends.began_at, ends.last_at),
        ..SessionEnded::unbegun(reason.clone())
    };
    end.spending(&ends.ledger)
}

/// An event that is still to be said: its turn, whose it is, and what.
type Closing = (Option<u32>, EventScope, EventKind);

/// What is still to be said, in the order in which a runner says it: asks, calls, the turn, tasks, the end.
fn closing(
    mut ends: OpenEnds,
    outcome: TurnOutcome,
    reason: &ErrorInfo,
    ended: &SessionEnded,
) -> Vec<Closing> {
    let number = ends.open_turn.as_ref().and_then(|turn| turn.number);
    let by = ClosedBy::ProcessEnd;
    let mut kinds: Vec<Closing> = Vec::new();
    for ask in ends.open_asks {
        let closed = EventKind::AskClosed { ask, by, answer: None, command: None, who: None };
        kinds.push((number, EventScope::Main, closed));
    }
    if let Some(UnendedTurn { prompts, began_at, model_calls, .. }) = ends.open_turn {
        let with_turn = ends.work.end_turn();
        kinds.extend(with_turn.into_iter().map(|(scope, kind)| (number, scope, kind)));
        let duration_ms = Some(between(Some(began_at), ends.last_at));
        let turn = TurnEnded {
            prompts,
            model_calls,
            duration_ms,
            ..TurnEnded::synthesised(outcome, Some(reason.clone()))
        };
        kinds.push((number, EventScope::Main, EventKind::TurnEnded(Box::new(turn))));
    }
    kinds.extend(ends.work.end().into_iter().map(|(scope, kind)| (None, scope, kind)));
    kinds.push((None, EventScope::Main, EventKind::SessionEnded(Box::new(ended.clone()))));
    kinds
}

/// Events with numbers from this one on.
fn numbered(kinds: Vec<Closing>, now_ms: i64, first: u64) -> Vec<Event> {
    let event =
        |(seq, (turn, scope, kind))| Event { seq, at: now_ms, kind, turn, scope, raw: None };
    (first..).zip(kinds).map(event).collect()
}

fn between(from: Option<i64>, to: Option<i64>) -> u64 {
    let span = from.zip(to).map_or(0, |(from, to)| to.saturating_sub(from));
    u64::try_from(span).unwrap_or(0)
}
