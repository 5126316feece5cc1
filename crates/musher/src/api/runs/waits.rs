//! What a run waits for, in words: a queued one for a slot, a live one that has been silent for minutes for its agent.

use std::time::Duration;

use musher_client::api::ApiQueuedMessage;
use musher_core::RunPhaseKind;
use musher_core::pool::TextKey;

use super::super::Api;
use super::super::command::given_at;
use crate::bus::QueuedPrompt;
use crate::journal::{Busy, JournalError, RunView};

/// A live run that has said nothing for so long is told to be quiet.
const QUIET_RUN_THRESHOLD: Duration = Duration::from_secs(120);

/// So many characters are shown of a message that waits.
const MAX_QUEUED_MESSAGE_CHARS: usize = 4_000;

/// How many runs may be at work at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotCount {
    pub(super) all: u32,
    pub(super) of_agent: u32,
    pub(super) of_story: u32,
}

/// What a queued run waits for. This reads the journal, so it blocks for a moment.
pub(super) fn slot(run: &RunView, api: &Api) -> Option<String> {
    if run.phase != RunPhaseKind::Queued {
        return None;
    }
    let limits = api.project.borrow().limits;
    let slots = SlotCount {
        all: limits.runs,
        of_agent: limits.runs_per_agent,
        of_story: limits.runs_per_story,
    };
    let busy = api.views.busy(&run.agent, &run.story);
    let unread = |error: &JournalError| {
        tracing::warn!(run.id = %run.id, cause = %error, "what a run waits for cannot be read");
    };
    let busy = busy.inspect_err(unread).ok()?;
    in_the_way(slots, busy, run.agent.as_str(), run.story.as_str())
}

fn in_the_way(slots: SlotCount, busy: Busy, agent: &str, story: &str) -> Option<String> {
    let full = |busy: u64, slots: u32| busy >= u64::from(slots);
    let Busy { all, of_agent, of_story } = busy;
    if full(all, slots.all) {
        Some(format!("waits for a free slot: {all} of {} busy", slots.all))
    } else if full(of_agent, slots.of_agent) {
        Some(format!("waits for agent {agent}: {of_agent} of {} runs busy", slots.of_agent))
    } else if full(of_story, slots.of_story) {
        Some(format!("waits for story {story}: {of_story} of {} runs busy", slots.of_story))
    } else if of_story > 0 {
        Some(format!("waits for the worktree of story {story}, which another run uses"))
    } else {
        None
    }
}

/// The messages that the agent of a run was not told yet: those in its log, and those that are kept until it has a
/// runner. This reads the journal.
pub(super) fn queued(run: &RunView, api: &Api) -> Vec<ApiQueuedMessage> {
    let kept = api.bus.queued(run.id).into_iter();
    let told = |QueuedPrompt { id, text, at }| {
        let id = id.as_str().to_owned();
        ApiQueuedMessage { id, text, at }
    };
    let mut queued: Vec<ApiQueuedMessage> = kept.map(told).collect();
    for command in api.pool.unsaid(run.id) {
        let at = given_at(&command).unwrap_or(run.queued_at);
        let text = api.views.text(&TextKey::Message(command.clone()));
        // A text that cannot be read can be taken back all the same.
        let text = text.ok().flatten().unwrap_or_default();
        queued.push(ApiQueuedMessage { id: command.as_str().to_owned(), text: head(text), at });
    }
    queued
}

/// Not more of a message than a log would tell of it.
fn head(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_QUEUED_MESSAGE_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Since when a live run has said nothing, if that is minutes ago and nobody knows why. This looks at a file.
pub(super) fn quiet_since(run: &RunView, note: Option<&String>, api: &Api) -> Option<i64> {
    if run.phase != RunPhaseKind::Live || run.open_asks > 0 || note.is_some() {
        return None;
    }
    let last = api.bus.logs().last_written(run.id)?;
    let quiet = (api.clock)().saturating_sub(last);
    (u128::try_from(quiet).ok()? >= QUIET_RUN_THRESHOLD.as_millis()).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queued_run_says_for_what_it_waits() {
        let slots = SlotCount { all: 4, of_agent: 2, of_story: 2 };
        let told = |all, of_agent, of_story| {
            in_the_way(slots, Busy { all, of_agent, of_story }, "coder", "s1").unwrap_or_default()
        };
        assert_eq!(told(4, 2, 2), "waits for a free slot: 4 of 4 busy");
        assert_eq!(told(3, 2, 2), "waits for agent coder: 2 of 2 runs busy");
        assert_eq!(told(3, 1, 2), "waits for story s1: 2 of 2 runs busy");
        assert_eq!(told(3, 1, 1), "waits for the worktree of story s1, which another run uses");
        assert_eq!(told(0, 0, 0), "");
    }
}
