//! What a server that begins again must do: every action that has not been answered, from the state alone.

use crate::pool::{Action, Assignment, DeliveryKind, SecretScan, Slot, SlotCondition, State};
use crate::{BranchRef, CommandId, Run, RunId, RunPhase, RunPlan, SlotId};

/// More prompts than this do not go into the file that a runner is started with.
const MAX_PROMPTS_AT_START: usize = 64;

impl State {
    /// Every action that is still to be taken. To watch the runners and logs of runs is the loop's own duty.
    pub fn owed(&self) -> Vec<Action> {
        let mut owed = Vec::new();
        for (id, run) in &self.runs {
            owed.extend(self.owed_to(*id, run));
        }
        for (slot, held) in &self.slots {
            if let Slot::Leaving { branch } = held {
                owed.push(Action::Release { slot: *slot, branch: branch.clone() });
            }
        }
        for (command, merge) in self.merges_in_order() {
            match merge.check {
                SecretScan::Open => owed.push(Action::SearchSecrets {
                    command: command.clone(),
                    branch: merge.branch.clone(),
                }),
                SecretScan::Clean | SecretScan::Waived => owed.extend(self.merge_of(command)),
            }
        }
        owed
    }

    fn owed_to(&self, id: RunId, run: &Run) -> Vec<Action> {
        match &run.phase {
            RunPhase::Queued => Vec::new(),
            RunPhase::Preparing { .. } => self.prepare_of(id).into_iter().collect(),
            RunPhase::Starting { slot } => self.spawn(id, *slot).into_iter().collect(),
            RunPhase::Live { .. } => self.deliver(id),
            RunPhase::Closing { .. } => vec![Action::CloseLog { run: id }],
            RunPhase::Finishing { slot, .. } => self.finish(id, *slot).into_iter().collect(),
        }
    }

    /// To make the worktree of a run that has just got its slot.
    pub(super) fn prepare_of(&self, id: RunId) -> Option<Action> {
        let run = self.runs.get(&id)?;
        let RunPhase::Preparing { slot, start } = run.phase else { return None };
        let (branch, condition) = self.held(slot)?;
        Some(Action::Prepare { run: id, plan: run.plan.clone(), slot, branch, start, condition })
    }

    /// To start a run's runner.
    pub(super) fn spawn(&self, id: RunId, slot: SlotId) -> Option<Action> {
        let Run { plan, budget, nonce, .. } = self.runs.get(&id)?;
        let (branch, condition) = self.held(slot)?;
        Some(Action::Spawn(Assignment {
            run: id,
            plan: plan.clone(),
            budget: *budget,
            nonce: nonce.clone(),
            slot,
            branch,
            condition,
            pending: self.prompts_before(id),
        }))
    }

    /// The prompts that a run begins with. What is beyond the bound is handed to it when it is live.
    fn prompts_before(&self, run: RunId) -> Vec<CommandId> {
        let deliveries = self.deliveries_to(run).into_iter();
        let prompts = deliveries.filter(|(_, it)| matches!(it.kind, DeliveryKind::Prompt));
        prompts.map(|(command, _)| command.clone()).take(MAX_PROMPTS_AT_START).collect()
    }

    /// To commit what a run left in its worktree.
    pub(super) fn finish(&self, run: RunId, slot: SlotId) -> Option<Action> {
        let (branch, _) = self.held(slot)?;
        Some(Action::Finish { run, slot, branch })
    }

    /// To merge a branch that may be merged, if no other merge is before it.
    pub(super) fn merge_of(&self, command: &CommandId) -> Option<Action> {
        let (first, merge) = self.merges_in_order().into_iter().next()?;
        let may = match merge.check {
            SecretScan::Clean | SecretScan::Waived => first == command,
            SecretScan::Open => false,
        };
        may.then(|| Action::Merge { command: command.clone(), branch: merge.branch.clone() })
    }

    /// To hand a live run all that is on its way to it, in order. What grants a rule waits until that is saved.
    pub(super) fn deliver(&self, run: RunId) -> Vec<Action> {
        let deliveries = self.deliveries_to(run).into_iter();
        deliveries
            .filter_map(|(command, delivery)| match delivery.grants {
                true => self.grant(run, command),
                false => {
                    let (command, kind) = (command.clone(), delivery.kind.clone());
                    Some(Action::Deliver { run, command, kind })
                }
            })
            .collect()
    }

    /// To save what an answer grants.
    pub(super) fn grant(&self, id: RunId, command: &CommandId) -> Option<Action> {
        let RunPlan { agent, story, .. } = &self.runs.get(&id)?.plan;
        let (command, agent, story) = (command.clone(), agent.clone(), story.clone());
        Some(Action::Grant { run: id, command, agent, story })
    }

    /// The branch that a slot holds, and how far the slot has come.
    fn held(&self, slot: SlotId) -> Option<(BranchRef, SlotCondition)> {
        match self.slots.get(&slot) {
            Some(Slot::Held { branch, condition, .. }) => Some((branch.clone(), *condition)),
            Some(Slot::Free | Slot::Leaving { .. }) | None => None,
        }
    }
}
