//! Prompts that the pool keeps because their run has no runner yet, for those who show them.

use std::collections::BTreeMap;
use std::sync::Arc;

use musher_core::pool::{DeliveryKind, State};
use musher_core::{CommandId, RunId, RunPhase};

/// The prompts by their run, in the order in which they were said.
pub(super) type UnsaidPrompts = Arc<BTreeMap<RunId, Vec<CommandId>>>;

/// Those of a state. Few commands are under way at a time, and a state without such prompts costs no memory.
pub(super) fn unsaid(state: &State) -> BTreeMap<RunId, Vec<CommandId>> {
    let mut found: BTreeMap<RunId, Vec<(u64, CommandId)>> = BTreeMap::new();
    for (command, delivery) in &state.deliveries {
        let waits = state.runs.get(&delivery.run).is_some_and(|run| match run.phase {
            RunPhase::Queued | RunPhase::Preparing { .. } | RunPhase::Starting { .. } => true,
            // A live run's own log tells what waits in it.
            RunPhase::Live { .. } | RunPhase::Closing { .. } | RunPhase::Finishing { .. } => false,
        });
        if waits && matches!(delivery.kind, DeliveryKind::Prompt) {
            found.entry(delivery.run).or_default().push((delivery.n, command.clone()));
        }
    }
    let in_order = |mut prompts: Vec<(u64, CommandId)>| {
        prompts.sort();
        prompts.into_iter().map(|(_, command)| command).collect()
    };
    found.into_iter().map(|(run, prompts)| (run, in_order(prompts))).collect()
}
