//! `GET /project/files`: what agents' programs would run of the project and what they would obey, and whether it is trusted.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::config::trust::AcceptedFiles;
use crate::diagnostics::{executed_in_base, obeyed_in_base};
use musher_git::worktree::{Lane, WorktreeError, WorktreeSlots};

/// The files of the project that mean something to agents' programs, as the branch has them that stories start from.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct ProjectFilesReply {
    /// Whether a person has agreed to what would be run, so that it is loaded. Nothing to run needs no agreement.
    trusted: bool,
    files: Vec<ProjectFileNow>,
}

/// One of those files.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct ProjectFileNow {
    path: String,
    effect: EffectNow,
    /// The digest of its contents, or in words what stands in its place; absent for files that are obeyed.
    mark: Option<String>,
}

/// What a program does with a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::api) enum EffectNow {
    /// It runs what the file names: hooks, tool servers, helpers, skills.
    Executes,
    /// It takes the file for instructions.
    Obeys,
}

#[utoipa::path(
    get,
    path = "/project/files",
    tag = "project",
    operation_id = "project_files",
    summary = "The files that agents' programs would run or obey, and whether they are trusted",
    responses((status = 200, body = ProjectFilesReply), ProblemReply)
)]
pub(in crate::api) async fn project_files(
    State(api): State<Api>,
) -> Result<Json<ProjectFilesReply>, ProblemReply> {
    let project = api.project.borrow().clone();
    let look = async move |slots: WorktreeSlots| {
        let git = slots.git();
        let executed = executed_in_base(git, &project).await?;
        Ok::<_, WorktreeError>((executed, obeyed_in_base(git, &project).await?))
    };
    let looked = api.slots.apart(Lane::Repository, "the look at project files", look);
    let (executed, obeyed) = looked.await?;
    let unread = |why: String| {
        let fix = "see that the state directory can be read, then run `musher trust`";
        ProblemReply::new(StatusCode::INTERNAL_SERVER_ERROR, "trust_unread", why, fix)
    };
    let state = api.checked.state.clone().map_err(|why| unread(why.says))?;
    let accepted = api.blocking(move || AcceptedFiles::read(&state)).await?;
    let accepted = accepted.map_err(|error| unread(error.to_string()))?;
    let trusted = executed.odd().next().is_none() && accepted.covers(&executed);
    let run = executed.files().map(|(path, seen)| ProjectFileNow {
        path: path.to_owned(),
        effect: EffectNow::Executes,
        mark: Some(seen.mark.clone()),
    });
    let obeyed = obeyed.into_iter().map(|path| ProjectFileNow {
        path,
        effect: EffectNow::Obeys,
        mark: None,
    });
    Ok(Json(ProjectFilesReply { trusted, files: run.chain(obeyed).collect() }))
}
