//! Whether the finished work of stories would merge, looked at in the background and remembered by the two commits.
//!
//! A look takes a few calls of git, so it is taken at most every few seconds for a story that somebody looks at, and
//! for all of them when the branch of the project has moved: by a merge, or under the hand of somebody else, which is seen
//! in the files of git while somebody listens.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use musher_client::api::ApiConflict;
use musher_core::StoryId;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Watch;
use crate::journal::{StoryPhase, StoryView};
use musher_git::worktree::{Lane, WorktreeError};
use musher_git::{Branch, Commit, GitError, MergeForecast, Traces};

/// A story is not looked at more often than this.
const STORY_RECHECK_INTERVAL: Duration = Duration::from_secs(2);
/// How often the files of the project's branch are looked at.
const BRANCH_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Stories that are remembered, and that may wait for a look.
const REMEMBERED: usize = 2_000;
/// How many files are named.
const NAMED: usize = 50;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Conflicts(Mutex<Looked>);

#[derive(Debug, Default)]
struct Looked {
    known: HashMap<StoryId, Known>,
    waiting: VecDeque<StoryId>,
    /// Somebody looks.
    looking: bool,
}

#[derive(Debug, Clone)]
struct Known {
    /// The base and the tip that were looked at; none if they could not be found.
    heads: Option<(Commit, Commit)>,
    conflict: Option<ApiConflict>,
    at: Instant,
}

impl Conflicts {
    fn looked(&self) -> MutexGuard<'_, Looked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// What would not merge of a story, as far as that is known; it is looked at again if that was a while ago.
    pub(crate) fn conflict_of(&self, story: &StoryView) -> Option<ApiConflict> {
        let is_finished = match &story.latest {
            Some(latest) => latest.begun && latest.phase.is_over(),
            None => false,
        };
        if !is_finished || story.merged.is_some() || story.state == StoryPhase::Archived {
            return None;
        }
        let known = self.conflicts.looked().known.get(&story.id).cloned();
        if known.as_ref().is_none_or(|known| known.at.elapsed() >= STORY_RECHECK_INTERVAL) {
            self.look_for_conflicts([story.id.clone()]);
        }
        known.and_then(|known| known.conflict)
    }

    /// The branch of the project has moved, so that what merged before may not merge now.
    pub(crate) fn base_has_moved(&self) {
        let known: Vec<StoryId> = self.conflicts.looked().known.keys().cloned().collect();
        self.look_for_conflicts(known);
    }

    /// Sees when somebody else moves the branch of the project, such as a person who commits there. It never ends, and
    /// is meant for as long as somebody listens.
    pub(crate) async fn watch_base(&self) {
        let mut before: Option<Traces> = None;
        let mut ticks = interval(BRANCH_POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let base = self.base_branch.clone();
            let look = async move |slots: musher_git::worktree::WorktreeSlots| {
                Ok::<_, WorktreeError>(slots.git().traces(&base))
            };
            let looked = self.slots.apart(Lane::Repository, "a look at a branch", look).await;
            // A disk that does not answer is reported by the commands that need it.
            let Ok(now) = looked else { continue };
            if before.replace(now.clone()).is_some_and(|before| before != now) {
                self.base_has_moved();
            }
        }
    }

    fn look_for_conflicts(&self, stories: impl IntoIterator<Item = StoryId>) {
        let mut looked = self.conflicts.looked();
        for story in stories {
            if !looked.waiting.contains(&story) && looked.waiting.len() < REMEMBERED {
                looked.waiting.push_back(story);
            }
        }
        if !looked.waiting.is_empty() && !std::mem::replace(&mut looked.looking, true) {
            let (watch, closing) = (self.clone(), self.closing.clone());
            self.tasks.spawn(async move {
                tokio::select! {
                    () = watch.look_at_all() => {}
                    () = closing.cancelled() => {}
                }
            });
        }
    }

    async fn look_at_all(&self) {
        while let Some(story) = self.next_story() {
            let began = Instant::now();
            let before = self.conflicts.looked().known.get(&story).cloned();
            let heads = before.as_ref().and_then(|known| known.heads.clone());
            let found = match self.look_at_merge(&story, heads).await {
                Ok(Found::Same) => {
                    before.clone().map(|known| Known { at: Instant::now(), ..known })
                }
                Ok(Found::New { heads, conflict }) => {
                    Some(Known { heads: Some(heads), conflict, at: Instant::now() })
                }
                // What cannot be looked at is told by the merge itself.
                Ok(Found::Gone) | Err(_) => {
                    Some(Known { heads: None, conflict: None, at: Instant::now() })
                }
            };
            let Some(found) = found else { continue };
            let is_news = before.and_then(|known| known.conflict) != found.conflict;
            let conflict = found.conflict.clone();
            {
                let mut looked = self.conflicts.looked();
                if looked.known.len() >= REMEMBERED {
                    looked.known.clear();
                }
                looked.known.insert(story.clone(), found);
            }
            if is_news {
                self.activities.mergeable(&story, conflict.as_ref());
            }
            // Others want the machine too.
            tokio::time::sleep(began.elapsed()).await;
        }
    }

    /// The next story to look at; none if there is none, and then nobody looks.
    fn next_story(&self) -> Option<StoryId> {
        let mut looked = self.conflicts.looked();
        let next = looked.waiting.pop_front();
        looked.looking = next.is_some();
        next
    }

    /// Looks on a thread of its own whether a story would merge now.
    async fn look_at_merge(
        &self,
        story: &StoryId,
        before: Option<(Commit, Commit)>,
    ) -> Result<Found, WorktreeError> {
        let wanted = story.clone();
        let run = self.view(move |views| views.latest_run(&wanted, None)).await;
        let Some(run) = run.ok().flatten() else { return Ok(Found::Gone) };
        let into = self.base_of(&run);
        let Some(branch) = run.branch else { return Ok(Found::Gone) };
        let branch = Branch::new(branch).map_err(GitError::from)?;
        let look = async move |slots: musher_git::worktree::WorktreeSlots| {
            let git = slots.git();
            let (base, Some(tip)) = git.resolve_with(&into, &branch).await? else {
                return Ok(Found::Gone);
            };
            if before.as_ref().is_some_and(|(b, t)| *b == base && *t == tip) {
                return Ok(Found::Same);
            }
            let conflict = match git.contains(&base, &tip).await? {
                true => None,
                false => match git.merge_check(&base, &tip).await? {
                    MergeForecast::Clean { .. } => None,
                    MergeForecast::Conflicts { files } => {
                        let names: BTreeSet<String> =
                            files.iter().map(|file| file.path.to_string()).collect();
                        Some(ApiConflict { files: names.into_iter().take(NAMED).collect() })
                    }
                },
            };
            Ok(Found::New { heads: (base, tip), conflict })
        };
        self.slots.apart(Lane::Repository, "a look at a merge", look).await
    }
}

/// What a look found.
enum Found {
    /// Neither branch has moved since the last look.
    Same,
    New {
        heads: (Commit, Commit),
        conflict: Option<ApiConflict>,
    },
    /// There is no branch to merge.
    Gone,
}
