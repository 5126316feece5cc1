//! Headlines: the story, run or ask as it is now, sent again whenever a fact touched it.

use std::collections::BTreeSet;

use musher_core::pool::{Fact, RESTART_ASK};
use musher_core::{AskId, RunId, StoryId};
use serde::Serialize;

use super::Api;
use super::asks::AskReply;
use super::runs::RunNow;
use super::sse;
use super::stories::with_lines;
use crate::journal::{JournalError, StoryView};

/// What a client puts in the place of what it had under the same id.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Headline {
    Story(Box<StoryView>),
    Run(Box<RunNow>),
    Ask(Box<AskReply>),
}

impl Headline {
    pub(super) fn frame(&self, out: &mut Vec<u8>) {
        // Views are plain data, which can always be written as JSON.
        let json = serde_json::to_vec(self).unwrap_or_default();
        sse::named(out, "headline", &json);
    }
}

/// What some facts have touched.
#[derive(Debug, Default)]
pub(super) struct Touched {
    stories: BTreeSet<StoryId>,
    runs: BTreeSet<RunId>,
    asks: BTreeSet<(RunId, AskId)>,
}

impl Touched {
    pub(super) fn add(&mut self, fact: &Fact) {
        match fact {
            Fact::StoryAdded { story }
            | Fact::StoryEdited { story }
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

    /// Frames all of it as it is now. This blocks.
    pub(super) fn frame(mut self, api: &Api, out: &mut Vec<u8>) -> Result<(), JournalError> {
        let mut runs = Vec::new();
        for run in self.runs {
            if let Some(view) = api.views.run(run)? {
                // What a run does shows on its story too.
                self.stories.insert(view.story.clone());
                runs.push(Box::new(RunNow::new(view, api)));
            }
        }
        for story in &self.stories {
            if let Some(whole) = api.views.story(story)? {
                let mut story = whole.story;
                with_lines(&mut story, api);
                Headline::Story(Box::new(story)).frame(out);
            }
        }
        for run in runs {
            Headline::Run(run).frame(out);
        }
        for (run, ask) in self.asks {
            if let Some(ask) = api.views.ask(run, &ask)? {
                Headline::Ask(Box::new(AskReply::read(ask, api))).frame(out);
            }
        }
        Ok(())
    }
}
