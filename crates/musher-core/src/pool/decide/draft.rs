//! A decision while it is being made.

use std::borrow::Cow;

use crate::pool::{Action, CommandReply, Fact, PoolDecision, Refusal, State, Team, TextKey};
use crate::{CommandId, RunId, RunPhase};

/// A rule that tests break on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pool) enum BrokenRule {
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
}

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
    #[cfg(test)]
    pub(super) broken: Option<BrokenRule>,
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
            #[cfg(test)]
            broken: None,
        }
    }

    /// Whether a rule holds; it always does outside of tests.
    pub(super) fn keeps(&self, rule: BrokenRule) -> bool {
        #[cfg(test)]
        let keeps = self.broken != Some(rule);
        #[cfg(not(test))]
        let keeps = {
            let _ = rule;
            true
        };
        keeps
    }

    pub(super) fn put(&mut self, fact: Fact) {
        let wants = matches!(fact, Fact::RunQueued { .. });
        let frees = matches!(fact, Fact::RunEnded { .. } | Fact::RunFinished { .. });
        self.look |= wants || (frees && self.keeps(BrokenRule::QueueMoves));
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
