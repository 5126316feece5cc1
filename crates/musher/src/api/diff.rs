//! `GET /runs/{run}/diff`: what a run's branch changes, file by file and line by line.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use musher_core::RunId;
use musher_core::pool::{Refusal, SecretPlace};
use musher_os::untrusted::Unfit;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::file_diff::{Budget, FileDiffReply};
use super::problem::ProblemReply;
use super::request::{OfRun, Params};
use crate::journal::{LineCount, RunView};
use crate::secrets;
use musher_git::worktree::{Lane, WorktreeError, WorktreeSlots};
use musher_git::{self, Branch, Commit, DiffLimits, DiffScope, Git, GitError};

/// Lines around a change when nobody says, and at most.
const CONTEXT: u32 = 3;
const MAX_CONTEXT_LINES: u32 = 200_000;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffParams {
    /// Since when; since the branch left the project's own when left out.
    #[param(inline)]
    since: Option<Since>,
    /// `only` for every file with its numbers and without its lines.
    #[param(inline)]
    files: Option<FileDetail>,
    /// One file alone, by the path that the list of files gives it.
    path: Option<String>,
    /// With `path`: how many lines are shown around each change (3 when left out).
    context: Option<u32>,
}

/// How much is told of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileDetail {
    Only,
}

/// What the changes are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Since {
    /// Where the branch left the project's own.
    Base,
    /// Where this run began.
    Start,
}

/// What a run's branch changes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DiffReply {
    #[schema(value_type = String)]
    run: RunId,
    branch: String,
    since: Since,
    /// Whether what is not committed yet is in it, as long as the run has its worktree.
    uncommitted: bool,
    added: u64,
    removed: u64,
    files: Vec<FileDiffReply>,
    /// Files or lines are missing, because there were too many.
    truncated: bool,
    /// Where the lines that were added hold secrets of the run or of the server; in the lines themselves they are hidden.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<SecretFound>,
}

/// A line that holds a secret.
#[derive(Debug, Serialize, ToSchema)]
struct SecretFound {
    path: String,
    /// The number of the line in the file as it is now.
    line: u64,
    /// What the secret goes by, such as its variable. Its value is never told.
    name: String,
}

impl From<SecretPlace> for SecretFound {
    fn from(place: SecretPlace) -> Self {
        let SecretPlace { path, line, name } = place;
        Self { path, line, name }
    }
}

#[utoipa::path(
    get,
    path = "/runs/{run}/diff",
    tag = "runs",
    operation_id = "diff",
    summary = "What a run's branch changes",
    params(OfRun, DiffParams),
    responses((status = 200, body = DiffReply), ProblemReply)
)]
pub(super) async fn diff(
    State(api): State<Api>,
    OfRun(name): OfRun,
    Params(params): Params<DiffParams>,
) -> Result<Json<DiffReply>, ProblemReply> {
    let run = api.run(&name).await?;
    let since = params.since.unwrap_or(Since::Base);
    let (branch, head) = place(&run)?;
    let (asked, of) = (run.clone(), branch.clone());
    let look = api.look_at(&run, async move |here| {
        let ends = Ends::of(&here, &asked, &of, head, since).await?;
        let found = match (&params.path, params.files) {
            (Some(path), _) => {
                let context = params.context.unwrap_or(CONTEXT).min(MAX_CONTEXT_LINES);
                ends.file(&here, path, context).await?
            }
            (None, Some(FileDetail::Only)) => {
                ends.diff(&here, DiffScope::Numbers, DiffLimits::NUMBERS).await?
            }
            (None, None) => ends.diff(&here, DiffScope::Whole, DiffLimits::default()).await?,
        };
        Ok((ends, found))
    });
    let (ends, mut found) = look.await?;
    let secrets = api.secrets(&[run.id]).await?;
    let reply = move || {
        let places = secrets::find(&found, &secrets);
        secrets::hide(&mut found, &secrets);
        let reply = DiffReply::new(&run, &branch, since, ends.uncommitted, found);
        let secrets = places.into_iter().map(SecretFound::from).collect();
        DiffReply { secrets, ..reply }
    };
    Ok(Json(api.blocking(reply).await?))
}

/// Where changes are looked for.
struct Here {
    slots: WorktreeSlots,
    base: Branch,
}

impl Api {
    /// Looks at the changes of a run, on a thread of its own: the agent may have put anything there.
    async fn look_at<T: Send + 'static, F: Future<Output = Result<T, ProblemReply>>>(
        &self,
        run: &RunView,
        look: impl FnOnce(Here) -> F + Send + 'static,
    ) -> Result<T, ProblemReply> {
        let lane = run.slot.map_or(Lane::Repository, Lane::Look);
        let base = self.base_branch.clone();
        let apart =
            self.slots.apart(lane, "a look at changes", move |slots| look(Here { slots, base }));
        apart.await
    }
}

/// The two commits between which the changes of a run lie.
#[derive(Debug)]
struct Ends {
    from: Commit,
    tip: Commit,
    /// The tip stands for files that are not committed yet.
    uncommitted: bool,
}

impl Ends {
    async fn of(
        here: &Here,
        run: &RunView,
        branch: &Branch,
        head: Commit,
        since: Since,
    ) -> Result<Self, ProblemReply> {
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

    async fn diff(
        &self,
        here: &Here,
        scope: DiffScope<'_>,
        limits: DiffLimits,
    ) -> Result<musher_git::GitDiff, ProblemReply> {
        Ok(here.slots.git().diff_of(&self.from, &self.tip, scope, limits).await?)
    }

    /// One file, which is looked for by the name that people see: git alone knows its bytes.
    async fn file(
        &self,
        here: &Here,
        path: &str,
        context: u32,
    ) -> Result<musher_git::GitDiff, ProblemReply> {
        let all = self.diff(here, DiffScope::Numbers, DiffLimits::NUMBERS).await?;
        let Some(file) = all.files.into_iter().find(|file| file.path.to_string() == path) else {
            return Err(ProblemReply::new(
                StatusCode::NOT_FOUND,
                "no_such_file",
                "the run has changed no file of that name",
                "take a path from the list of files",
            ));
        };
        let scope = DiffScope::File { path: &file.path, old_path: file.old_path.as_ref(), context };
        self.diff(here, scope, DiffLimits::ONE_FILE).await
    }
}

/// How many lines a run has changed since its branch left the project's own.
pub(super) async fn count(api: &Api, run: &RunView) -> Result<LineCount, ProblemReply> {
    let (branch, head) = place(run)?;
    let asked = run.clone();
    let look = api.look_at(run, async move |here| {
        let ends = Ends::of(&here, &asked, &branch, head, Since::Base).await?;
        ends.diff(&here, DiffScope::Numbers, DiffLimits::NUMBERS).await
    });
    let found = look.await?;
    Ok(LineCount {
        added: found.files.iter().map(|file| file.added).sum(),
        removed: found.files.iter().map(|file| file.removed).sum(),
    })
}

/// The branch of a run, and the commit that it began at.
fn place(run: &RunView) -> Result<(Branch, Commit), ProblemReply> {
    let (Some(branch), Some(head)) = (&run.branch, &run.head) else {
        return Err(Refusal::NotStarted { run: run.id }.into());
    };
    let branch = Branch::new(branch.clone()).map_err(GitError::from)?;
    Ok((branch, Commit::new(head.clone()).map_err(GitError::from)?))
}

/// The last commit of a run that is over.
async fn tip(git: &Git, run: &RunView, branch: &Branch) -> Result<Commit, ProblemReply> {
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
) -> Result<Commit, ProblemReply> {
    if let Some(commit) = &run.commit {
        return Ok(Commit::new(commit.clone()).map_err(GitError::from)?);
    }
    now.ok_or_else(|| {
        ProblemReply::new(
            StatusCode::NOT_FOUND,
            "no_branch",
            format!("the branch {branch} of run {} is no longer there", run.id),
            "look among the recovery refs: `git for-each-ref refs/musher/recovery`",
        )
    })
}

impl DiffReply {
    fn new(
        run: &RunView,
        branch: &Branch,
        since: Since,
        uncommitted: bool,
        diff: musher_git::GitDiff,
    ) -> Self {
        let mut budget = Budget::default();
        Self {
            run: run.id,
            branch: branch.as_str().to_owned(),
            since,
            uncommitted,
            added: diff.files.iter().map(|file| file.added).sum(),
            removed: diff.files.iter().map(|file| file.removed).sum(),
            truncated: diff.truncated,
            secrets: Vec::new(),
            files: diff
                .files
                .into_iter()
                .map(|it| FileDiffReply::of_git(it, &mut budget))
                .collect(),
        }
    }
}

impl From<GitError> for ProblemReply {
    fn from(error: GitError) -> Self {
        if let GitError::Unfit(unfit) = &error {
            return Self::unfit(unfit);
        }
        match error.is_retryable() {
            true => Self::busy("git_busy", error.to_string(), 2),
            false => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "git_failed",
                error.to_string(),
                "look at the repository with git",
            ),
        }
    }
}

impl ProblemReply {
    /// Something stands where a file or a folder of the worktree should be.
    fn unfit(unfit: &Unfit) -> Self {
        let told = unfit.to_string();
        let (what, fix) = told.rsplit_once("; ").unwrap_or((&told, "look at the worktree"));
        let (what, fix) = (what.to_owned(), fix.to_owned());
        Self::new(StatusCode::CONFLICT, "worktree_unreadable", what, fix)
    }
}

impl From<WorktreeError> for ProblemReply {
    fn from(error: WorktreeError) -> Self {
        match error {
            WorktreeError::Git(error) => error.into(),
            WorktreeError::Replaced { why, .. } => Self::unfit(&why),
            WorktreeError::Folder { .. }
            | WorktreeError::NoSlot { .. }
            | WorktreeError::NotHolding { .. }
            | WorktreeError::Unfinished { .. }
            | WorktreeError::Copy { .. }
            | WorktreeError::Io { .. } => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "worktree_unreadable",
                error.to_string(),
                "look at the worktree",
            ),
        }
    }
}
