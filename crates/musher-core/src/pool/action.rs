//! What the pool decided: facts to commit, then actions to take, and what to tell whom.

use crate::pool::{CommandReply, DeliveryKind, Fact, Refusal, SlotCondition};
use crate::{AgentName, BranchRef, CommandId, RunId, RunPlan, SlotId, StoryId, Usd, WorktreeStart};

/// What follows from one input. The facts and the texts are committed together, before any action is taken and before
/// anyone is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PoolDecision {
    pub facts: Vec<Fact>,
    pub actions: Vec<Action>,
    /// Texts of people, which facts never hold, so that they can be erased.
    pub texts: Vec<(TextKey, String)>,
    /// The reply to the command, if the input was one.
    pub reply: Option<Result<CommandReply, Refusal>>,
    /// The last word on commands that were offered before.
    pub settled: Vec<(CommandId, Result<CommandReply, Refusal>)>,
}

/// Under what a text is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextKey {
    StoryTitle(StoryId),
    StoryText(StoryId),
    /// The story's own variables, as JSON.
    StoryContext(StoryId),
    /// The first prompt of a run.
    Prompt(RunId),
    /// The [`RunOptions`](crate::RunOptions) of a run and of those that follow it, as JSON.
    Options(RunId),
    /// The text of a prompt or steer that is delivered to a run.
    Message(CommandId),
    /// An [`Answer`](crate::Answer) as JSON.
    Answer(CommandId),
}

/// What a runner is started for: the run, what it is to do, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub run: RunId,
    pub plan: RunPlan,
    /// What the pool lets it spend.
    pub budget: Option<Usd>,
    /// What tells it from every other run.
    pub nonce: Option<String>,
    pub slot: SlotId,
    pub branch: BranchRef,
    /// How far the slot has come, and so whether its setup is still to be run.
    pub condition: SlotCondition,
    /// Prompts that were given before it began, in their order; they wait in it from its start.
    pub pending: Vec<CommandId>,
}

/// Something to be done in the world. Doing it twice does it once. An action carries all that the state knows about it, so
/// that whoever takes it never asks the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make the worktree ready; ends in `Prepared` or `PrepareFailed`.
    Prepare {
        run: RunId,
        plan: RunPlan,
        slot: SlotId,
        branch: BranchRef,
        start: WorktreeStart,
        /// A worktree in which nobody has been is taken away again if it cannot be made ready.
        condition: SlotCondition,
    },
    /// Start the runner, or find the one that was started; ends in `RunnerUp`, `SpawnFailed` or `RunnerGone`.
    Spawn(Assignment),
    /// Hand a command to the runner until it answers; ends in `Delivered`, or with the run.
    Deliver { run: RunId, command: CommandId, kind: DeliveryKind },
    /// Save the rule that an answer grants to the agent of its run; ends in `Granted`.
    Grant { run: RunId, command: CommandId, agent: AgentName, story: StoryId },
    /// Write the end of a log whose runner is gone; ends in `Heard::Ended` or `LogLost`.
    CloseLog { run: RunId },
    /// Commit what the run left in its worktree; ends in `Finished`.
    Finish { run: RunId, slot: SlotId, branch: BranchRef },
    /// Keep the slot's work on a recovery ref and turn its files to the base; ends in `Released`. The worktree may never
    /// have been made.
    Release { slot: SlotId, branch: BranchRef },
    /// Search what the branch adds for secrets; ends in `Searched`.
    SearchSecrets { command: CommandId, branch: BranchRef },
    /// Merge the branch into the project's own; ends in `Merged`. There is one at a time.
    Merge { command: CommandId, branch: BranchRef },
}
