//! The turns of a session: each start has one end.

use musher_core::{PromptId, TurnEnded};
use tokio::time::Instant;

/// A turn under way.
#[derive(Debug)]
pub(super) struct ActiveTurn {
    pub(super) prompts: Vec<PromptId>,
    pub(super) model_calls: u32,
    /// Somebody has told the agent to end it.
    interrupted: bool,
    started: Instant,
}

/// Every turn of one session.
#[derive(Debug, Default)]
pub(super) struct SessionTurns {
    pub(super) count: u32,
    pub(super) open: Option<ActiveTurn>,
    pub(super) last: Option<TurnEnded>,
    /// Prompts that were sent and have not begun a turn yet.
    pub(super) sent: Vec<PromptId>,
    /// Prompts that the agent has begun to work on, before it has begun its turn.
    begun: Vec<PromptId>,
    /// What was said into a turn and not begun yet.
    said: Vec<PromptId>,
    /// The agent says what it begins to work on.
    tells: bool,
    pub(super) model_calls: u32,
    /// Bytes that were said into the turn.
    pub(super) steered: usize,
}

impl SessionTurns {
    /// Whether the agent is at work or about to be.
    pub(super) fn busy(&self) -> bool {
        self.open.is_some() || self.owes()
    }

    /// Whether there are prompts that have not begun a turn.
    pub(super) fn owes(&self) -> bool {
        !self.sent.is_empty() || !self.begun.is_empty()
    }

    /// Forgets the prompts that have not begun a turn.
    pub(super) fn forget(&mut self) {
        self.sent.clear();
        self.begun.clear();
    }

    /// The number of the turn under way.
    pub(super) fn current(&self) -> Option<u32> {
        self.open.as_ref().map(|_| self.count)
    }

    /// The agent has begun to work on a prompt or on words that were said into a turn.
    pub(super) fn begun(&mut self, prompt: PromptId) {
        self.tells = true;
        self.said.retain(|said| *said != prompt);
        let was_sent = self.sent.iter().position(|sent| *sent == prompt);
        was_sent.map(|at| self.sent.remove(at));
        match &mut self.open {
            None => self.begun.push(prompt),
            Some(turn) if was_sent.is_some() => turn.prompts.push(prompt),
            // It was said into this turn.
            Some(_) => {}
        }
    }

    /// Something was said into the turn.
    pub(super) fn say(&mut self, prompt: PromptId, bytes: usize) {
        self.steered += bytes;
        self.said.push(prompt);
    }

    /// Whether words that came too late for their turn will begin another: the agent would have said if it had taken them.
    pub(super) fn awaits_words(&self) -> bool {
        self.tells && !self.said.is_empty()
    }

    /// The agent does not take these words, or none that wait; tells whether any did.
    pub(super) fn not_taken(&mut self, prompt: Option<&PromptId>) -> bool {
        let waited = self.awaits_words();
        self.said.retain(|said| prompt.is_some_and(|prompt| said != prompt));
        waited
    }

    /// Begins a turn and tells which prompts it answers: those that the agent names, or else all that were sent.
    pub(super) fn begin(&mut self) -> Vec<PromptId> {
        let named = std::mem::take(&mut self.begun);
        let prompts = if named.is_empty() { std::mem::take(&mut self.sent) } else { named };
        self.steered = 0;
        self.count += 1;
        self.open = Some(ActiveTurn {
            prompts: prompts.clone(),
            model_calls: 0,
            interrupted: false,
            started: Instant::now(),
        });
        prompts
    }

    pub(super) fn model_call(&mut self) {
        self.model_calls += 1;
        if let Some(turn) = &mut self.open {
            turn.model_calls += 1;
        }
    }

    /// The agent was told to end the turn. Where none is open there is nothing that could be called interrupted.
    pub(super) fn interrupt(&mut self) {
        if let Some(turn) = &mut self.open {
            turn.interrupted = true;
        }
    }

    pub(super) fn was_interrupted(&self) -> bool {
        self.open.as_ref().is_some_and(|turn| turn.interrupted)
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
