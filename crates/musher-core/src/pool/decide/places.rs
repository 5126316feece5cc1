//! Gives places and worktrees to the runs that wait, the most urgent first.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::ending::{EndedRun, end};
use super::spec::held_up;
use super::starts::holder;
use crate::pool::money::{RunBudget, Share};
use crate::pool::{Fact, PRIORITY_AGE_MS, PoolLimits, Slot, State};
use crate::{
    AgentName, ErrorClass, ErrorInfo, Run, RunId, RunKind, RunPhase, RunPlan, SlotId, StoryId,
    Wait, WorktreeStart,
};

/// Starts every waiting run for which there is a place. One that has to wait does not hold up those behind it.
pub(super) fn promote(draft: &mut Draft<'_>) {
    if !draft.must_look() {
        return;
    }
    let cap = draft.team.limits.day_usd;
    let now = draft.now;
    let state = draft.state();
    let mut taken = Taken::of(state);
    let mut purse = RunBudget::of(state, cap, now);
    for (id, plan, waits) in waiting(state, now) {
        let Some(seat) = draft.team.seat(&plan.agent) else {
            end(draft, id, EndedRun::failed(no_agent(&plan.agent)));
            continue;
        };
        if let Some(held_up) = held_up(draft.state(), &plan.story) {
            wait(draft, id, &waits, held_up);
            continue;
        }
        let left = draft.state().left_of_story(&plan.story);
        let own = seat.budget.into_iter().chain(left).min();
        let budget = match purse.share(own) {
            Share::Budget(budget) => budget,
            Share::Nothing { cap } => {
                wait(draft, id, &waits, Wait::DayCap { cap });
                continue;
            }
        };
        if !taken.has_room(&plan, draft.team.limits) {
            wait(draft, id, &waits, Wait::Place);
            continue;
        }
        match choose(draft.state(), &plan) {
            Choice::Wait => wait(draft, id, &waits, Wait::Place),
            Choice::Gone(error) => end(draft, id, EndedRun::failed(error)),
            Choice::Take { slot, n, start } => {
                taken.add(&plan);
                purse.take(budget);
                draft.put(Fact::RunPreparing { run: id, slot, branch: n, start, budget });
                if let Some(prepare) = draft.state().prepare_of(id) {
                    draft.act(prepare);
                }
            }
        }
    }
}

/// The runs that wait: those of urgent stories first, then those that came first. Whatever waits long becomes urgent.
fn waiting(state: &State, now: i64) -> Vec<(RunId, RunPlan, Wait)> {
    let queued = state.runs.iter().filter(|(_, run)| run.phase == RunPhase::Queued);
    let urgency = |run: &Run| {
        let story = state.stories.get(&run.plan.story);
        let priority = story.map(|story| story.spec.priority).unwrap_or_default();
        priority.after_waiting(now.saturating_sub(run.queued_at), PRIORITY_AGE_MS)
    };
    let mut waiting: Vec<(i64, RunId, &Run)> =
        queued.map(|(id, run)| (urgency(run), *id, run)).collect();
    waiting.sort_by_key(|(urgency, id, _)| (std::cmp::Reverse(*urgency), *id));
    waiting.into_iter().map(|(_, id, run)| (id, run.plan.clone(), run.wait.clone())).collect()
}

/// Says what a run waits for, if that is news.
fn wait(draft: &mut Draft<'_>, run: RunId, before: &Wait, wait: Wait) {
    if wait != *before {
        draft.put(Fact::RunWaits { run, wait });
    }
}

/// How many places are taken, and by whom.
#[derive(Default)]
struct Taken {
    all: u32,
    by_agent: BTreeMap<AgentName, u32>,
    by_story: BTreeMap<StoryId, u32>,
}

impl Taken {
    fn of(state: &State) -> Self {
        let mut taken = Self::default();
        for run in state.runs.values().filter(|run| run.phase.slot().is_some()) {
            taken.add(&run.plan);
        }
        taken
    }

    fn add(&mut self, plan: &RunPlan) {
        self.all += 1;
        *self.by_agent.entry(plan.agent.clone()).or_default() += 1;
        *self.by_story.entry(plan.story.clone()).or_default() += 1;
    }

    fn has_room(&self, plan: &RunPlan, limits: PoolLimits) -> bool {
        let by_agent = self.by_agent.get(&plan.agent).copied().unwrap_or_default();
        let by_story = self.by_story.get(&plan.story).copied().unwrap_or_default();
        self.all < limits.runs
            && by_agent < limits.runs_per_agent
            && by_story < limits.runs_per_story
    }
}

/// Where a run can be.
enum Choice {
    Take {
        slot: SlotId,
        n: u32,
        start: WorktreeStart,
    },
    /// Its worktree is in use.
    Wait,
    /// It can never begin.
    Gone(ErrorInfo),
}

fn choose(state: &State, plan: &RunPlan) -> Choice {
    let Some(story) = state.stories.get(&plan.story) else {
        let message = format!("story {} is no longer there", plan.story);
        return Choice::Gone(ErrorInfo::new(ErrorClass::Config, message));
    };
    let next = story.branches.saturating_add(1);
    if let RunKind::Fork { of, from, .. } = &plan.kind {
        if holder(state.slots.get(from), &plan.story).is_none() {
            let message = format!("the worktree of run {of} is no longer there to be copied");
            return Choice::Gone(ErrorInfo::new(ErrorClass::Config, message));
        }
        return empty_slot(state, next, WorktreeStart::Snapshot { of: *from });
    }
    let own = plan.slot.and_then(|id| Some((id, holder(state.slots.get(&id), &plan.story)?)));
    if let Some((id, busy)) = own {
        return match busy {
            Some(_) => Choice::Wait,
            None => keep(state, id),
        };
    }
    let mut idle = state.slots_of(&plan.story).filter(|(_, slot)| match slot {
        Slot::Held { busy, .. } => busy.is_none(),
        Slot::Free | Slot::Leaving { .. } => false,
    });
    match idle.next() {
        Some((id, _)) => keep(state, id),
        None => empty_slot(state, next, WorktreeStart::Fresh),
    }
}

/// A slot of the story goes on with its branch.
fn keep(state: &State, slot: SlotId) -> Choice {
    match state.slots.get(&slot) {
        Some(Slot::Held { branch, .. }) => {
            Choice::Take { slot, n: branch.n, start: WorktreeStart::Keep }
        }
        Some(Slot::Free | Slot::Leaving { .. }) | None => Choice::Wait,
    }
}

/// A slot that no story holds; a new one if there is none.
fn empty_slot(state: &State, n: u32, start: WorktreeStart) -> Choice {
    let free = state.slots.iter().find(|(_, slot)| **slot == Slot::Free).map(|(id, _)| *id);
    let last = state.slots.last_key_value().map_or(0, |(id, _)| id.0);
    match free.or_else(|| last.checked_add(1).map(SlotId)) {
        Some(slot) => Choice::Take { slot, n, start },
        None => Choice::Wait,
    }
}

fn no_agent(agent: &AgentName) -> ErrorInfo {
    let message = format!("agent {agent} is not in the project file any more");
    ErrorInfo::new(ErrorClass::Config, message)
        .with_hint("add the agent to the project file again, or start the story with another")
}
