//! The stories, runs and asks that some facts have touched.

use std::collections::BTreeSet;

use musher_core::pool::{Fact, RESTART_ASK};
use musher_core::{AskId, RunId, StoryId};

/// What some facts have touched.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) stories: BTreeSet<StoryId>,
    pub(crate) runs: BTreeSet<RunId>,
    pub(crate) asks: BTreeSet<(RunId, AskId)>,
}

impl Touched {
    pub(crate) fn add(&mut self, fact: &Fact) {
        match fact {
            Fact::StoryAdded { story }
            | Fact::StoryEdited { story }
            | Fact::StorySpecSet { story, .. }
            | Fact::StoryFinished { story }
            | Fact::StoryReopened { story }
            | Fact::StoryArchived { story }
            | Fact::MergeStarted { story, .. }
            | Fact::StoryMerged { story, .. }
            | Fact::MergeFailed { story, .. } => {
                self.stories.insert(story.clone());
            }
            Fact::RunQueued { run, .. }
            | Fact::RunWaits { run, .. }
            | Fact::RunPreparing { run, .. }
            | Fact::RunPrepared { run, .. }
            | Fact::RunStarted { run }
            | Fact::RunnerLost { run }
            | Fact::RunEnded { run, .. }
            | Fact::RunFinished { run, .. }
            | Fact::SessionSeen { run, .. }
            | Fact::SetupDone { run, .. }
            | Fact::UsageCounted { run, .. }
            | Fact::PromptOffered { run, .. }
            | Fact::SteerOffered { run, .. }
            | Fact::TakeBackOffered { run, .. }
            | Fact::InterruptOffered { run, .. }
            | Fact::ChangeOffered { run, .. }
            | Fact::EndWished { run, .. }
            | Fact::CommandDelivered { run, .. }
            | Fact::CommandUndelivered { run, .. } => {
                self.runs.insert(*run);
            }
            Fact::RunParked { run, .. } | Fact::RunUnparked { run, .. } => {
                self.ask(*run, &RESTART_ASK.into());
            }
            Fact::AskOpened { run, ask, .. }
            | Fact::AskClosed { run, ask, .. }
            | Fact::AnswerOffered { run, ask, .. }
            | Fact::AskAnswered { run, ask, .. }
            | Fact::AnswerRefused { run, ask, .. } => self.ask(*run, ask),
            Fact::SlotReleased { .. } => {}
        }
    }

    fn ask(&mut self, run: RunId, ask: &AskId) {
        self.runs.insert(run);
        self.asks.insert((run, ask.clone()));
    }
}
