//! What the log tells of the pool: facts once they are durable, and commands that were refused.

use tracing::{debug, error, info, warn};

use musher_core::pool::{Fact, Pair, RESTART_WINDOW_MS, State};
use musher_core::{AgentName, CommandId, Outcome, RunId, RunKind, RunPlan, SessionChange, StoryId};

use super::{PoolError, RunName, Wish};

/// A fact that is worth a line, with the ids that it does not hold itself.
#[derive(Debug)]
pub(super) struct FactLine {
    fact: Fact,
    story: Option<StoryId>,
    agent: Option<AgentName>,
    /// How often the agent was started again on the story by itself, if this is such a start.
    attempt: usize,
}

impl FactLine {
    /// The line about a fact that is about to be applied to this state; none for what follows from single events.
    #[expect(clippy::wildcard_enum_match_arm, reason = "two kinds of facts hold a plan")]
    pub(super) fn of(fact: &Fact, state: &State) -> Option<Self> {
        let is_told = match fact {
            Fact::UsageCounted { .. } | Fact::SessionSeen { .. } | Fact::SetupDone { .. } => false,
            Fact::RunQueued { .. }
            | Fact::RunPreparing { .. }
            | Fact::RunStarted { .. }
            | Fact::RunnerLost { .. }
            | Fact::RunEnded { .. }
            | Fact::RunFinished { .. }
            | Fact::RunParked { .. }
            | Fact::RunUnparked { .. }
            | Fact::EndWished { .. }
            | Fact::AnswerRefused { .. }
            | Fact::CommandUndelivered { .. }
            | Fact::StoryMerged { .. }
            | Fact::MergeFailed { .. } => tracing::enabled!(tracing::Level::ERROR),
            Fact::StoryAdded { .. }
            | Fact::StoryEdited { .. }
            | Fact::StorySpecSet { .. }
            | Fact::StoryFinished { .. }
            | Fact::StoryReopened { .. }
            | Fact::StoryArchived { .. }
            | Fact::MergeStarted { .. }
            | Fact::RunWaits { .. }
            | Fact::RunPrepared { .. }
            | Fact::AskOpened { .. }
            | Fact::AskClosed { .. }
            | Fact::AnswerOffered { .. }
            | Fact::AskAnswered { .. }
            | Fact::PromptOffered { .. }
            | Fact::SteerOffered { .. }
            | Fact::TakeBackOffered { .. }
            | Fact::InterruptOffered { .. }
            | Fact::ChangeOffered { .. }
            | Fact::CommandDelivered { .. }
            | Fact::SlotReleased { .. } => tracing::enabled!(tracing::Level::DEBUG),
        };
        if !is_told {
            return None;
        }
        let live = fact.run().and_then(|run| state.runs.get(&run)).map(|run| &run.plan);
        let plan = match fact {
            Fact::RunQueued { plan, .. } | Fact::RunParked { plan, .. } => Some(plan),
            _ => live,
        };
        let (story, agent) = plan.map(|plan| (plan.story.clone(), plan.agent.clone())).unzip();
        let attempt = match fact {
            Fact::RunQueued { plan, at, .. } => attempt(plan, *at, state),
            _ => 0,
        };
        Some(Self { fact: fact.clone(), story, agent, attempt })
    }

    /// Writes the line.
    pub(super) fn log(&self) {
        let run = self.fact.run().map(|run| run.to_string());
        let (run, story) = (run.as_deref(), self.story.as_ref().map(StoryId::as_str));
        let agent = self.agent.as_ref().map(AgentName::as_str);
        /// A line with the ids of the run.
        macro_rules! tell {
            ($level:ident, $text:literal $(, $($fields:tt)*)?) => {
                $level!(run.id = run, story.id = story, agent, $($($fields)*,)? $text)
            };
        }
        match &self.fact {
            Fact::RunQueued { plan, .. } => {
                let (kind, of) = (kind(&plan.kind), plan.kind.of().map(|of| of.to_string()));
                match self.attempt {
                    0 => tell!(info, "run queued", kind, of),
                    attempt => tell!(warn, "run queued", kind, of, attempt, cause = "it was lost"),
                }
            }
            Fact::RunPreparing { slot, branch, .. } => {
                tell!(info, "run preparing", slot = slot.0, branch);
            }
            Fact::RunStarted { .. } => tell!(info, "run started"),
            Fact::RunnerLost { .. } => {
                tell!(warn, "runner lost", cause = "it is gone and has recorded no outcome");
            }
            Fact::RunEnded { outcome, error, .. } => {
                let cause = error.as_ref().map(|error| error.message.as_str());
                let outcome_word = outcome.as_str();
                match is_failure(*outcome) {
                    true => tell!(warn, "run ended", outcome = outcome_word, cause),
                    false => tell!(info, "run ended", outcome = outcome_word, cause),
                }
            }
            Fact::RunFinished { commit, error, .. } => match error {
                Some(cause) => tell!(warn, "run over", commit, cause),
                None => tell!(info, "run over", commit),
            },
            Fact::RunParked { .. } => {
                tell!(error, "run is not started again", cause = "it was lost too often");
            }
            Fact::RunUnparked { .. } => tell!(info, "restart was answered"),
            Fact::EndWished { wish, .. } => tell!(info, "run told to end", wish = ?wish),
            Fact::AnswerRefused { command, message, .. }
            | Fact::CommandUndelivered { command, message, .. } => {
                tell!(warn, "command not delivered", command.id = %command, cause = message);
            }
            Fact::StoryMerged { story, commit, .. } => {
                info!(story.id = %story, commit, "story merged");
            }
            Fact::MergeFailed { story, message, .. } => {
                warn!(story.id = %story, cause = message, "merge failed");
            }
            Fact::StoryAdded { story }
            | Fact::StoryEdited { story }
            | Fact::StorySpecSet { story, .. }
            | Fact::StoryFinished { story }
            | Fact::StoryReopened { story }
            | Fact::StoryArchived { story }
            | Fact::MergeStarted { story, .. } => {
                debug!(story.id = %story, fact = self.fact.name(), "fact");
            }
            Fact::SlotReleased { slot } => debug!(slot = slot.0, fact = self.fact.name(), "fact"),
            Fact::RunWaits { .. }
            | Fact::RunPrepared { .. }
            | Fact::SessionSeen { .. }
            | Fact::SetupDone { .. }
            | Fact::UsageCounted { .. }
            | Fact::AskOpened { .. }
            | Fact::AskClosed { .. }
            | Fact::AnswerOffered { .. }
            | Fact::AskAnswered { .. }
            | Fact::PromptOffered { .. }
            | Fact::SteerOffered { .. }
            | Fact::TakeBackOffered { .. }
            | Fact::InterruptOffered { .. }
            | Fact::ChangeOffered { .. }
            | Fact::CommandDelivered { .. } => tell!(debug, "fact", fact = self.fact.name()),
        }
    }
}

/// Which start this is of those that the pool makes by itself.
fn attempt(plan: &RunPlan, at: i64, state: &State) -> usize {
    if !matches!(plan.kind, RunKind::Restart { .. }) {
        return 0;
    }
    let recent = |then: &&i64| at.saturating_sub(**then) < RESTART_WINDOW_MS;
    1 + state.restarts.get(&Pair::of(plan)).map_or(0, |times| times.iter().filter(recent).count())
}

fn kind(kind: &RunKind) -> &'static str {
    match kind {
        RunKind::Fresh => "fresh",
        RunKind::Retry { .. } => "retry",
        RunKind::Resume { .. } => "resume",
        RunKind::Fork { .. } => "fork",
        RunKind::Restart { .. } => "restart",
    }
}

/// A command on its way, as far as the log tells of one that is refused. It holds no text of a person.
#[derive(Debug)]
pub(super) struct CommandLine {
    id: CommandId,
    verb: &'static str,
    run: Option<RunId>,
    story: Option<StoryId>,
    agent: Option<AgentName>,
}

impl CommandLine {
    pub(super) fn of(wish: &Wish, id: &CommandId) -> Self {
        let (verb, run, story, agent) = match wish {
            Wish::AddStory { id, .. } => ("add_story", None, id.as_ref(), None),
            Wish::PutStories { stories } => {
                ("put_stories", None, stories.first().map(|story| &story.id), None)
            }
            Wish::EditStory { story, .. } => ("edit_story", None, Some(story), None),
            Wish::FinishStory { story } => ("finish_story", None, Some(story), None),
            Wish::ReopenStory { story } => ("reopen_story", None, Some(story), None),
            Wish::ArchiveStory { story } => ("archive_story", None, Some(story), None),
            Wish::MergeStory { story, .. } => ("merge_story", None, Some(story), None),
            Wish::StartRun { story, agent, .. } => ("start_run", None, Some(story), agent.as_ref()),
            Wish::Prompt { run, .. } => ("prompt", Some(run), None, None),
            Wish::Steer { run, .. } => ("steer", Some(run), None, None),
            Wish::TakeBack { run, .. } => ("take_back", Some(run), None, None),
            Wish::Interrupt { run } => ("interrupt", Some(run), None, None),
            Wish::Change { run, change: SessionChange::Model { .. } } => {
                ("model", Some(run), None, None)
            }
            Wish::Change { run, change: SessionChange::Mode { .. } } => {
                ("mode", Some(run), None, None)
            }
            Wish::Stop { run } => ("stop", Some(run), None, None),
            Wish::Kill { run } => ("kill", Some(run), None, None),
            Wish::Answer { run, .. } => ("answer", Some(run), None, None),
            Wish::Resume { run, .. } => ("resume", Some(run), None, None),
            Wish::Retry { run } => ("retry", Some(run), None, None),
            Wish::Fork { run, .. } => ("fork", Some(run), None, None),
        };
        let (run, story, agent) = match run {
            Some(RunName::Id(run)) => (Some(*run), story, agent),
            Some(RunName::Latest { story, agent }) => (None, Some(story), agent.as_ref()),
            None => (None, story, agent),
        };
        Self { id: id.clone(), verb, run, story: story.cloned(), agent: agent.cloned() }
    }

    /// Writes that the command was not done.
    pub(super) fn refused(&self, cause: &PoolError) {
        let Self { id, verb, run, story, agent } = self;
        let run = run.map(|run| run.to_string());
        let (story, agent) =
            (story.as_ref().map(StoryId::as_str), agent.as_ref().map(AgentName::as_str));
        /// The same line at the level of its cause.
        macro_rules! tell {
            ($level:ident) => {
                $level!(
                    command = *verb,
                    run.id = run,
                    story.id = story,
                    agent,
                    command.id = %id,
                    cause = %cause,
                    "command refused"
                )
            };
        }
        match cause {
            PoolError::Refused(_)
            | PoolError::NoRun { .. }
            | PoolError::KeyReused { .. }
            | PoolError::Closed => tell!(info),
            PoolError::NoRoom { .. } => tell!(warn),
            PoolError::Broken { .. } => tell!(error),
        }
    }
}

/// Whether somebody should look at a run that ended so.
fn is_failure(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Completed | Outcome::Stopped | Outcome::Interrupted => false,
        Outcome::Failed
        | Outcome::TimedOut
        | Outcome::OutOfTurns
        | Outcome::OutOfBudget
        | Outcome::Lost => true,
    }
}
