//! `decide` with one rule broken, so that tests can show that they would notice.
//!
//! The rules themselves stay as they are: a broken one is played by what `decide` is shown, or by what is taken from what it
//! decided.

use crate::pool::{
    Action, Fact, PoolCommand, PoolDecision, PoolInput, Refusal, RunReport, Slot, State, Team,
    decide,
};
use crate::{AskDigest, AskState, RunId, RunPhase, RunRef, ShownAsk, SlotId};

/// A rule that tests break on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrokenRule {
    /// An agent has one run on a story.
    OneRun,
    /// No more runs than there are places.
    Places,
    /// A worktree has one run at a time.
    OneRunPerSlot,
    /// An ask is offered one answer.
    OneAnswer,
    /// An answer belongs to what was shown.
    ShownOnly,
    /// An event that was heard before says nothing new.
    OneHearing,
    /// Only a live run is handed a command.
    LiveOnly,
    /// Lost runs are restarted a few times and no more.
    RestartBound,
    /// What a person wanted to end is not restarted.
    WishHeeded,
    /// The end of a run is the last word on what was on its way to it.
    EndSettles,
    /// What is in the log of a run was delivered to it.
    TakenCounts,
    /// A stop before the start keeps the runner from being started.
    StopBeforeStart,
    /// Whoever waits is looked at when a place is free.
    QueueMoves,
    /// A story with runs is not archived under them.
    StoryBusy,
    /// A worktree that nobody has been in is given back.
    NothingLeft,
    /// No run starts when the day's money is spent or reserved.
    DayCap,
    /// What a run of unknown cost may have spent is gone for the day.
    UnknownHeld,
    /// A branch that adds secrets is merged only when the person has said so.
    SecretsRefused,
    /// A run begins when the stories before its own are done.
    AfterHeeded,
    /// Stories do not wait for each other.
    CycleRefused,
    /// The runs of a story spend no more than its budget.
    StoryBudget,
}

/// What follows if this rule does not hold.
pub(super) fn decide_broken(
    state: &State,
    team: &Team,
    input: PoolInput,
    now: i64,
    rule: BrokenRule,
) -> PoolDecision {
    let (mut shown, mut seats, mut told) = (state.clone(), team.clone(), input.clone());
    let sound = decide(state, team, input, now);
    match rule {
        BrokenRule::OneRun => {
            let Some(Err(Refusal::AlreadyRunning { run, .. })) = &sound.reply else { return sound };
            shown.runs.remove(run);
        }
        BrokenRule::StoryBusy => {
            let Some(Err(Refusal::StoryBusy { story, .. })) = &sound.reply else { return sound };
            shown.runs.retain(|_, run| run.plan.story != *story);
        }
        BrokenRule::Places => {
            let limits = &mut seats.limits;
            (limits.runs, limits.runs_per_agent, limits.runs_per_story) =
                (u32::MAX, u32::MAX, u32::MAX);
        }
        BrokenRule::DayCap => seats.limits.day_usd = None,
        BrokenRule::OneRunPerSlot => {
            for slot in shown.slots.values_mut() {
                if let Slot::Held { busy, .. } = slot {
                    *busy = None;
                }
            }
        }
        BrokenRule::OneAnswer => {
            for ask in shown.runs.values_mut().flat_map(|run| run.asks.values_mut()) {
                if matches!(ask, AskState::Offered { .. }) {
                    *ask = AskState::Open;
                }
            }
        }
        BrokenRule::ShownOnly => {
            if let PoolInput::Command { command: PoolCommand::Answer { seen, .. }, .. } = &mut told
            {
                let any = seen.logged.clone().or(seen.shown.clone());
                let any = any.or_else(|| Some(AskDigest::new("any")));
                *seen = ShownAsk { shown: any.clone(), logged: any };
            }
        }
        BrokenRule::OneHearing => shown.runs.values_mut().for_each(|run| run.cursor = 0),
        BrokenRule::LiveOnly => {
            if let Some(run) = spoken_to(&told).and_then(|run| shown.runs.get_mut(&run)) {
                let slot = run.phase.slot().unwrap_or(SlotId(1));
                if !matches!(run.phase, RunPhase::Closing { .. } | RunPhase::Finishing { .. }) {
                    run.phase = RunPhase::Live { slot };
                }
            }
        }
        BrokenRule::RestartBound => shown.restarts.clear(),
        BrokenRule::WishHeeded => {
            if let PoolInput::Finished { run, .. } = &told {
                forget_wish(&mut shown, *run);
            }
        }
        BrokenRule::StopBeforeStart => {
            if let PoolInput::Prepared { run, .. } = &told {
                forget_wish(&mut shown, *run);
            }
        }
        BrokenRule::EndSettles => {
            if let Some(run) = ended_by(&told) {
                shown.deliveries.retain(|_, delivery| delivery.run != run);
            }
        }
        BrokenRule::TakenCounts => {
            if let PoolInput::Heard { what: RunReport::Taken { command }, .. } = &told {
                shown.deliveries.remove(command);
            }
        }
        BrokenRule::QueueMoves => {
            let queues = sound.facts.iter().any(|fact| matches!(fact, Fact::RunQueued { .. }));
            let frees =
                |fact: &Fact| matches!(fact, Fact::RunEnded { .. } | Fact::RunFinished { .. });
            if queues || !sound.facts.iter().any(frees) {
                return sound;
            }
            let about = ended_by(&told);
            shown.runs.retain(|id, run| run.phase != RunPhase::Queued || Some(*id) == about);
        }
        BrokenRule::SecretsRefused => {
            if let PoolInput::Searched { result: Ok(places), .. } = &mut told {
                places.clear();
            }
        }
        BrokenRule::AfterHeeded => {
            shown.stories.values_mut().for_each(|story| story.spec.after.clear());
        }
        BrokenRule::CycleRefused => {
            let Some(Err(Refusal::AfterCycle { .. })) = &sound.reply else { return sound };
            shown.stories.values_mut().for_each(|story| story.spec.after.clear());
        }
        BrokenRule::StoryBudget => {
            shown.stories.values_mut().for_each(|story| story.spec.budget = None);
        }
        BrokenRule::NothingLeft => return without_releases(sound),
        BrokenRule::UnknownHeld => return without_held(sound),
    }
    decide(&shown, &seats, told, now)
}

fn forget_wish(state: &mut State, run: RunId) {
    if let Some(run) = state.runs.get_mut(&run) {
        run.wish = None;
    }
}

/// The run that a command is for.
#[expect(clippy::wildcard_enum_match_arm, reason = "what else comes is not handed to a run")]
fn spoken_to(input: &PoolInput) -> Option<RunId> {
    let PoolInput::Command { command, .. } = input else { return None };
    match command {
        PoolCommand::Prompt { run: RunRef::Live(run), .. }
        | PoolCommand::Steer { run, .. }
        | PoolCommand::TakeBack { run, .. }
        | PoolCommand::Interrupt { run }
        | PoolCommand::Change { run, .. }
        | PoolCommand::Answer { run, .. } => Some(*run),
        _ => None,
    }
}

/// The run that this may end.
#[expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends no run")]
fn ended_by(input: &PoolInput) -> Option<RunId> {
    match input {
        PoolInput::Prepared { run, .. }
        | PoolInput::PrepareFailed { run, .. }
        | PoolInput::SpawnFailed { run, .. }
        | PoolInput::LogLost { run, .. }
        | PoolInput::Heard { run, what: RunReport::Ended { .. }, .. }
        | PoolInput::Finished { run, .. } => Some(*run),
        _ => None,
    }
}

fn without_releases(mut decision: PoolDecision) -> PoolDecision {
    let ends = decision.facts.iter().any(|fact| matches!(fact, Fact::RunEnded { .. }));
    decision.actions.retain(|action| !(ends && matches!(action, Action::Release { .. })));
    decision
}

fn without_held(mut decision: PoolDecision) -> PoolDecision {
    for fact in &mut decision.facts {
        if let Fact::RunEnded { held, .. } = fact {
            *held = None;
        }
    }
    decision
}
