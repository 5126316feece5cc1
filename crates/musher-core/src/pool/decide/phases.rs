//! The way of a run through its phases, as the world reports it.

use super::draft::Draft;
use super::ending::{EndedRun, end};
use super::restarts;
use crate::pool::{Action, Fact, Slot};
use crate::{BranchRef, ErrorInfo, Outcome, RunId, RunPhase, SlotId};

pub(super) fn prepared(draft: &mut Draft<'_>, id: RunId, head: String) {
    let Some(run) = draft.base.runs.get(&id) else { return };
    let RunPhase::Preparing { slot, .. } = run.phase else { return };
    if run.wish.is_some() {
        end(draft, id, EndedRun::early(Outcome::Stopped));
        return;
    }
    let Some(spawn) = draft.base.spawn(id, slot) else { return };
    draft.put(Fact::RunPrepared { run: id, head });
    draft.act(spawn);
}

pub(super) fn prepare_failed(draft: &mut Draft<'_>, id: RunId, error: ErrorInfo) {
    if let Some(RunPhase::Preparing { .. }) = phase(draft, id) {
        end(draft, id, EndedRun::failed(error));
    }
}

pub(super) fn runner_up(draft: &mut Draft<'_>, id: RunId) {
    if let Some(RunPhase::Starting { .. }) = phase(draft, id) {
        go_live(draft, id);
    }
}

/// The runner is up: what waited for it is handed over.
pub(super) fn go_live(draft: &mut Draft<'_>, id: RunId) {
    draft.put(Fact::RunStarted { run: id });
    for delivery in draft.base.deliver(id) {
        draft.act(delivery);
    }
}

pub(super) fn spawn_failed(draft: &mut Draft<'_>, id: RunId, error: ErrorInfo) {
    if let Some(RunPhase::Starting { .. }) = phase(draft, id) {
        end(draft, id, EndedRun::failed(error));
    }
}

pub(super) fn runner_gone(draft: &mut Draft<'_>, id: RunId) {
    match phase(draft, id) {
        Some(RunPhase::Starting { .. } | RunPhase::Live { .. }) => {
            draft.put(Fact::RunnerLost { run: id });
            draft.act(Action::CloseLog { run: id });
        }
        Some(
            RunPhase::Queued
            | RunPhase::Preparing { .. }
            | RunPhase::Closing { .. }
            | RunPhase::Finishing { .. },
        )
        | None => {}
    }
}

pub(super) fn log_lost(draft: &mut Draft<'_>, id: RunId, error: ErrorInfo) {
    if let Some(RunPhase::Closing { .. }) = phase(draft, id) {
        end(draft, id, EndedRun { outcome: Outcome::Lost, error: Some(error), seq: None });
    }
}

pub(super) fn finished(
    draft: &mut Draft<'_>,
    id: RunId,
    commit: Option<String>,
    error: Option<String>,
) {
    let Some(run) = draft.base.runs.get(&id) else { return };
    let RunPhase::Finishing { slot, outcome } = run.phase else { return };
    draft.put(Fact::RunFinished { run: id, commit, error });
    // Only what was lost is restarted; what failed would fail again.
    if outcome == Outcome::Lost {
        restarts::restart(draft, id, run, slot);
    }
}

pub(super) fn released(draft: &mut Draft<'_>, slot: SlotId, emptied: &BranchRef) {
    if let Some(Slot::Leaving { branch }) = draft.base.slots.get(&slot)
        && branch == emptied
    {
        draft.put(Fact::SlotReleased { slot });
    }
}

fn phase<'a>(draft: &Draft<'a>, id: RunId) -> Option<&'a RunPhase> {
    draft.base.runs.get(&id).map(|run| &run.phase)
}
