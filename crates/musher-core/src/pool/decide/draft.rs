//! A decision while it is being made.

use std::borrow::Cow;

use crate::pool::{Action, CommandReply, Fact, PoolDecision, Refusal, State, Team, TextKey};
use crate::{CommandId, RunId, RunPhase};

/// The facts and actions so far, on top of the state before the input.
pub(super) struct Draft<'a> {
    /// The state before the input.
    pub(super) base: &'a State,
    pub(super) team: &'a Team,
    pub(super) now: i64,
    /// The state with the first `folded` facts; it is copied only when somebody asks for it.
    seen: Cow<'a, State>,
    folded: usize,
    made: PoolDecision,
    look: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(base: &'a State, team: &'a Team, now: i64) -> Self {
        Self {
            base,
            team,
            now,
            seen: Cow::Borrowed(base),
            folded: 0,
            made: PoolDecision::default(),
            look: false,
        }
    }

    pub(super) fn put(&mut self, fact: Fact) {
        let wants = matches!(fact, Fact::RunQueued { .. });
        let frees = matches!(
            fact,
            Fact::RunEnded { .. }
                | Fact::RunFinished { .. }
                | Fact::StoryFinished { .. }
                | Fact::StoryReopened { .. }
                | Fact::StoryMerged { .. }
                | Fact::StoryArchived { .. }
                | Fact::StorySpecSet { .. }
        );
        self.look |= wants || frees;
        self.made.facts.push(fact);
    }

    pub(super) fn act(&mut self, action: Action) {
        self.made.actions.push(action);
    }

    pub(super) fn keep_text(&mut self, key: TextKey, text: String) {
        self.made.texts.push((key, text));
    }

    /// Says the last word on a command that was offered before.
    pub(super) fn settle(&mut self, command: &CommandId, result: Result<CommandReply, Refusal>) {
        self.made.settled.push((command.clone(), result));
    }

    /// The state with all facts so far.
    pub(super) fn state(&mut self) -> &State {
        for fact in &self.made.facts[self.folded..] {
            self.seen.to_mut().apply(fact);
        }
        self.folded = self.made.facts.len();
        &self.seen
    }

    /// The id for the next run.
    pub(super) fn next_run(&mut self) -> RunId {
        RunId::minted(self.state().last_run.saturating_add(1))
    }

    /// Makes the queue be looked at even if nothing has moved.
    pub(super) fn look_again(&mut self) {
        self.look = true;
    }

    /// Whether a waiting run might have its turn now. When none waits, that is known without a copy of the state: a
    /// thousand runs may end one after another.
    pub(super) fn must_look(&self) -> bool {
        let queued = |fact: &Fact| matches!(fact, Fact::RunQueued { .. });
        let mut runs = self.base.runs.values();
        self.look
            && (runs.any(|run| run.phase == RunPhase::Queued) || self.made.facts.iter().any(queued))
    }

    pub(super) fn decision(mut self, reply: Option<Result<CommandReply, Refusal>>) -> PoolDecision {
        self.made.reply = reply;
        self.made
    }
}
