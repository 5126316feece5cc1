//! What a story may ask for, and whether its runs may begin.

use std::collections::{BTreeMap, BTreeSet};

use super::texts;
use crate::pool::{MAX_STORY_LINKS, Refusal, State, Team};
use crate::{BranchName, StoryId, StorySpec, StoryState, Wait};

/// What the names of branches begin with that nobody has chosen.
const OWN_FOLDER: &str = "musher";

/// The stories as they would be with some changes.
pub(super) struct WantedSpecs<'a> {
    state: &'a State,
    team: &'a Team,
    changed: BTreeMap<StoryId, StorySpec>,
}

impl<'a> WantedSpecs<'a> {
    pub(super) fn new(state: &'a State, team: &'a Team) -> Self {
        Self { state, team, changed: BTreeMap::new() }
    }

    pub(super) fn with(mut self, story: StoryId, spec: StorySpec) -> Self {
        self.changed.insert(story, spec);
        self
    }

    /// Refuses what cannot be had. A cycle is looked for only when all changes are known.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let mut branches: BTreeMap<&BranchName, &StoryId> = BTreeMap::new();
        for (story, spec) in self.all() {
            let Some(branch) = &spec.branch else { continue };
            if let Some(other) = branches.insert(branch, story) {
                let why = format!("{branch} is the branch of story {other} and of story {story}");
                return Err(texts::bad("branch", &why));
            }
        }
        for (story, spec) in &self.changed {
            self.check_one(story, spec)?;
        }
        match self.cycle() {
            Some(cycle) => Err(Refusal::AfterCycle { cycle }),
            None => Ok(()),
        }
    }

    fn check_one(&self, story: &StoryId, spec: &StorySpec) -> Result<(), Refusal> {
        for (what, count) in [("after", spec.after.len()), ("labels", spec.labels.len())] {
            if count > MAX_STORY_LINKS {
                let why = format!("has {count} entries; {MAX_STORY_LINKS} is the most");
                return Err(texts::bad(what, &why));
            }
        }
        let known = self.state.stories.get(story).map(|story| &story.spec.after);
        for before in spec.after.iter().filter(|it| known.is_none_or(|known| !known.contains(it))) {
            let done = self.state.archived_done.contains(before);
            if !done && !self.changed.contains_key(before) {
                super::stories::find(self.state, before)?;
            }
        }
        let old = self.state.stories.get(story).map(|story| &story.spec);
        // An agent that has left the team since is no reason against another change.
        if let Some(agent) =
            spec.agent.as_ref().filter(|_| old.is_none_or(|old| old.agent != spec.agent))
        {
            super::starts::seat(self.team, agent)?;
        }
        if spec.budget.is_some_and(|budget| budget.is_zero()) {
            return Err(texts::bad("budget", "is nothing; leave it out for none"));
        }
        let before = self.state.stories.get(story);
        if before.is_some_and(|before| {
            let old = &before.spec;
            before.branches > 0 && (&old.base, &old.branch) != (&spec.base, &spec.branch)
        }) {
            return Err(Refusal::BranchMade { story: story.clone() });
        }
        if let Some(branch) = &spec.branch {
            if spec.base.as_ref() == Some(branch) {
                return Err(texts::bad("branch", "is the base of the story"));
            }
            if branch.as_str() == OWN_FOLDER {
                return Err(texts::bad("branch", "would leave other stories without branches"));
            }
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = (&StoryId, &StorySpec)> {
        let kept = self.state.stories.iter().map(|(id, story)| (id, &story.spec));
        kept.filter(|(id, _)| !self.changed.contains_key(*id)).chain(&self.changed)
    }

    fn after(&self, story: &StoryId) -> Option<&BTreeSet<StoryId>> {
        let changed = self.changed.get(story);
        let spec = changed.or_else(|| Some(&self.state.stories.get(story)?.spec));
        spec.map(|spec| &spec.after)
    }

    fn before(&self, story: &StoryId) -> Vec<&StoryId> {
        self.after(story).into_iter().flatten().collect()
    }

    /// The way from a story back to itself, if there is one. Each story is looked at once.
    fn cycle(&self) -> Option<Vec<StoryId>> {
        let mut done: BTreeSet<&StoryId> = BTreeSet::new();
        for start in self.changed.keys() {
            let mut way = vec![(start, self.before(start))];
            let mut on_way = BTreeSet::from([start]);
            while let Some((story, rest)) = way.last_mut() {
                match rest.pop() {
                    None => {
                        on_way.remove(*story);
                        done.insert(*story);
                        way.pop();
                    }
                    Some(next) if done.contains(next) => {}
                    Some(next) if on_way.contains(next) => {
                        let from = way.iter().position(|(story, _)| *story == next)?;
                        let around = way.iter().skip(from).map(|(story, _)| *story);
                        return Some(around.chain([next]).cloned().collect());
                    }
                    Some(next) => {
                        on_way.insert(next);
                        way.push((next, self.before(next)));
                    }
                }
            }
        }
        None
    }
}

/// What keeps the runs of a story from beginning, beside places and the day's money.
pub(super) fn held_up(state: &State, id: &StoryId) -> Option<Wait> {
    let story = state.stories.get(id)?;
    let unmet = |before: &&StoryId| match state.stories.get(*before) {
        Some(before) => before.state == StoryState::Open,
        None => !state.archived_done.contains(*before),
    };
    if let Some(before) = story.spec.after.iter().find(unmet) {
        let story = before.clone();
        return Some(match state.stories.contains_key(before) {
            true => Wait::After { story },
            false => Wait::AfterArchived { story },
        });
    }
    match (story.spec.budget, state.left_of_story(id)) {
        (Some(cap), Some(left)) if left.is_zero() => Some(Wait::StoryBudget { cap }),
        _ => None,
    }
}
