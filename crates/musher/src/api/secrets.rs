//! The secrets of runs, for those who show or land what agents have written.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use musher_core::{RunId, StoryId};
use musher_runtime::Secrets;

use super::Api;
use super::problem::Problem;
use crate::git::{Branch, Diff, DiffScope, GitError};
use crate::journal::RunsQuery;
use crate::secrets;
use crate::worktree::Lane;

impl Api {
    /// What must not be seen of some runs.
    pub(super) async fn secrets(&self, runs: &[RunId]) -> Result<Secrets, Problem> {
        let folders: Vec<_> = runs.iter().map(|run| self.bus.folder(*run)).collect();
        let api = self.clone();
        self.blocking(move || {
            let token = Some(api.access.owner_token());
            secrets::of_runs(&api.checked.environment, token, &folders)
        })
        .await
    }

    /// Refuses to land a branch of a story that adds secrets, with their places.
    pub(super) async fn no_secrets_in(
        &self,
        story: &StoryId,
        branch: Option<u32>,
    ) -> Result<(), Problem> {
        let query = RunsQuery { story: Some(story.clone()), ..RunsQuery::default() };
        let runs = self.view(move |views| views.runs(&query)).await?.runs;
        let ending = branch.map(|number| format!("/{number}"));
        let wanted = |name: &String| ending.as_ref().is_none_or(|ending| name.ends_with(ending));
        let branches: BTreeSet<String> =
            runs.iter().filter_map(|run| run.branch.clone()).filter(wanted).collect();
        let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        let secrets = self.secrets(&ids).await?;
        for name in branches {
            let name = Branch::new(name).map_err(GitError::from)?;
            let (of, base) = (name.clone(), self.base_branch.clone());
            let look =
                self.slots.apart(Lane::Repository, "the look for secrets", async move |slots| {
                    let git = slots.git();
                    // A branch that is gone is refused where it is looked for.
                    let (base, Some(tip)) = git.resolve_with(&base, &of).await? else {
                        return Ok::<_, Problem>(Diff::default());
                    };
                    let limits = secrets::LOOKED_THROUGH;
                    Ok(git.diff_of(&base, &tip, DiffScope::Whole, limits).await?)
                });
            let found = secrets::find(&look.await?, &secrets);
            if !found.is_empty() {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "secrets_found",
                    format!("branch {name} holds secrets: {}", secrets::told(&found)),
                    "take them out of its commits, or merge all the same with `musher merge --with-secrets` \
                     (`with_secrets` in the body)",
                ));
            }
        }
        Ok(())
    }
}
