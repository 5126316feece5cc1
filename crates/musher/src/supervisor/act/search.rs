//! Searches the work of runs for secrets: at the end of a run, and before a branch is merged.

use super::{Performer, named};
use crate::journal::RunsQuery;
use crate::secrets;
use crate::supervisor::place::RunPlace;
use musher_core::pool::{PoolInput, SecretPlace};
use musher_core::{BranchRef, CommandId, RunId, SlotId};
use musher_git::worktree::{Lane, WorktreeError};
use musher_git::{Branch, DiffScope, GitDiff};

impl Performer {
    /// Searches a branch that is to be merged. What follows from the places is for the pool to decide.
    pub(super) async fn search(&self, command: CommandId, branch: BranchRef) {
        let story = branch.story.clone();
        let found = async {
            let base = self.ground.base_of(&branch).map_err(|error| error.to_string())?;
            let name = named(&branch).map_err(|error| error.to_string())?;
            let diff = self.added(Lane::Repository, base, name).await;
            let diff = diff.map_err(|error| error.to_string())?;
            let query = RunsQuery { story: Some(story.clone()), ..RunsQuery::default() };
            let views = self.ground.views.clone();
            let runs = tokio::task::spawn_blocking(move || views.runs(&query)).await;
            let runs =
                runs.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
            self.found(diff, runs.runs.iter().map(|run| run.id).collect()).await
        };
        let result = found.await;
        self.tell(PoolInput::Searched { command, story, result }).await;
    }

    /// What the end of a run says of secrets in what its branch adds.
    pub(super) async fn secrets_in(
        &self,
        run: RunId,
        slot: SlotId,
        base: Branch,
        branch: Branch,
    ) -> Option<String> {
        let found = match self.added(Lane::Slot(slot), base, branch).await {
            Ok(diff) if diff.files.is_empty() => return None,
            Ok(diff) => self.found(diff, vec![run]).await,
            Err(error) => Err(error.to_string()),
        };
        match found {
            Ok(places) if places.is_empty() => None,
            Ok(places) => {
                let list = SecretPlace::list(&places);
                Some(format!("{}{list}; take them out before the merge", secrets::NOTE))
            }
            Err(error) => Some(format!("the work was not looked through for secrets: {error}")),
        }
    }

    /// What a branch adds to the base. A branch that is gone adds nothing; the merge itself reports it.
    async fn added(
        &self,
        lane: Lane,
        base: Branch,
        branch: Branch,
    ) -> Result<GitDiff, WorktreeError> {
        let look = self.ground.slots.apart(lane, "the search for secrets", async move |slots| {
            let git = slots.git();
            match git.resolve_with(&base, &branch).await? {
                (base, Some(tip)) if base != tip => {
                    let limits = secrets::SECRET_SCAN_LIMITS;
                    Ok(git.diff_of(&base, &tip, DiffScope::Whole, limits).await?)
                }
                _ => Ok::<_, WorktreeError>(GitDiff::default()),
            }
        });
        look.await
    }

    /// Where a diff holds secrets of these runs or of the server.
    async fn found(&self, diff: GitDiff, runs: Vec<RunId>) -> Result<Vec<SecretPlace>, String> {
        let place = self.place.clone();
        let find = tokio::task::spawn_blocking(move || {
            let secrets = match place {
                RunPlace::Here(here) => here.secrets(&runs)?,
            };
            Ok(secrets::find(&diff, &secrets))
        });
        find.await.map_err(|error| error.to_string())?
    }
}
