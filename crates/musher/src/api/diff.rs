//! `GET /runs/{run}/diff`: what a run's branch changes, file by file and line by line.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use musher_core::RunId;
use musher_core::pool::Refusal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::problem::Problem;
use super::request::{OfRun, Params};
use crate::git::{self, Branch, Commit, DiffLimits, GitError};
use crate::journal::RunView;
use crate::worktree::WorktreeError;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffParams {
    /// Since when; since the branch left the project's own when left out.
    #[param(inline)]
    since: Option<Since>,
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
    files: Vec<FileDiff>,
    /// Files or lines are missing, because there were too many.
    truncated: bool,
}

/// The changes of one file.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileDiff {
    /// Bytes that are no text are written as `\xNN`.
    path: String,
    /// Where a renamed or copied file was.
    old_path: Option<String>,
    #[schema(value_type = String, examples("added", "deleted", "modified", "renamed", "copied", "type_changed"))]
    status: git::FileStatus,
    old_mode: String,
    new_mode: String,
    added: u64,
    removed: u64,
    binary: bool,
    hunks: Vec<Hunk>,
}

/// A run of lines that changed, with the lines around them.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Hunk {
    old_start: u64,
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
    /// What git takes for the heading of the place, such as a function.
    section: String,
    lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Line {
    #[schema(value_type = String, examples("context", "added", "removed"))]
    kind: git::LineKind,
    text: String,
    /// It is the last of its file and has no line end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_newline: bool,
}

#[utoipa::path(
    get,
    path = "/runs/{run}/diff",
    tag = "runs",
    operation_id = "diff",
    summary = "What a run's branch changes",
    params(OfRun, DiffParams),
    responses((status = 200, body = DiffReply), Problem)
)]
pub(super) async fn diff(
    State(api): State<Api>,
    OfRun(name): OfRun,
    Params(params): Params<DiffParams>,
) -> Result<Json<DiffReply>, Problem> {
    let run = api.run(&name).await?;
    let since = params.since.unwrap_or(Since::Base);
    let (Some(branch), Some(head)) = (&run.branch, &run.head) else {
        return Err(Refusal::NotStarted { run: run.id }.into());
    };
    let branch = Branch::new(branch.clone()).map_err(GitError::from)?;
    let head = Commit::new(head.clone()).map_err(GitError::from)?;
    let limits = DiffLimits::default();
    let slot = run.slot.filter(|_| run.ended_at.is_none());
    let found = match (slot, since) {
        (Some(slot), Since::Base) => api.slots.diff(slot, &api.base_branch, limits).await?,
        (Some(slot), Since::Start) => {
            let now = api.slots.snapshot(slot).await?;
            api.git.diff(&head, &now, limits).await?
        }
        (None, since) => {
            let tip = tip(&api, &run, &branch).await?;
            let from = match since {
                Since::Start => head,
                Since::Base => {
                    let base = api.git.resolve(&api.base_branch).await?;
                    // Once the branch is merged, what it changed is only known from where the run began.
                    if api.git.contains(&base, &tip).await? { head } else { base }
                }
            };
            api.git.diff(&from, &tip, limits).await?
        }
    };
    Ok(Json(DiffReply::new(&run, &branch, since, slot.is_some(), found)))
}

/// The last commit of a run that is over.
async fn tip(api: &Api, run: &RunView, branch: &Branch) -> Result<Commit, Problem> {
    if let Some(commit) = &run.commit {
        return Ok(Commit::new(commit.clone()).map_err(GitError::from)?);
    }
    api.git.tip(branch).await?.ok_or_else(|| {
        Problem::new(
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
        diff: git::Diff,
    ) -> Self {
        Self {
            run: run.id,
            branch: branch.as_str().to_owned(),
            since,
            uncommitted,
            added: diff.files.iter().map(|file| file.added).sum(),
            removed: diff.files.iter().map(|file| file.removed).sum(),
            truncated: diff.truncated,
            files: diff.files.into_iter().map(FileDiff::from).collect(),
        }
    }
}

impl From<git::FileDiff> for FileDiff {
    fn from(file: git::FileDiff) -> Self {
        Self {
            path: file.path.to_string(),
            old_path: file.old_path.map(|path| path.to_string()),
            status: file.status,
            old_mode: file.old_mode,
            new_mode: file.new_mode,
            added: file.added,
            removed: file.removed,
            binary: file.binary,
            hunks: file.hunks.into_iter().map(Hunk::from).collect(),
        }
    }
}

impl From<git::Hunk> for Hunk {
    fn from(hunk: git::Hunk) -> Self {
        let line = |git::Line { kind, text, no_newline }| Line { kind, text, no_newline };
        Self {
            old_start: hunk.old_start,
            old_lines: hunk.old_lines,
            new_start: hunk.new_start,
            new_lines: hunk.new_lines,
            section: hunk.section,
            lines: hunk.lines.into_iter().map(line).collect(),
        }
    }
}

impl From<GitError> for Problem {
    fn from(error: GitError) -> Self {
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

impl From<WorktreeError> for Problem {
    fn from(error: WorktreeError) -> Self {
        match error {
            WorktreeError::Git(error) => error.into(),
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
