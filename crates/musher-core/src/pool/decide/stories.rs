//! What becomes of a story: added, edited, done, reopened, archived, merged.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::spec::WantedSpecs;
use super::{restarts, texts};
use crate::pool::{
    Action, CommandReply, Fact, MAX_STORIES_PUT, PendingMerge, Refusal, SecretPlace, SecretScan,
    Slot, SlotCondition, State, TextKey, WholeStory,
};
use crate::{CommandId, RunId, Story, StoryId, StorySpec, StorySpecChange, StoryState, Variables};

pub(super) fn add(
    draft: &mut Draft<'_>,
    id: Option<StoryId>,
    title: &str,
    text: String,
    context: &Variables,
    spec: StorySpec,
) -> Result<CommandReply, Refusal> {
    let title = texts::title(title)?;
    let text = texts::text("text", text)?;
    let context = if context.is_empty() { None } else { Some(texts::context(context)?) };
    let story = match id {
        Some(story) if draft.base.is_taken(&story) => return Err(Refusal::StoryExists { story }),
        Some(story) => fit_id(story)?,
        None => draft.base.next_story(),
    };
    WantedSpecs::new(draft.base, draft.team).with(story.clone(), spec.clone()).check()?;
    draft.keep_text(TextKey::StoryTitle(story.clone()), title);
    draft.keep_text(TextKey::StoryText(story.clone()), text);
    if let Some(context) = context {
        draft.keep_text(TextKey::StoryContext(story.clone()), context);
    }
    draft.put(Fact::StoryAdded { story: story.clone() });
    if !spec.is_usual() {
        draft.put(Fact::StorySpecSet { story: story.clone(), spec });
    }
    Ok(CommandReply::Story(story))
}

/// An id that a person has chosen for a story.
fn fit_id(story: StoryId) -> Result<StoryId, Refusal> {
    match RunId::parse(story.as_str()) {
        // A person who types it could not say which is meant.
        Ok(_) => Err(texts::bad("id", &format!("{story} is how runs are called"))),
        Err(_) => Ok(story),
    }
}

/// Adds stories, and makes those that are there already like these; all of them or none.
pub(super) fn put(
    draft: &mut Draft<'_>,
    stories: Vec<WholeStory>,
) -> Result<CommandReply, Refusal> {
    if stories.len() > MAX_STORIES_PUT {
        let why = format!("are {}; {MAX_STORIES_PUT} is the most at once", stories.len());
        return Err(texts::bad("stories", &why));
    }
    let mut wanted = WantedSpecs::new(draft.base, draft.team);
    let (mut named, mut fit) = (BTreeSet::new(), Vec::new());
    for WholeStory { id, title, text, context, spec } in stories {
        if draft.base.archived.contains(&id) {
            return Err(Refusal::StoryArchived { story: id });
        }
        let id = fit_id(id)?;
        if !named.insert(id.clone()) {
            return Err(texts::bad("id", &format!("{id} stands there twice")));
        }
        wanted = wanted.with(id.clone(), spec.clone());
        let (title, text) = (texts::title(&title)?, texts::text("text", text)?);
        fit.push((id, title, text, texts::context(&context)?, spec));
    }
    wanted.check()?;
    for (story, title, text, context, spec) in fit {
        let before = draft.base.stories.get(&story).map(|story| &story.spec);
        draft.put(match before {
            Some(_) => Fact::StoryEdited { story: story.clone() },
            None => Fact::StoryAdded { story: story.clone() },
        });
        draft.keep_text(TextKey::StoryTitle(story.clone()), title);
        draft.keep_text(TextKey::StoryText(story.clone()), text);
        draft.keep_text(TextKey::StoryContext(story.clone()), context);
        if before.map_or(!spec.is_usual(), |before| *before != spec) {
            draft.put(Fact::StorySpecSet { story, spec });
        }
    }
    Ok(CommandReply::Done)
}

pub(super) fn edit(
    draft: &mut Draft<'_>,
    story: StoryId,
    title: Option<String>,
    text: Option<String>,
    context: Option<Variables>,
    change: StorySpecChange,
) -> Result<CommandReply, Refusal> {
    let before = &find(draft.base, &story)?.spec;
    let spec = change.of(before);
    let spec = (spec != *before).then_some(spec);
    if let Some(spec) = &spec {
        WantedSpecs::new(draft.base, draft.team).with(story.clone(), spec.clone()).check()?;
    }
    let title = title.map(|title| texts::title(&title)).transpose()?;
    let text = text.map(|text| texts::text("text", text)).transpose()?;
    let context = context.map(|context| texts::context(&context)).transpose()?;
    let words = title.is_some() || text.is_some() || context.is_some();
    if let Some(title) = title {
        draft.keep_text(TextKey::StoryTitle(story.clone()), title);
    }
    if let Some(text) = text {
        draft.keep_text(TextKey::StoryText(story.clone()), text);
    }
    if let Some(context) = context {
        draft.keep_text(TextKey::StoryContext(story.clone()), context);
    }
    if words {
        draft.put(Fact::StoryEdited { story: story.clone() });
    }
    if let Some(spec) = spec {
        draft.put(Fact::StorySpecSet { story, spec });
    }
    Ok(CommandReply::Done)
}

pub(super) fn finish(draft: &mut Draft<'_>, story: StoryId) -> Result<CommandReply, Refusal> {
    match &find(draft.base, &story)?.state {
        StoryState::Done { .. } => Ok(CommandReply::Done),
        StoryState::Open => {
            idle(draft, &story)?;
            restarts::unpark(draft, |pair| pair.story == story);
            draft.put(Fact::StoryFinished { story });
            Ok(CommandReply::Done)
        }
    }
}

pub(super) fn reopen(draft: &mut Draft<'_>, story: StoryId) -> Result<CommandReply, Refusal> {
    match &find(draft.base, &story)?.state {
        StoryState::Open => {}
        StoryState::Done { .. } => draft.put(Fact::StoryReopened { story }),
    }
    Ok(CommandReply::Done)
}

pub(super) fn archive(draft: &mut Draft<'_>, story: StoryId) -> Result<CommandReply, Refusal> {
    find(draft.base, &story)?;
    idle(draft, &story)?;
    unmerged(draft.base, &story)?;
    restarts::unpark(draft, |pair| pair.story == story);
    for (slot, held) in draft.base.slots_of(&story) {
        if let Slot::Held { branch, .. } = held {
            draft.act(Action::Release { slot, branch: branch.clone() });
        }
    }
    draft.put(Fact::StoryArchived { story });
    Ok(CommandReply::Done)
}

pub(super) fn merge(
    draft: &mut Draft<'_>,
    command: &CommandId,
    story: StoryId,
    branch: Option<u32>,
    with_secrets: bool,
) -> Result<CommandReply, Refusal> {
    match &find(draft.base, &story)?.state {
        StoryState::Open | StoryState::Done { merged: None } => {}
        StoryState::Done { merged: Some(commit) } => {
            return Err(Refusal::StoryDone { story, merged: Some(commit.clone()) });
        }
    }
    idle(draft, &story)?;
    unmerged(draft.base, &story)?;
    let n = chosen(draft.base, &story, branch)?;
    let (command, branch) = (command.clone(), draft.base.branch_of(&story, n));
    let check = if with_secrets { SecretScan::Waived } else { SecretScan::Open };
    draft.put(Fact::MergeStarted { command: command.clone(), story, branch: n, check });
    match check {
        SecretScan::Open => draft.act(Action::SearchSecrets { command, branch }),
        SecretScan::Clean | SecretScan::Waived => merge_in_turn(draft, &command),
    }
    Ok(CommandReply::Offered)
}

/// The branch of a merge was searched. One that could not be searched is not merged either: nobody knows what it holds.
pub(super) fn searched(
    draft: &mut Draft<'_>,
    command: &CommandId,
    story: &StoryId,
    result: Result<Vec<SecretPlace>, String>,
) {
    let branch = match draft.base.merges.get(command) {
        Some(PendingMerge { branch, check: SecretScan::Open, .. }) if branch.story == *story => {
            branch.clone()
        }
        Some(_) | None => return,
    };
    let (command, story) = (command.clone(), story.clone());
    let refusal = match result {
        Ok(places) if places.is_empty() => {
            let (n, check) = (branch.n, SecretScan::Clean);
            draft.put(Fact::MergeStarted { command: command.clone(), story, branch: n, check });
            return merge_in_turn(draft, &command);
        }
        Ok(places) => Refusal::SecretsFound { branch, places },
        Err(why) => {
            let message = format!("branch {branch} could not be searched for secrets: {why}");
            Refusal::MergeFailed { story: story.clone(), message }
        }
    };
    let message = refusal.to_string();
    draft.settle(&command, Err(refusal));
    draft.put(Fact::MergeFailed { command: command.clone(), story, message });
    next_merge(draft, &command);
}

/// Merges a branch that may be merged, unless another merge is before it: that one's end lets it go on.
fn merge_in_turn(draft: &mut Draft<'_>, command: &CommandId) {
    if let Some(merge) = draft.state().merge_of(command) {
        draft.act(merge);
    }
}

/// A merge has ended. If it was the first in order, the next has its turn.
fn next_merge(draft: &mut Draft<'_>, ended: &CommandId) {
    let was_first = draft.base.merges_in_order().first().is_some_and(|(first, _)| *first == ended);
    let next = draft.state().merges_in_order().first().map(|(next, _)| (*next).clone());
    if let Some(next) = next.filter(|_| was_first) {
        merge_in_turn(draft, &next);
    }
}

/// The result of a merge.
pub(super) fn merged(
    draft: &mut Draft<'_>,
    command: &CommandId,
    story: &StoryId,
    result: Result<String, String>,
) {
    match draft.base.merges.get(command) {
        Some(merge) if merge.branch.story == *story => {}
        Some(_) | None => return,
    }
    let (command, story) = (command.clone(), story.clone());
    match result {
        Ok(commit) => {
            restarts::unpark(draft, |pair| pair.story == story);
            draft.settle(&command, Ok(CommandReply::Done));
            draft.put(Fact::StoryMerged { command: command.clone(), story, commit });
        }
        Err(message) => {
            let refusal = Refusal::MergeFailed { story: story.clone(), message: message.clone() };
            draft.settle(&command, Err(refusal));
            draft.put(Fact::MergeFailed { command: command.clone(), story, message });
        }
    }
    next_merge(draft, &command);
}

/// The story, if it is not archived.
pub(super) fn find<'a>(state: &'a State, story: &StoryId) -> Result<&'a Story, Refusal> {
    state.stories.get(story).ok_or_else(|| match state.archived.contains(story) {
        true => Refusal::StoryArchived { story: story.clone() },
        false => Refusal::NoSuchStory { story: story.clone() },
    })
}

/// That a story takes runs.
pub(super) fn takes_runs(state: &State, story: &StoryId) -> Result<(), Refusal> {
    match &find(state, story)?.state {
        StoryState::Open => unmerged(state, story),
        StoryState::Done { merged } => {
            Err(Refusal::StoryDone { story: story.clone(), merged: merged.clone() })
        }
    }
}

fn idle(draft: &Draft<'_>, story: &StoryId) -> Result<(), Refusal> {
    let runs: Vec<_> = draft.base.runs_of(story).map(|(run, _)| run).collect();
    match runs.is_empty() {
        true => Ok(()),
        false => Err(Refusal::StoryBusy { story: story.clone(), runs }),
    }
}

fn unmerged(state: &State, story: &StoryId) -> Result<(), Refusal> {
    match state.is_merging(story) {
        true => Err(Refusal::MergeUnderWay { story: story.clone() }),
        false => Ok(()),
    }
}

/// The branch to merge: the named one, or the only one.
fn chosen(state: &State, story: &StoryId, branch: Option<u32>) -> Result<u32, Refusal> {
    let worked_on = |slot: &Slot| match slot {
        Slot::Held { branch, condition: SlotCondition::Entered | SlotCondition::SetUp, .. } => {
            Some(branch.n)
        }
        Slot::Held { condition: SlotCondition::New, .. } | Slot::Free | Slot::Leaving { .. } => {
            None
        }
    };
    let mut branches: Vec<u32> =
        state.slots_of(story).filter_map(|(_, slot)| worked_on(slot)).collect();
    branches.sort_unstable();
    let story = story.clone();
    match (branch, branches.as_slice()) {
        (Some(n), known) if known.contains(&n) => Ok(n),
        (Some(branch), _) => Err(Refusal::NoSuchBranch { story, branch }),
        (None, [n]) => Ok(*n),
        (None, []) => Err(Refusal::NothingToMerge { story }),
        (None, _) => Err(Refusal::WhichBranch { story, branches }),
    }
}
