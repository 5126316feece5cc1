//! `GET /runs/{run}/diff`: what a run's branch changes, file by file and line by line.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use musher_client::api::{ApiDiff, ApiSecretFound, ApiSince, word};
use musher_core::pool::{Refusal, SecretPlace};
use musher_os::untrusted::Unfit;
use musher_runtime::ProjectFile;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::api::request::{OfRun, Params};
use crate::api::runs::file_diff::{Budget, of_git};
use crate::journal::RunView;
use crate::runtimes;
use crate::secrets;
use crate::watch::changes::{ChangeEnds, ChangesError, Since, place};
use musher_git::worktree::WorktreeError;
use musher_git::{Branch, DiffLimits, DiffScope, GitError};

/// Lines around a change when nobody says, and at most.
const CONTEXT: u32 = 3;
const MAX_CONTEXT_LINES: u32 = 200_000;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct DiffParams {
    /// Since when; since the branch left the project's own when left out.
    #[param(inline)]
    since: Option<ApiSince>,
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
pub(in crate::api) enum FileDetail {
    Only,
}

fn secret_found(SecretPlace { path, line, name }: SecretPlace) -> ApiSecretFound {
    ApiSecretFound { path, line, name }
}

#[utoipa::path(
    get,
    path = "/runs/{run}/diff",
    tag = "runs",
    operation_id = "diff",
    summary = "What a run's branch changes",
    params(OfRun, DiffParams),
    responses((status = 200, body = ApiDiff), ProblemReply)
)]
pub(in crate::api) async fn diff(
    State(api): State<Api>,
    OfRun(name): OfRun,
    Params(params): Params<DiffParams>,
) -> Result<Json<ApiDiff>, ProblemReply> {
    let run = api.run(&name).await?;
    let since = match params.since {
        Some(ApiSince::Start) => Since::Start,
        Some(ApiSince::Base) | None => Since::Base,
    };
    let (branch, head) = place(&run)?;
    let (asked, of) = (run.clone(), branch.clone());
    let look = api.look_at(&run, async move |here| {
        let ends = ChangeEnds::of(&here, &asked, &of, head, since).await?;
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
    let project = api.settings.project();
    let reply = move || {
        let places = secrets::find(&found, &secrets);
        secrets::hide(&mut found, &secrets);
        let files = runtimes::project_files(&project.runtimes);
        let reply = changes_now(&run, &branch, since, ends.uncommitted, found, &files);
        let secrets = places.into_iter().map(secret_found).collect();
        ApiDiff { secrets, ..reply }
    };
    Ok(Json(api.blocking(reply).await?))
}

fn changes_now(
    run: &RunView,
    branch: &Branch,
    since: Since,
    uncommitted: bool,
    diff: musher_git::GitDiff,
    taken: &[ProjectFile],
) -> ApiDiff {
    let mut budget = Budget::default();
    ApiDiff {
        run: run.id.to_string(),
        branch: branch.as_str().to_owned(),
        since: match since {
            Since::Base => word(&ApiSince::Base),
            Since::Start => word(&ApiSince::Start),
        },
        uncommitted,
        added: diff.files.iter().map(|file| file.added).sum(),
        removed: diff.files.iter().map(|file| file.removed).sum(),
        truncated: diff.truncated,
        secrets: Vec::new(),
        files: diff.files.into_iter().map(|file| of_git(file, taken, &mut budget)).collect(),
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
            | WorktreeError::NoSandboxes
            | WorktreeError::Io { .. } => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "worktree_unreadable",
                error.to_string(),
                "look at the worktree",
            ),
        }
    }
}

impl From<ChangesError> for ProblemReply {
    fn from(error: ChangesError) -> Self {
        let told = error.to_string();
        match error {
            ChangesError::NotStarted { run } => Refusal::NotStarted { run }.into(),
            ChangesError::NoBranch { .. } => Self::new(
                StatusCode::NOT_FOUND,
                "no_branch",
                told,
                "look among the recovery refs: `git for-each-ref refs/musher/recovery`",
            ),
            ChangesError::NoSuchFile => Self::new(
                StatusCode::NOT_FOUND,
                "no_such_file",
                told,
                "take a path from the list of files",
            ),
            ChangesError::Git(error) => error.into(),
            ChangesError::Worktree(error) => error.into(),
        }
    }
}
