//! What a server that begins again must do: every action that has not been answered, from the state alone.

use crate::pool::{Action, SecretCheck, Slot, State, Wear};
use crate::{BranchRef, Run, RunId, RunPhase, SlotId};

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
        for (command, merge) in &self.merges {
            let (command, branch) = (command.clone(), merge.branch.clone());
            owed.push(match merge.check {
                SecretCheck::Open => Action::SearchSecrets { command, branch },
                SecretCheck::Clean | SecretCheck::Waived => Action::Merge { command, branch },
            });
        }
        owed
    }

    fn owed_to(&self, id: RunId, run: &Run) -> Vec<Action> {
        match &run.phase {
            RunPhase::Queued => Vec::new(),
            RunPhase::Preparing { slot, start } => match self.branch_in(*slot) {
                Some(branch) => {
                    let (slot, start) = (*slot, *start);
                    vec![Action::Prepare { run: id, slot, branch, start }]
                }
                None => Vec::new(),
            },
            RunPhase::Starting { slot } => vec![self.spawn(id, *slot)],
            RunPhase::Live { .. } => self.deliver(id),
            RunPhase::Closing { .. } => vec![Action::CloseLog { run: id }],
            RunPhase::Finishing { slot, .. } => vec![Action::Finish { run: id, slot: *slot }],
        }
    }

    /// To start a run's runner.
    pub(super) fn spawn(&self, run: RunId, slot: SlotId) -> Action {
        let setup = match self.slots.get(&slot) {
            Some(Slot::Held { wear, .. }) => *wear < Wear::SetUp,
            Some(Slot::Free | Slot::Leaving { .. }) | None => true,
        };
        Action::Spawn { run, slot, setup }
    }

    /// To hand a live run all that is on its way to it, in order.
    pub(super) fn deliver(&self, run: RunId) -> Vec<Action> {
        let deliveries = self.deliveries_to(run).into_iter();
        deliveries
            .map(|(command, delivery)| Action::Deliver {
                run,
                command: command.clone(),
                kind: delivery.kind.clone(),
            })
            .collect()
    }

    /// The branch that a slot holds.
    pub fn branch_in(&self, slot: SlotId) -> Option<BranchRef> {
        match self.slots.get(&slot) {
            Some(Slot::Held { branch, .. }) => Some(branch.clone()),
            Some(Slot::Free | Slot::Leaving { .. }) | None => None,
        }
    }
}
