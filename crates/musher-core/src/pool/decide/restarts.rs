//! What was lost is started again by itself, a few times; then a person is asked.

use super::answers::{self, GivenAnswer};
use super::draft::Draft;
use super::{starts, stories};
use crate::pool::{
    CommandReply, Fact, Pair, Parked, RESTART_ASK, RESTART_LIMIT, RESTART_WINDOW_MS, Refusal,
};
use crate::{
    Answer, CommandId, FirstPrompt, Run, RunId, RunKind, RunLine, RunPlan, SessionOpening, SlotId,
};

/// Starts a lost run again, or parks it.
pub(super) fn restart(draft: &mut Draft<'_>, id: RunId, run: &Run, slot: SlotId) {
    let pair = Pair::of(&run.plan);
    let wished = run.wish.is_some();
    let closed = stories::takes_runs(draft.base, &pair.story).is_err();
    if wished || closed || draft.team.seat(&pair.agent).is_none() {
        return;
    }
    let plan = plan(id, run, slot);
    let now = draft.now;
    let recent = draft.base.restarts.get(&pair).map_or(0, |times| {
        times.iter().filter(|then| now.saturating_sub(**then) < RESTART_WINDOW_MS).count()
    });
    if recent < RESTART_LIMIT {
        let run = draft.next_run();
        draft.put(Fact::RunQueued { run, plan, command: None, at: now, nonce: None });
    } else {
        draft.put(Fact::RunParked { run: id, plan });
    }
}

/// The run that takes the place of a lost one, in the same worktree.
fn plan(id: RunId, run: &Run, slot: SlotId) -> RunPlan {
    let (opening, words) = match &run.session {
        Some(session) => {
            (SessionOpening::Resume { session: session.clone() }, FirstPrompt::Continue)
        }
        // Nobody knows that the agent ever heard its prompt, so it is said again.
        None => (run.plan.kind.opening(), run.plan.words.again(id)),
    };
    let kind = RunKind::Restart { of: id, opening };
    RunPlan { kind, words, slot: Some(slot), ..run.plan.clone() }
}

/// A person's answer to the question whether a parked run may be started again.
pub(super) fn answer(
    draft: &mut Draft<'_>,
    command: &CommandId,
    lost: RunId,
    parked: &Parked,
    given: &GivenAnswer,
) -> Result<CommandReply, Refusal> {
    let plan = parked.plan.clone();
    answers::was_shown(lost, &RESTART_ASK.into(), given)?;
    let unparked =
        Fact::RunUnparked { run: lost, command: Some(command.clone()), from: given.from.clone() };
    match &given.answer {
        Answer::Allow { .. } | Answer::AllowAlways { .. } => {
            stories::takes_runs(draft.base, &plan.story)?;
            starts::seat(draft.team, &plan.agent)?;
            match plan.line {
                RunLine::Main => starts::alone(draft, &Pair::of(&plan))?,
                RunLine::Fork => {}
            }
            draft.put(unparked);
            let (run, at) = (draft.next_run(), draft.now);
            draft.put(Fact::RunQueued {
                run,
                plan,
                command: Some(command.clone()),
                at,
                nonce: None,
            });
            Ok(CommandReply::Run(run))
        }
        Answer::Deny { .. } | Answer::DenyAndInterrupt { .. } => {
            draft.put(unparked);
            Ok(CommandReply::Done)
        }
        Answer::Replies { .. } | Answer::Form { .. } => {
            Err(Refusal::WrongAnswer { run: lost, ask: RESTART_ASK.into() })
        }
    }
}

/// Takes back the pool's question about what was parked.
pub(super) fn unpark(draft: &mut Draft<'_>, of: impl Fn(&Pair) -> bool) {
    for (run, parked) in &draft.base.parked {
        if of(&Pair::of(&parked.plan)) {
            draft.put(Fact::RunUnparked { run: *run, command: None, from: None });
        }
    }
}
