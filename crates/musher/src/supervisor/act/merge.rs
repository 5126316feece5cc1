//! Merges a branch into the project's own. The pool lets one merge go on at a time.

use super::{Performer, named};
use crate::journal::RunsQuery;
use musher_core::pool::{PoolInput, TextKey};
use musher_core::{BranchRef, CommandId, StoryId};
use musher_git::worktree::{Lane, WorktreeError};
use musher_git::{Author, Branch, Commit, GitError, Merged};
use musher_os::fail;
use tracing::warn;

impl Performer {
    pub(super) async fn merge(&self, command: CommandId, branch: BranchRef) {
        fail::point("before_merge");
        let story = branch.story.clone();
        let merged = async {
            let title = self.ground.text(&TextKey::StoryTitle(story.clone()));
            let title = title.ok().flatten().unwrap_or_default();
            let message = format!("Merge story {story}: {title}\n");
            let base = self.ground.base_of(&branch).map_err(|error| error.to_string())?;
            let branch = named(&branch).map_err(|error| error.to_string())?;
            let from = branch.clone();
            let done = self.ground.slots.apart(Lane::Repository, "the merge", async move |slots| {
                let git = slots.git();
                let tip = git.resolve(&from).await?;
                let merged = git.merge(&base, &tip, &message, &Author::musher()).await;
                Ok::<_, WorktreeError>((tip, merged))
            });
            let (tip, done) = done.await.map_err(|error| error.to_string())?;
            // People know the branch by its name.
            let named = |error: GitError| error.to_string().replace(tip.as_str(), branch.as_str());
            match done.map_err(named)? {
                Merged::Merged(merge) => Ok(merge.commit.to_string()),
                Merged::Nothing { .. } if self.is_untouched(&story, &branch, &tip) => {
                    Err(format!("branch {branch} has no commit of its own"))
                }
                Merged::Nothing { tip } => Ok(tip.to_string()),
            }
        };
        let result = merged.await;
        fail::point("after_merge");
        self.tell(PoolInput::Merged { command, story, result }).await;
    }

    /// Whether a branch still stands where its first run began.
    fn is_untouched(&self, story: &StoryId, branch: &Branch, tip: &Commit) -> bool {
        let query = RunsQuery { story: Some(story.clone()), ..RunsQuery::default() };
        let runs = self.ground.views.runs(&query).map(|page| page.runs).unwrap_or_else(|error| {
            warn!(cause = %error, "runs of the story cannot be read; it counts as worked on");
            Vec::new()
        });
        let on_it = runs.iter().filter(|run| run.branch.as_deref() == Some(branch.as_str()));
        let first = on_it.min_by_key(|run| run.id);
        first.is_some_and(|run| run.head.as_deref() == Some(tip.as_str()))
    }
}
