//! Folds a committed fact into the state. Facts are trusted, and one that does not fit changes nothing.

use crate::pool::money::settle;
use crate::pool::{
    Delivery, DeliveryKind, Fact, GrantStep, KnownSession, Pair, Parked, PendingMerge, SecretScan,
    SessionKey, Slot, SlotCondition, State, UndeliveredCode, UnknownSpending,
};
use crate::{
    AskState, BranchRef, ClosedBy, CommandId, Doubt, EndRequest, Outcome, Run, RunId, RunKind,
    RunLine, RunPhase, RunPlan, Sender, SessionId, SlotId, Story, StoryId, StoryState,
    WorktreeStart,
};

/// How many restarts of a pair are remembered. They are forgotten by number and not by age, because a clock that runs
/// ahead and back again would erase what still counts.
const RESTARTS_KEPT: usize = 16;

impl State {
    /// Folds one fact.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::StoryAdded { story } => self.add_story(story),
            Fact::StoryEdited { .. } => {}
            Fact::StorySpecSet { story, spec } => {
                if let Some(story) = self.stories.get_mut(story) {
                    story.spec = spec.clone();
                }
            }
            Fact::StoryFinished { story } => {
                self.set_story(story, StoryState::Done { merged: None });
            }
            Fact::StoryReopened { story } => self.set_story(story, StoryState::Open),
            Fact::StoryArchived { story } => self.archive(story),
            Fact::MergeStarted { command, story, branch, check } => {
                let branch = self.branch_of(story, *branch);
                self.merge(command, branch, *check);
            }
            Fact::StoryMerged { command, story, commit } => {
                self.merges.remove(command);
                self.set_story(story, StoryState::Done { merged: Some(commit.clone()) });
            }
            Fact::MergeFailed { command, .. } => {
                self.merges.remove(command);
            }
            Fact::RunQueued { run, plan, command, at, nonce } => {
                let by_itself = command.is_none();
                self.queue(*run, plan, *at, by_itself);
                if let Some(run) = self.runs.get_mut(run) {
                    run.nonce.clone_from(nonce);
                }
            }
            Fact::RunWaits { run, wait } => {
                if let Some(run) = self.runs.get_mut(run) {
                    run.wait = wait.clone();
                }
            }
            Fact::RunPreparing { run, slot, branch, start, budget } => {
                self.prepare(*run, *slot, *branch, *start);
                if let Some(run) = self.runs.get_mut(run) {
                    run.budget = *budget;
                }
            }
            Fact::UsageCounted { run, spend, at, earlier, cut, settles, .. } => {
                let cost = spend.known_cost();
                let own = cost.minus(earlier.unwrap_or_default().known_cost());
                let (mut of, mut story) = (None, None);
                if let Some(run) = self.runs.get_mut(run) {
                    run.spent = run.spent.plus(own);
                    if spend.cost_usd.is_none() {
                        run.doubt =
                            run.doubt.max(if *cut { Doubt::Lasting } else { Doubt::Untold });
                    }
                    of = run.plan.kind.of();
                    story = Some(run.plan.story.clone());
                }
                if let Some(at) = at {
                    self.day.count(*at, cost);
                }
                if *settles {
                    self.day.settle(of);
                }
                if let Some(story) = story.and_then(|story| self.stories.get_mut(&story)) {
                    story.spent = story.spent.plus(cost);
                    if *settles {
                        settle(&mut story.held, of);
                    }
                }
            }
            Fact::RunPrepared { run, .. } => self.move_on(*run, |phase| match phase {
                RunPhase::Preparing { slot, .. } => Some(RunPhase::Starting { slot: *slot }),
                RunPhase::Queued
                | RunPhase::Starting { .. }
                | RunPhase::Live { .. }
                | RunPhase::Closing { .. }
                | RunPhase::Finishing { .. } => None,
            }),
            Fact::RunStarted { run } => {
                self.move_on(*run, |phase| match phase {
                    RunPhase::Starting { slot } => Some(RunPhase::Live { slot: *slot }),
                    RunPhase::Queued
                    | RunPhase::Preparing { .. }
                    | RunPhase::Live { .. }
                    | RunPhase::Closing { .. }
                    | RunPhase::Finishing { .. } => None,
                });
                self.advance_slot(*run, SlotCondition::Entered);
            }
            Fact::RunnerLost { run } => {
                self.move_on(*run, |phase| match phase {
                    RunPhase::Starting { slot } | RunPhase::Live { slot } => {
                        Some(RunPhase::Closing { slot: *slot })
                    }
                    RunPhase::Queued
                    | RunPhase::Preparing { .. }
                    | RunPhase::Closing { .. }
                    | RunPhase::Finishing { .. } => None,
                });
                self.advance_slot(*run, SlotCondition::Entered);
            }
            Fact::RunEnded { run, outcome, held, .. } => {
                if let Some(held) = held {
                    self.day.hold(*run, held);
                    self.hold_of_story(*run, held);
                }
                self.end(*run, *outcome);
            }
            Fact::RunFinished { run, .. } => {
                self.runs.remove(run);
                self.leave_slots(*run);
            }
            Fact::RunParked { run, plan } => {
                self.parked.insert(*run, Parked { plan: plan.clone() });
            }
            Fact::RunUnparked { run, .. } => {
                if let Some(parked) = self.parked.remove(run) {
                    self.restarts.remove(&Pair::of(&parked.plan));
                }
            }
            Fact::SessionSeen { run, session, .. } => self.see_session(*run, session),
            Fact::SetupDone { run, .. } => self.advance_slot(*run, SlotCondition::SetUp),
            Fact::AskOpened { run, ask, .. } => {
                if let Some(run) = self.runs.get_mut(run) {
                    run.asks.insert(ask.clone(), AskState::Open);
                }
            }
            Fact::AskClosed { run, ask, by, .. } => {
                self.set_ask(*run, ask, AskState::Closed { by: *by });
            }
            Fact::AnswerOffered { run, ask, command, grant, from } => {
                self.set_ask(*run, ask, AskState::Offered { command: command.clone() });
                if *grant != Some(GrantStep::Saved) {
                    let who = from.as_ref().map(Sender::who);
                    self.offer(*run, command, DeliveryKind::Answer { ask: ask.clone(), who });
                }
                if let Some(delivery) = self.deliveries.get_mut(command) {
                    delivery.grants = *grant == Some(GrantStep::Wanted);
                }
            }
            Fact::AskAnswered { run, ask, command } => {
                self.deliveries.remove(command);
                self.set_ask(*run, ask, AskState::Closed { by: ClosedBy::Person });
            }
            Fact::AnswerRefused { run, ask, command, code, .. } => {
                self.deliveries.remove(command);
                match code {
                    UndeliveredCode::Unfit | UndeliveredCode::Failed => {
                        self.set_ask(*run, ask, AskState::Open);
                    }
                    // What closed it is told by the log.
                    UndeliveredCode::AskClosed | UndeliveredCode::RunEnded => {}
                }
            }
            Fact::PromptOffered { run, command } => {
                self.offer(*run, command, DeliveryKind::Prompt);
            }
            Fact::SteerOffered { run, command } => self.offer(*run, command, DeliveryKind::Steer),
            Fact::TakeBackOffered { run, command, prompt } => {
                self.offer(*run, command, DeliveryKind::TakeBack { prompt: prompt.clone() });
            }
            Fact::InterruptOffered { run, command } => {
                self.offer(*run, command, DeliveryKind::Interrupt);
            }
            Fact::ChangeOffered { run, command, change } => {
                self.offer(*run, command, DeliveryKind::Change { change: change.clone() });
            }
            Fact::EndWished { run, command, wish } => self.wish(*run, command, *wish),
            Fact::CommandDelivered { command, .. } | Fact::CommandUndelivered { command, .. } => {
                self.deliveries.remove(command);
            }
            Fact::SlotReleased { slot } => {
                if let Some(slot @ Slot::Leaving { .. }) = self.slots.get_mut(slot) {
                    *slot = Slot::Free;
                }
            }
        }
        self.read_to(fact);
    }

    /// A fact from the log moves the run's cursor.
    fn read_to(&mut self, fact: &Fact) {
        if let Some((run, seq)) = fact.heard()
            && let Some(run) = self.runs.get_mut(&run)
        {
            run.cursor = run.cursor.max(seq);
        }
    }

    fn add_story(&mut self, story: &StoryId) {
        self.stories.insert(story.clone(), Story::new());
        // A person may have taken the next ids already.
        while self.is_taken(&self.next_story()) {
            self.last_story = self.last_story.saturating_add(1);
        }
    }

    fn set_story(&mut self, story: &StoryId, state: StoryState) {
        if let Some(story) = self.stories.get_mut(story) {
            story.state = state;
        }
    }

    /// What a run could have spent beyond what is known counts as gone for its story too.
    fn hold_of_story(&mut self, run: RunId, held: &UnknownSpending) {
        let story = self.runs.get(&run).map(|run| run.plan.story.clone());
        if let Some(story) = story.and_then(|story| self.stories.get_mut(&story)) {
            story.held.insert(run, *held);
        }
    }

    /// A branch of a story, by the name that the story gives it.
    pub(super) fn branch_of(&self, story: &StoryId, n: u32) -> BranchRef {
        match self.stories.get(story) {
            Some(found) => BranchRef::of(story.clone(), n, &found.spec),
            None => BranchRef::plain(story.clone(), n),
        }
    }

    fn archive(&mut self, story: &StoryId) {
        if let Some(Story { state: StoryState::Done { .. }, .. }) = self.stories.remove(story) {
            self.archived_done.insert(story.clone());
        }
        self.archived.insert(story.clone());
        self.sessions.retain(|key, _| key.story != *story);
        self.restarts.retain(|pair, _| pair.story != *story);
        self.parked.retain(|_, parked| parked.plan.story != *story);
        for slot in self.slots.values_mut() {
            if let Slot::Held { branch, .. } = slot
                && branch.story == *story
            {
                *slot = Slot::Leaving { branch: branch.clone() };
            }
        }
    }

    /// A merge keeps the place that it got when it was asked for.
    fn merge(&mut self, command: &CommandId, branch: BranchRef, check: SecretScan) {
        let n = match self.merges.get(command) {
            Some(merge) => merge.n,
            None => {
                let last = self.merges.values().map(|merge| merge.n).max();
                last.unwrap_or_default().saturating_add(1)
            }
        };
        self.merges.insert(command.clone(), PendingMerge { branch, check, n });
    }

    fn queue(&mut self, run: RunId, plan: &RunPlan, at: i64, by_itself: bool) {
        self.last_run = self.last_run.max(run.number());
        self.runs.insert(run, Run::queued(plan.clone(), at));
        if let (true, RunKind::Restart { .. }) = (by_itself, &plan.kind) {
            let times = self.restarts.entry(Pair::of(plan)).or_default();
            times.push(at);
            if times.len() > RESTARTS_KEPT {
                times.remove(0);
            }
        }
    }

    fn prepare(&mut self, id: RunId, slot: SlotId, n: u32, start: WorktreeStart) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.phase = RunPhase::Preparing { slot, start };
        let story = run.plan.story.clone();
        if let Some(story) = self.stories.get_mut(&story) {
            story.branches = story.branches.max(n);
        }
        let condition = match (start, self.slots.get(&slot)) {
            (WorktreeStart::Keep, Some(Slot::Held { condition, .. })) => *condition,
            _ => SlotCondition::New,
        };
        let branch = self.branch_of(&story, n);
        let held = Slot::Held { branch, condition, busy: Some(id) };
        self.slots.insert(slot, held);
    }

    fn move_on(&mut self, run: RunId, next: impl Fn(&RunPhase) -> Option<RunPhase>) {
        if let Some(run) = self.runs.get_mut(&run)
            && let Some(phase) = next(&run.phase)
        {
            run.phase = phase;
        }
    }

    fn end(&mut self, id: RunId, outcome: Outcome) {
        self.deliveries.retain(|_, delivery| delivery.run != id);
        let Some(run) = self.runs.get_mut(&id) else { return };
        match run.phase {
            RunPhase::Live { slot } | RunPhase::Closing { slot } => {
                run.phase = RunPhase::Finishing { slot, outcome };
                // Those that are closed are remembered to the end, so that a late answer hears what won.
                run.asks.retain(|_, state| matches!(state, AskState::Closed { .. }));
            }
            RunPhase::Finishing { .. } => {}
            // It never began, so there is nothing to finish.
            RunPhase::Queued | RunPhase::Preparing { .. } | RunPhase::Starting { .. } => {
                self.runs.remove(&id);
                self.leave_slots(id);
            }
        }
    }

    /// A slot stays with its story, unless no runner was ever in it.
    fn leave_slots(&mut self, run: RunId) {
        for slot in self.slots.values_mut() {
            if let Slot::Held { branch, condition, busy } = slot
                && *busy == Some(run)
            {
                match condition {
                    SlotCondition::New => {
                        // A name that was not used can be used again, or changed.
                        if let Some(story) = self.stories.get_mut(&branch.story)
                            && branch.name.is_some()
                            && story.branches == branch.n
                        {
                            story.branches = branch.n.saturating_sub(1);
                        }
                        *slot = Slot::Leaving { branch: branch.clone() };
                    }
                    SlotCondition::Entered | SlotCondition::SetUp => *busy = None,
                }
            }
        }
    }

    fn advance_slot(&mut self, run: RunId, least: SlotCondition) {
        let slot = self.runs.get(&run).and_then(|run| run.phase.slot());
        if let Some(Slot::Held { condition, busy, .. }) =
            slot.and_then(|id| self.slots.get_mut(&id))
            && *busy == Some(run)
        {
            *condition = (*condition).max(least);
        }
    }

    fn see_session(&mut self, id: RunId, session: &SessionId) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.session = Some(session.clone());
        match run.plan.line {
            RunLine::Main => {
                let RunPlan { story, agent, model, .. } = run.plan.clone();
                let known = KnownSession { session: session.clone(), run: id };
                self.sessions.insert(SessionKey { story, agent, model }, known);
            }
            RunLine::Fork => {}
        }
    }

    fn set_ask(&mut self, run: RunId, ask: &crate::AskId, state: AskState) {
        let run = self.runs.get_mut(&run);
        if let Some(found) = run.and_then(|run| run.asks.get_mut(ask)) {
            *found = state;
        }
    }

    fn offer(&mut self, run: RunId, command: &CommandId, kind: DeliveryKind) {
        self.last_delivery = self.last_delivery.saturating_add(1);
        let delivery = Delivery { run, kind, n: self.last_delivery, grants: false };
        self.deliveries.insert(command.clone(), delivery);
    }

    fn wish(&mut self, id: RunId, command: &CommandId, wish: EndRequest) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.wish = run.wish.max(Some(wish));
        let kind = match wish {
            EndRequest::Stop => DeliveryKind::Stop,
            EndRequest::Kill => DeliveryKind::Kill,
        };
        match run.phase {
            RunPhase::Preparing { .. } | RunPhase::Starting { .. } | RunPhase::Live { .. } => {
                self.offer(id, command, kind);
            }
            // Nobody is there to be told; the wish only keeps the run from being restarted.
            RunPhase::Queued | RunPhase::Closing { .. } | RunPhase::Finishing { .. } => {}
        }
    }
}
