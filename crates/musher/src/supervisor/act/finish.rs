//! Commits what a run left in its worktree, and looks for secrets in it.

use super::{Performer, named};
use crate::supervisor::place::RunPlace;
use musher_core::pool::{PoolInput, TextKey};
use musher_core::{BranchRef, RunId, SlotId};
use musher_os::fail;

impl Performer {
    pub(super) async fn finish(&self, run: RunId, slot: SlotId, branch: BranchRef) {
        fail::point("before_finish");
        let done = async {
            if !self.ground.settings.project().auto_commit {
                return Ok(None);
            }
            let title = self.ground.text(&TextKey::StoryTitle(branch.story.clone()));
            let title = title.ok().flatten().unwrap_or_default();
            let message = format!("{title}\n\nStory: {}\nRun: {run}\n", branch.story);
            let base = self.ground.base_of(&branch).map_err(|error| error.to_string())?;
            let branch = named(&branch).map_err(|error| error.to_string())?;
            let commit = match &self.place {
                RunPlace::Here(here) => here.finish(slot, &branch, message).await,
            };
            let commit = commit.map_err(|error| error.to_string())?;
            Ok(Some((commit, self.secrets_in(run, slot, base, branch).await)))
        };
        let (commit, error) = match done.await {
            Ok(None) => (None, None),
            Ok(Some((commit, warning))) => (commit.map(|commit| commit.to_string()), warning),
            Err(error) => (None, Some(error)),
        };
        fail::point("after_finish");
        self.tell(PoolInput::Finished { run, commit, error }).await;
    }
}
