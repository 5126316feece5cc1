//! How a run ends: because a person wants it, or because it did.

use super::draft::Draft;
use super::{answers, talk};
use crate::pool::money::outstanding;
use crate::pool::{
    Action, CommandReply, DeliveryKind, Fact, Refusal, Slot, SlotCondition, Undelivered,
    UndeliveredCode, UnknownSpending,
};
use crate::{CommandId, Doubt, EndRequest, ErrorInfo, Outcome, Run, RunId, RunPhase, SlotId};

pub(super) fn stop(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
) -> Result<CommandReply, Refusal> {
    wish(draft, command, run, EndRequest::Stop)
}

pub(super) fn kill(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
) -> Result<CommandReply, Refusal> {
    wish(draft, command, run, EndRequest::Kill)
}

fn wish(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
    wish: EndRequest,
) -> Result<CommandReply, Refusal> {
    let found = draft.base.runs.get(&run).ok_or(Refusal::NoSuchRun { run })?;
    let wished = Fact::EndWished { run, command: command.clone(), wish };
    match found.phase {
        RunPhase::Queued => {
            end(draft, run, EndedRun::early(Outcome::Stopped));
            Ok(CommandReply::Done)
        }
        RunPhase::Preparing { .. } | RunPhase::Starting { .. } | RunPhase::Live { .. } => {
            if is_under_way(draft, run, wish) {
                return Ok(CommandReply::Done);
            }
            draft.put(wished);
            let kind = match wish {
                EndRequest::Stop => DeliveryKind::Stop,
                EndRequest::Kill => DeliveryKind::Kill,
            };
            talk::hand_over(draft, run, found, command.clone(), kind);
            Ok(CommandReply::Offered)
        }
        RunPhase::Closing { .. } | RunPhase::Finishing { outcome: Outcome::Lost, .. } => {
            // It is ending by itself, but it would be restarted.
            if found.wish < Some(wish) {
                draft.put(wished);
            }
            Ok(CommandReply::Done)
        }
        RunPhase::Finishing { .. } => Ok(CommandReply::Done),
    }
}

/// Whether the run is already being told to end, as strongly or more so.
fn is_under_way(draft: &Draft<'_>, run: RunId, wish: EndRequest) -> bool {
    draft.base.deliveries_to(run).iter().any(|(_, delivery)| match delivery.kind {
        DeliveryKind::Stop => wish == EndRequest::Stop,
        DeliveryKind::Kill => true,
        DeliveryKind::Prompt
        | DeliveryKind::Steer
        | DeliveryKind::Answer { .. }
        | DeliveryKind::TakeBack { .. }
        | DeliveryKind::Interrupt
        | DeliveryKind::Change { .. } => false,
    })
}

/// How a run ended.
pub(super) struct EndedRun {
    pub(super) outcome: Outcome,
    pub(super) error: Option<ErrorInfo>,
    /// The event that told it.
    pub(super) seq: Option<u64>,
}

impl EndedRun {
    /// An end before there was a log.
    pub(super) fn early(outcome: Outcome) -> Self {
        Self { outcome, error: None, seq: None }
    }

    /// A failure before there was a log.
    pub(super) fn failed(error: ErrorInfo) -> Self {
        Self { outcome: Outcome::Failed, error: Some(error), seq: None }
    }
}

/// Ends a run: first the last word on everything that was on its way to it, then the end, then what is left to do.
pub(super) fn end(draft: &mut Draft<'_>, id: RunId, end: EndedRun) {
    let Some(run) = draft.state().runs.get(&id).cloned() else { return };
    settle_all(draft, id);
    let EndedRun { outcome, error, seq } = end;
    let session = run.conversation();
    let rest = what_is_left(draft, id, &run);
    let held = held(draft, &run, seq);
    draft.put(Fact::RunEnded { run: id, seq, outcome, error, session, held });
    if let Some(action) = rest {
        draft.act(action);
    }
}

/// What the run may have spent beyond what is known. A run that was begun and whose log does not tell its end may have
/// spent all that it could.
fn held(draft: &Draft<'_>, run: &Run, told: Option<u64>) -> Option<UnknownSpending> {
    let begun = match run.phase {
        RunPhase::Live { .. } | RunPhase::Closing { .. } | RunPhase::Finishing { .. } => true,
        RunPhase::Queued | RunPhase::Preparing { .. } | RunPhase::Starting { .. } => false,
    };
    let silent = begun && told.is_none();
    let usd = outstanding(run);
    let known = !silent && run.doubt.is_none();
    if known || usd.is_zero() {
        return None;
    }
    let lasting = silent || run.doubt == Doubt::Lasting;
    Some(UnknownSpending { usd, at: draft.now, of: run.plan.kind.of(), lasting })
}

fn what_is_left(draft: &mut Draft<'_>, id: RunId, run: &Run) -> Option<Action> {
    match run.phase {
        RunPhase::Queued | RunPhase::Finishing { .. } => None,
        RunPhase::Preparing { slot, .. } | RunPhase::Starting { slot } => give_back(draft, slot),
        RunPhase::Live { slot } | RunPhase::Closing { slot } => draft.state().finish(id, slot),
    }
}

/// A worktree in which no runner has been is not kept.
fn give_back(draft: &mut Draft<'_>, slot: SlotId) -> Option<Action> {
    match draft.state().slots.get(&slot) {
        Some(Slot::Held { branch, condition: SlotCondition::New, .. }) => {
            Some(Action::Release { slot, branch: branch.clone() })
        }
        Some(Slot::Held { condition: SlotCondition::Entered | SlotCondition::SetUp, .. })
        | Some(Slot::Free | Slot::Leaving { .. })
        | None => None,
    }
}

fn settle_all(draft: &mut Draft<'_>, run: RunId) {
    let state = draft.state();
    let deliveries: Vec<_> = state
        .deliveries_to(run)
        .into_iter()
        .map(|(command, delivery)| (command.clone(), delivery.kind.clone()))
        .collect();
    let ended = || Undelivered {
        code: UndeliveredCode::RunEnded,
        message: "it ended before it said that it had this".into(),
    };
    for (command, kind) in deliveries {
        match kind {
            DeliveryKind::Answer { ask, .. } => {
                answers::settled(draft, run, &ask, &command, Err(ended()));
            }
            DeliveryKind::Prompt
            | DeliveryKind::Steer
            | DeliveryKind::TakeBack { .. }
            | DeliveryKind::Interrupt
            | DeliveryKind::Change { .. } => {
                talk::settled(draft, run, &command, Err(ended()));
            }
            // What was wished for has come about.
            DeliveryKind::Stop | DeliveryKind::Kill => {
                draft.put(Fact::CommandDelivered { run, command: command.clone() });
                draft.settle(&command, Ok(CommandReply::Done));
            }
        }
    }
}
