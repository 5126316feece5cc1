//! What a run has changed, looked at with git on a thread of its own.

use musher_client::api::ApiLineCount;
use musher_core::RunId;
use musher_git::worktree::{Lane, WorktreeError, WorktreeSlots};
use musher_git::{Branch, Commit, DiffLimits, DiffScope, Git, GitError};

use super::Watch;
use crate::journal::RunView;

/// What the changes are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Where the branch left the project's own.
    Base,
    /// Where this run began.
    Start,
}

/// Why changes cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangesError {
    #[error("run {run} has not begun")]
    NotStarted { run: RunId },
    #[error("the branch {branch} of run {run} is no longer there")]
    NoBranch { branch: Branch, run: RunId },
    #[error("the run has changed no file of that name")]
    NoSuchFile,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
}

/// Where changes are looked for.
pub(crate) struct ChangesPlace {
    slots: WorktreeSlots,
    base: Branch,
}

impl Watch {
    /// The branch that the work of a run is merged into.
    pub(crate) fn base_of(&self, run: &RunView) -> Branch {
        let own = run.base.clone().and_then(|base| Branch::new(base).ok());
        own.unwrap_or_else(|| self.base_branch.clone())
    }

    /// Looks at the changes of a run, on a thread of its own: the agent may have put anything there.
    pub(crate) async fn look_at<T: Send + 'static, F: Future<Output = Result<T, ChangesError>>>(
        &self,
        run: &RunView,
        look: impl FnOnce(ChangesPlace) -> F + Send + 'static,
    ) -> Result<T, ChangesError> {
        let lane = run.slot.map_or(Lane::Repository, Lane::Look);
        let base = self.base_of(run);
        let apart = self
            .slots
            .apart(lane, "a look at changes", move |slots| look(ChangesPlace { slots, base }));
        apart.await
    }
}

/// The two commits between which the changes of a run lie.
#[derive(Debug)]
pub(crate) struct ChangeEnds {
    from: Commit,
    tip: Commit,
    /// The tip stands for files that are not committed yet.
    pub(crate) uncommitted: bool,
}

impl ChangeEnds {
    pub(crate) async fn of(
        here: &ChangesPlace,
        run: &RunView,
        branch: &Branch,
        head: Commit,
        since: Since,
    ) -> Result<Self, ChangesError> {
        if let Some(slot) = run.slot.filter(|_| run.ended_at.is_none()) {
            let from = match since {
                Since::Base => here.slots.git().resolve(&here.base).await?,
                Since::Start => head,
            };
            let tip = here.slots.snapshot(slot).await?;
            return Ok(Self { from, tip, uncommitted: true });
        }
        let git = here.slots.git();
        let (tip, from) = match since {
            Since::Start => (tip(git, run, branch).await?, head),
            Since::Base => {
                let (base, now) = git.resolve_with(&here.base, branch).await?;
                let tip = last_commit(run, branch, now)?;
                // Once the branch is merged, what it changed is only known from where the run began.
                let from = if git.contains(&base, &tip).await? { head } else { base };
                (tip, from)
            }
        };
        Ok(Self { from, tip, uncommitted: false })
    }

    pub(crate) async fn diff(
        &self,
        here: &ChangesPlace,
        scope: DiffScope<'_>,
        limits: DiffLimits,
    ) -> Result<musher_git::GitDiff, ChangesError> {
        Ok(here.slots.git().diff_of(&self.from, &self.tip, scope, limits).await?)
    }

    /// One file, which is looked for by the name that people see: git alone knows its bytes.
    pub(crate) async fn file(
        &self,
        here: &ChangesPlace,
        path: &str,
        context: u32,
    ) -> Result<musher_git::GitDiff, ChangesError> {
        let all = self.diff(here, DiffScope::Numbers, DiffLimits::NUMBERS).await?;
        let Some(file) = all.files.into_iter().find(|file| file.path.to_string() == path) else {
            return Err(ChangesError::NoSuchFile);
        };
        let scope = DiffScope::File { path: &file.path, old_path: file.old_path.as_ref(), context };
        self.diff(here, scope, DiffLimits::ONE_FILE).await
    }
}

/// How many lines a run has changed since its branch left the project's own.
pub(super) async fn count(watch: &Watch, run: &RunView) -> Result<ApiLineCount, ChangesError> {
    let (branch, head) = place(run)?;
    let asked = run.clone();
    let look = watch.look_at(run, async move |here| {
        let ends = ChangeEnds::of(&here, &asked, &branch, head, Since::Base).await?;
        ends.diff(&here, DiffScope::Numbers, DiffLimits::NUMBERS).await
    });
    let found = look.await?;
    Ok(ApiLineCount {
        added: found.files.iter().map(|file| file.added).sum(),
        removed: found.files.iter().map(|file| file.removed).sum(),
    })
}

/// The branch of a run, and the commit that it began at.
pub(crate) fn place(run: &RunView) -> Result<(Branch, Commit), ChangesError> {
    let (Some(branch), Some(head)) = (&run.branch, &run.head) else {
        return Err(ChangesError::NotStarted { run: run.id });
    };
    let branch = Branch::new(branch.clone()).map_err(GitError::from)?;
    Ok((branch, Commit::new(head.clone()).map_err(GitError::from)?))
}

/// The last commit of a run that is over.
async fn tip(git: &Git, run: &RunView, branch: &Branch) -> Result<Commit, ChangesError> {
    let now = match run.commit {
        Some(_) => None,
        None => git.tip(branch).await?,
    };
    last_commit(run, branch, now)
}

/// What the run committed at its end, else the tip that its branch has now.
fn last_commit(
    run: &RunView,
    branch: &Branch,
    now: Option<Commit>,
) -> Result<Commit, ChangesError> {
    if let Some(commit) = &run.commit {
        return Ok(Commit::new(commit.clone()).map_err(GitError::from)?);
    }
    now.ok_or_else(|| ChangesError::NoBranch { branch: branch.clone(), run: run.id })
}
