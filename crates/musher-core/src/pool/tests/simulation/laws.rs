//! What must hold after every decision, whatever happened before.

use std::collections::{BTreeMap, BTreeSet};

use crate::pool::{
    Action, Assignment, DAY_MS, Fact, GrantStep, Pair, PoolDecision, RESTART_LIMIT,
    RESTART_WINDOW_MS, Slot, State, Team, UndeliveredCode,
};
use crate::{
    AskId, CommandId, RunId, RunKind, RunLine, RunPhase, Sender, SlotId, StoryId, StoryState, Usd,
};

/// The token of people who answer what they have not seen.
pub(super) const UNSEEN: &str = "unseen";

/// The laws, and what they must remember of the facts.
#[derive(Debug, Default)]
pub(super) struct Laws {
    ended: BTreeSet<RunId>,
    wished: BTreeSet<RunId>,
    /// Answers offered to an ask, less those after which it was open again.
    offered: BTreeMap<(RunId, AskId), i32>,
    /// Which events became facts, and as what.
    heard: BTreeSet<(RunId, u64, &'static str)>,
    /// When the pool restarted something by itself.
    restarts: BTreeMap<Pair, Vec<i64>>,
    parked: BTreeMap<RunId, Pair>,
    /// The merges that have not ended, as they were asked for.
    merges: Vec<CommandId>,
    /// Answers whose rules are still to be saved.
    ungranted: BTreeSet<CommandId>,
    books: Books,
}

/// What was spent and what was promised, kept apart from the pool's own sums.
#[derive(Debug, Default)]
struct Books {
    /// By the day on which it was counted; the last one is today's while the clock does not pass it.
    spent: BTreeMap<i64, Usd>,
    /// What each run that has begun may still spend.
    promised: BTreeMap<RunId, Usd>,
    /// What runs of unknown cost could still have spent when they ended, and on which day; with those of which no total
    /// can tell the cost.
    kept: BTreeMap<RunId, (i64, Usd)>,
    unknown: BTreeSet<RunId>,
    /// Runs that a runner was started for.
    begun: BTreeSet<RunId>,
    lasting: BTreeSet<RunId>,
    /// Which run follows which.
    follows: BTreeMap<RunId, RunId>,
    story_of: BTreeMap<RunId, StoryId>,
    spent_on: BTreeMap<StoryId, Usd>,
}

impl Laws {
    /// Holds a decision to the laws; an error names the one that it broke.
    pub(super) fn judge(
        &mut self,
        decision: &PoolDecision,
        after: &State,
        team: &Team,
        now: i64,
    ) -> Result<(), String> {
        if let Some(Err(refusal)) = &decision.reply
            && !(decision.facts.is_empty() && decision.actions.is_empty())
        {
            return Err(format!("it was refused ({refusal}), but something changed"));
        }
        for fact in &decision.facts {
            self.fact(fact)?;
        }
        for action in &decision.actions {
            action_is_right(after, action)?;
            if let Action::Merge { command, .. } = action
                && self.merges.first() != Some(command)
            {
                return Err(format!("{command} is merged before its turn: {:?}", self.merges));
            }
            if let Action::Deliver { command, .. } = action
                && self.ungranted.contains(command)
            {
                return Err(format!("{command} was handed over before its rule was saved"));
            }
        }
        self.books.judge(decision, team, now)?;
        self.books.stories_keep_their_budgets(decision, after)?;
        none_begins_before_its_time(decision, after)?;
        no_story_waits_for_itself(after)?;
        one_run_for_each_pair(after)?;
        slots_and_runs_agree(after)?;
        places_suffice(after, team)
    }

    fn fact(&mut self, fact: &Fact) -> Result<(), String> {
        if let Some(run) = fact.run()
            && self.ended.contains(&run)
            && !may_follow_the_end(fact)
        {
            return Err(format!("{run} had ended, and then {fact:?}"));
        }
        if let Some((run, seq)) = fact.heard()
            && !self.heard.insert((run, seq, fact.name()))
        {
            return Err(format!("event {seq} of {run} became {} twice", fact.name()));
        }
        // Only the facts with a law of their own are of interest.
        if let Fact::RunEnded { run, .. } = fact {
            self.ended.insert(*run);
        } else if let Fact::EndWished { run, .. } = fact {
            self.wished.insert(*run);
        } else if let Fact::MergeStarted { command, .. } = fact {
            if !self.merges.contains(command) {
                self.merges.push(command.clone());
            }
        } else if let Fact::StoryMerged { command, .. } | Fact::MergeFailed { command, .. } = fact {
            self.merges.retain(|merge| merge != command);
        } else if let Fact::AnswerOffered { grant: Some(GrantStep::Saved), command, .. } = fact {
            // The answer was offered before.
            self.ungranted.remove(command);
        } else if let Fact::AnswerOffered { run, ask, from, command, grant } = fact {
            self.ungranted.extend(grant.is_some().then(|| command.clone()));
            if *from == Some(Sender::Token { token: UNSEEN.into() }) {
                return Err(format!("{ask} of {run} was answered by somebody who had not seen it"));
            }
            let offered = self.offered.entry((*run, ask.clone())).or_default();
            *offered += 1;
            if *offered > 1 {
                return Err(format!("{ask} of {run} was offered a second answer"));
            }
        } else if let Fact::AnswerRefused {
            run,
            ask,
            code: UndeliveredCode::Unfit | UndeliveredCode::Failed,
            ..
        } = fact
        {
            *self.offered.entry((*run, ask.clone())).or_default() -= 1;
        } else if let Fact::RunParked { run, plan } = fact {
            self.parked.insert(*run, Pair::of(plan));
        } else if let Fact::RunUnparked { run, .. } = fact
            && let Some(pair) = self.parked.remove(run)
        {
            self.restarts.remove(&pair);
        } else if let Fact::RunQueued { plan, command: None, at, .. } = fact {
            self.restarted(Pair::of(plan), &plan.kind, *at)?;
        }
        Ok(())
    }

    fn restarted(&mut self, pair: Pair, kind: &RunKind, at: i64) -> Result<(), String> {
        let RunKind::Restart { of, .. } = kind else {
            return Err(format!("the pool began {kind:?} by itself"));
        };
        if self.wished.contains(of) {
            return Err(format!("{of} was restarted, though a person wanted its end"));
        }
        let times = self.restarts.entry(pair).or_default();
        times.push(at);
        let recent = |then: &&i64| (0..RESTART_WINDOW_MS).contains(&(at - **then));
        match times.iter().filter(recent).count() <= RESTART_LIMIT {
            true => Ok(()),
            false => Err(format!("{of} was restarted too often: {times:?}")),
        }
    }

    /// What must hold when everything has come to rest.
    pub(super) fn at_rest(
        &self,
        state: &State,
        worktrees: &BTreeSet<SlotId>,
        usage: &BTreeMap<RunId, usize>,
    ) -> Result<(), String> {
        let stuck = state.runs.iter().map(|(run, found)| format!("{run} is {:?}", found.phase));
        let stuck: Vec<String> = stuck.collect();
        if !stuck.is_empty() {
            return Err(format!("nothing moves any more: {}", stuck.join(", ")));
        }
        let owed = state.owed();
        if !owed.is_empty() || !state.deliveries.is_empty() || !state.merges.is_empty() {
            return Err(format!("something was never done: {owed:?}"));
        }
        for (slot, held) in &state.slots {
            let there = worktrees.contains(slot);
            match held {
                Slot::Free if !there => {}
                Slot::Held { busy: None, .. } if there => {}
                Slot::Free | Slot::Held { .. } | Slot::Leaving { .. } => {
                    return Err(format!("slot {slot} is left {held:?}, and there: {there}"));
                }
            }
        }
        for (run, reports) in usage {
            let counted = self.heard.range((*run, 0, "")..=(*run, u64::MAX, "~"));
            let counted = counted.filter(|(_, _, name)| *name == "usage_counted").count();
            if counted != *reports {
                return Err(format!("{run} reported {reports} times, counted were {counted}"));
            }
        }
        Ok(())
    }
}

impl Books {
    /// No run begins with more than is left of the day's money, whoever counts it.
    fn judge(&mut self, decision: &PoolDecision, team: &Team, now: i64) -> Result<(), String> {
        for fact in &decision.facts {
            if let Fact::UsageCounted { run, spend, at: Some(at), cut, settles, .. } = fact {
                let cost = spend.cost_usd.unwrap_or_default();
                let last = self.spent.last_key_value().map_or(0, |(day, _)| *day);
                let day = at.div_euclid(DAY_MS).max(last);
                let spent = self.spent.entry(day).or_default();
                *spent = spent.plus(cost);
                if let Some(story) = self.story_of.get(run) {
                    let spent = self.spent_on.entry(story.clone()).or_default();
                    *spent = spent.plus(cost);
                }
                if let Some(promised) = self.promised.get_mut(run) {
                    *promised = promised.minus(cost);
                }
                if spend.cost_usd.is_none() {
                    self.unknown.insert(*run);
                    self.lasting.extend(cut.then_some(*run));
                }
                if *settles {
                    self.settle(*run);
                }
            } else if let Fact::RunQueued { run, plan, .. } = fact {
                self.follows.extend(plan.kind.of().map(|of| (*run, of)));
                self.story_of.insert(*run, plan.story.clone());
            } else if let Fact::RunEnded { run, seq, .. } = fact {
                let promised = self.promised.remove(run).unwrap_or_default();
                // A run that was begun and has no end in its log is as unknown as one that says so.
                if self.unknown.contains(run) || (seq.is_none() && self.begun.contains(run)) {
                    self.lasting.extend(seq.is_none().then_some(*run));
                    self.kept.insert(*run, (now.div_euclid(DAY_MS), promised));
                }
            } else if let Fact::RunStarted { run } | Fact::RunnerLost { run } = fact {
                self.begun.insert(*run);
            } else if let Fact::RunPreparing { run, budget, .. } = fact {
                self.promised.insert(*run, budget.unwrap_or_default());
                let Some(cap) = team.limits.day_usd else { continue };
                let today = now.div_euclid(DAY_MS);
                let spent = self.spent.last_key_value().filter(|(day, _)| **day >= today);
                let spent = spent.map_or(Usd::default(), |(_, spent)| *spent);
                let kept =
                    self.kept.values().filter(|(day, _)| *day >= today).map(|(_, kept)| kept);
                let promised = self.promised.values().chain(kept);
                let all = promised.fold(spent, |sum, promised| sum.plus(*promised));
                if budget.is_none() || all > cap {
                    return Err(format!("{run} began with {budget:?}: {all} of {cap} are gone"));
                }
            }
        }
        Ok(())
    }

    /// No run begins with more than is left of the budget of its story.
    fn stories_keep_their_budgets(
        &self,
        decision: &PoolDecision,
        after: &State,
    ) -> Result<(), String> {
        for fact in &decision.facts {
            let Fact::RunPreparing { run, .. } = fact else { continue };
            let Some(story) = self.story_of.get(run) else { continue };
            let Some(cap) = after.stories.get(story).and_then(|story| story.spec.budget) else {
                continue;
            };
            let of_it = |run: &RunId| self.story_of.get(run) == Some(story);
            let kept = self.kept.iter().filter(|(run, _)| of_it(run)).map(|(_, (_, kept))| *kept);
            let promised = self.promised.iter().filter(|(run, _)| of_it(run));
            let spent = self.spent_on.get(story).copied().unwrap_or_default();
            let all = promised.map(|(_, usd)| *usd).chain(kept).fold(spent, Usd::plus);
            if all > cap {
                return Err(format!("{run} began, though {all} of {cap} for {story} are gone"));
            }
        }
        Ok(())
    }

    /// A total has told what the runs before this one have spent.
    fn settle(&mut self, run: RunId) {
        let mut next = self.follows.get(&run);
        while let Some(run) = next.filter(|run| self.kept.contains_key(run)).copied() {
            if !self.lasting.contains(&run) {
                self.kept.remove(&run);
            }
            next = self.follows.get(&run);
        }
    }
}

fn action_is_right(after: &State, action: &Action) -> Result<(), String> {
    if let Action::Deliver { run, .. } = action {
        let phase = after.runs.get(run).map(|run| &run.phase);
        if !matches!(phase, Some(RunPhase::Live { .. })) {
            return Err(format!("{action:?} goes to a run that is {phase:?}"));
        }
    }
    if let Action::Spawn(Assignment { run, .. }) = action
        && after.runs.get(run).is_some_and(|run| run.wish.is_some())
    {
        return Err(format!("{run} was started, though a person wanted its end"));
    }
    match after.owed().contains(action) {
        true => Ok(()),
        false => Err(format!("{action:?} would be forgotten in a crash")),
    }
}

/// A run is finished and perhaps parked after its end, and a person may still not want it to be restarted.
fn may_follow_the_end(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::RunFinished { .. }
            | Fact::RunParked { .. }
            | Fact::RunUnparked { .. }
            | Fact::EndWished { .. }
    )
}

fn none_begins_before_its_time(decision: &PoolDecision, after: &State) -> Result<(), String> {
    for fact in &decision.facts {
        let Fact::RunPreparing { run, .. } = fact else { continue };
        let Some(plan) = after.runs.get(run).map(|run| &run.plan) else { continue };
        for before in after.stories.get(&plan.story).iter().flat_map(|story| &story.spec.after) {
            let done = match after.stories.get(before) {
                Some(before) => before.state != StoryState::Open,
                None => after.archived_done.contains(before),
            };
            if !done {
                return Err(format!("{run} began on {}, before {before} was done", plan.story));
            }
        }
    }
    Ok(())
}

fn no_story_waits_for_itself(state: &State) -> Result<(), String> {
    // Those that wait for nobody are taken away until nothing changes; what is left waits in a circle.
    let mut left: BTreeSet<&StoryId> = state.stories.keys().collect();
    loop {
        let waits =
            |story: &&StoryId| state.stories[*story].spec.after.iter().any(|it| left.contains(it));
        let still: BTreeSet<&StoryId> = left.iter().copied().filter(waits).collect();
        if still == left {
            return match left.is_empty() {
                true => Ok(()),
                false => Err(format!("stories wait for each other: {left:?}")),
            };
        }
        left = still;
    }
}

fn one_run_for_each_pair(state: &State) -> Result<(), String> {
    let mut pairs = BTreeSet::new();
    for (id, run) in &state.runs {
        if run.plan.line == RunLine::Main && !pairs.insert(Pair::of(&run.plan)) {
            return Err(format!("{id} is a second run of {:?}", Pair::of(&run.plan)));
        }
        if !state.stories.contains_key(&run.plan.story) {
            return Err(format!("{id} is a run on {}, which is not there", run.plan.story));
        }
    }
    Ok(())
}

fn slots_and_runs_agree(state: &State) -> Result<(), String> {
    for (id, run) in &state.runs {
        let Some(slot) = run.phase.slot() else { continue };
        match state.slots.get(&slot) {
            Some(Slot::Held { branch, busy: Some(busy), .. })
                if busy == id && branch.story == run.plan.story => {}
            other => return Err(format!("{id} is in {slot}, which is {other:?}")),
        }
    }
    for (slot, held) in &state.slots {
        if let Slot::Held { busy: Some(busy), .. } = held {
            let there = state.runs.get(busy).and_then(|run| run.phase.slot());
            if there != Some(*slot) {
                return Err(format!("{slot} is kept for {busy}, which is in {there:?}"));
            }
        }
    }
    Ok(())
}

fn places_suffice(state: &State, team: &Team) -> Result<(), String> {
    let limits = team.limits;
    let placed = || state.runs.values().filter(|run| run.phase.slot().is_some());
    if placed().count() > limits.runs as usize {
        return Err("there are more runs than places".into());
    }
    for one in placed() {
        let of_agent = placed().filter(|run| run.plan.agent == one.plan.agent).count();
        let on_story = placed().filter(|run| run.plan.story == one.plan.story).count();
        if of_agent > limits.runs_per_agent as usize || on_story > limits.runs_per_story as usize {
            return Err(format!("{:?} has more runs than places", Pair::of(&one.plan)));
        }
    }
    Ok(())
}
