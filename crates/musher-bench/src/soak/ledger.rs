//! What was acknowledged, and whether it is still there.

use std::collections::BTreeMap;

use anyhow::Context as _;
use musher_client::api::{ApiRun, ApiStoryWhole};
use musher_core::{Event, EventKind};
use serde_json::Value as Json;

use super::broken::{Broken, Promise};
use super::logs;
use super::world::World;

/// Everything that a client was told had been done.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The text of each story.
    pub(super) stories: BTreeMap<String, String>,
    /// The runs, in the order in which they were heard of.
    pub(super) runs: Vec<String>,
    pub(super) prompts: Vec<Said>,
    pub(super) answers: BTreeMap<(String, String), Answered>,
    /// What was not looked for since it was acknowledged.
    fresh: Vec<Entry>,
}

/// A prompt that a run has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) run: String,
    pub(super) word: String,
    pub(super) how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The run that worked has it.
    Sent,
    /// A new run begins with it.
    Begins,
}

/// The answer that won.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answered {
    /// A word that stands in this answer alone.
    pub(super) word: String,
    pub(super) allows: bool,
}

#[derive(Debug, Clone)]
enum Entry {
    Story(String),
    Run(String),
    Prompt(Said),
    Answer(String, String),
}

impl Ledger {
    pub(super) fn story(&mut self, id: &str, text: &str) {
        self.stories.insert(id.to_owned(), text.to_owned());
        self.fresh.push(Entry::Story(id.to_owned()));
    }

    pub(super) fn run(&mut self, id: &str) {
        if !self.runs.iter().any(|run| run == id) {
            self.runs.push(id.to_owned());
            self.fresh.push(Entry::Run(id.to_owned()));
        }
    }

    pub(super) fn prompt(&mut self, said: Said) {
        self.prompts.push(said.clone());
        self.fresh.push(Entry::Prompt(said));
    }

    /// An answer was acknowledged; fails if another one was before.
    pub(super) fn answer(&mut self, run: &str, ask: &str, given: &Answered) -> anyhow::Result<()> {
        let key = (run.to_owned(), ask.to_owned());
        self.fresh.push(Entry::Answer(key.0.clone(), key.1.clone()));
        match self.answers.insert(key, given.clone()) {
            None => Ok(()),
            Some(first) => Err(Broken::error(
                Promise::Asks,
                format!("{ask} of {run}: both {first:?} and {given:?} were acknowledged"),
            )),
        }
    }
}

/// Looks for everything that was acknowledged since the last look.
pub(super) async fn look_for_fresh(world: &World) -> anyhow::Result<()> {
    let fresh = std::mem::take(&mut world.ledger().fresh);
    for entry in fresh {
        match entry {
            Entry::Story(id) => story(world, &id).await?,
            Entry::Run(id) => drop(run(world, &id).await?),
            Entry::Prompt(said) => prompt(world, &said)?,
            Entry::Answer(run, ask) => answer(world, &run, &ask)?,
        }
        world.count("acknowledged things looked for");
    }
    Ok(())
}

pub(super) async fn story(world: &World, id: &str) -> anyhow::Result<()> {
    let text = world.ledger().stories.get(id).cloned();
    let found: Option<ApiStoryWhole> = world.look(&["stories", id], &[]).await?;
    match found {
        Some(found) if found.text == text => Ok(()),
        found => Err(Broken::error(
            Promise::Acknowledged,
            format!("the story {id} with the text {text:?} was added, and there is {found:?}"),
        )),
    }
}

pub(super) async fn run(world: &World, id: &str) -> anyhow::Result<ApiRun> {
    let found = world.look(&["runs", id], &[]).await?;
    found.ok_or_else(|| Broken::error(Promise::Acknowledged, format!("the run {id} is gone")))
}

/// A prompt that was sent is in the log of its run.
pub(super) fn prompt(world: &World, said: &Said) -> anyhow::Result<()> {
    let Said { run, word, how } = said;
    if *how == How::Begins {
        // Its run may not have begun; the reckoning looks for it.
        return Ok(());
    }
    let has = |event: &Event| {
        let message = &event.kind;
        matches!(message, EventKind::UserMessage { text, .. } if text.contains(word.as_str()))
    };
    match logs::events(&world.folder(run))?.iter().filter(|event| has(event)).count() {
        1 => Ok(()),
        count => Err(Broken::error(
            Promise::Acknowledged,
            format!("the prompt `{word}` was sent to {run}, whose log has it {count} times"),
        )),
    }
}

/// An answer that was sent has closed its ask, once.
pub(super) fn answer(world: &World, run: &str, ask: &str) -> anyhow::Result<()> {
    let key = (run.to_owned(), ask.to_owned());
    let given = world.ledger().answers.get(&key).cloned().context("nobody answered that")?;
    let closing = |event: Event| {
        let EventKind::AskClosed { ask: closed, answer, .. } = event.kind else { return None };
        let answer = serde_json::to_value(answer).unwrap_or(Json::Null);
        (closed.as_str() == ask).then(|| answer.to_string())
    };
    let closed = logs::events(&world.folder(run))?.into_iter().filter_map(closing);
    let closed: Vec<String> = closed.collect();
    match &closed[..] {
        [one] if one.contains(&given.word) => Ok(()),
        others => Err(Broken::error(
            Promise::Asks,
            format!("{ask} of {run} was answered with {given:?}, and its log has {others:?}"),
        )),
    }
}
