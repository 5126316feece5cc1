//! The turns of a session: each start has one end, and what was open in a turn is closed with it.

use std::collections::BTreeSet;

use musher_core::{CallId, PromptId, ToolPhase, ToolUpdate, TurnEnded};
use tokio::time::Instant;

/// A turn under way.
#[derive(Debug)]
pub(super) struct OpenTurn {
    pub(super) prompts: Vec<PromptId>,
    pub(super) model_calls: u32,
    started: Instant,
    calls: BTreeSet<CallId>,
}

/// Every turn of one session.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) count: u32,
    pub(super) open: Option<OpenTurn>,
    pub(super) last: Option<TurnEnded>,
    /// Prompts that were sent and have not begun a turn yet.
    pub(super) sent: Vec<PromptId>,
    pub(super) model_calls: u32,
    /// Bytes that were said into the turn.
    pub(super) steered: usize,
}

impl Turns {
    /// Whether the agent is at work or about to be.
    pub(super) fn busy(&self) -> bool {
        self.open.is_some() || !self.sent.is_empty()
    }

    /// The number of the turn under way.
    pub(super) fn current(&self) -> Option<u32> {
        self.open.as_ref().map(|_| self.count)
    }

    /// Begins a turn and tells which prompts it answers.
    pub(super) fn begin(&mut self) -> Vec<PromptId> {
        let prompts = std::mem::take(&mut self.sent);
        self.steered = 0;
        self.count += 1;
        self.open = Some(OpenTurn {
            prompts: prompts.clone(),
            model_calls: 0,
            started: Instant::now(),
            calls: BTreeSet::new(),
        });
        prompts
    }

    pub(super) fn model_call(&mut self) {
        self.model_calls += 1;
        if let Some(turn) = &mut self.open {
            turn.model_calls += 1;
        }
    }

    /// Keeps track of the calls that have no result yet.
    pub(super) fn tool(&mut self, update: &ToolUpdate) {
        if let Some(turn) = &mut self.open {
            if update.phase.is_final() {
                turn.calls.remove(&update.call);
            } else {
                turn.calls.insert(update.call.clone());
            }
        }
    }

    /// The calls that will never get a result.
    pub(super) fn cancelled_calls(&mut self) -> Vec<ToolUpdate> {
        let calls = self.open.as_mut().map(|turn| std::mem::take(&mut turn.calls));
        calls
            .into_iter()
            .flatten()
            .map(|call| ToolUpdate::phase(call, ToolPhase::Cancelled))
            .collect()
    }

    /// Ends the turn; what the runtime left out is filled in.
    pub(super) fn end(&mut self, mut ended: TurnEnded) -> TurnEnded {
        if let Some(turn) = self.open.take() {
            ended.prompts = turn.prompts;
            ended.model_calls = turn.model_calls;
            let took = turn.started.elapsed().as_millis();
            ended.duration_ms.get_or_insert(u64::try_from(took).unwrap_or(u64::MAX));
        }
        self.last = Some(ended.clone());
        ended
    }
}
