//! `GET /project/file`: the project file as it stands, with what is wrong with it.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::config;
use crate::settings::FileNow;

/// The project file as it stands on the disk.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct ProjectFileReply {
    path: String,
    /// Empty if it cannot be read; then the problems say why.
    text: String,
    /// Changes with the file and with every prompt file that it names.
    hash: String,
    problems: Vec<FileProblem>,
    /// Whether a person has agreed to what it may do.
    trusted: bool,
    /// Whether what the server runs is this.
    in_force: bool,
}

/// A mistake in the file.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct FileProblem {
    /// The file, as seen from the repository: the project file or a prompt file.
    file: String,
    /// From 1; a mistake of the whole file is told at its beginning.
    line: usize,
    /// From 1, in characters.
    column: usize,
    message: String,
    /// What to do about it.
    help: Option<String>,
}

#[utoipa::path(
    get,
    path = "/project/file",
    tag = "project",
    operation_id = "project_file",
    summary = "The project file as it stands, with what is wrong with it",
    responses((status = 200, body = ProjectFileReply), ProblemReply)
)]
pub(in crate::api) async fn project_file(
    State(api): State<Api>,
) -> Result<Json<ProjectFileReply>, ProblemReply> {
    let settings = api.settings.clone();
    let FileNow { path, look, trusted, in_force } = api.blocking(move || settings.file()).await?;
    let text = look.text.unwrap_or_default();
    let (hash, problems) = match look.project {
        Ok(project) => (project.hash, Vec::new()),
        Err(errors) => {
            let hash = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
            (hash, errors.problems.into_iter().map(FileProblem::from).collect())
        }
    };
    let path = path.to_string_lossy().into_owned();
    Ok(Json(ProjectFileReply { path, text, hash, problems, trusted, in_force }))
}

impl From<config::ConfigProblem> for FileProblem {
    fn from(problem: config::ConfigProblem) -> Self {
        let config::ConfigProblem { file, place, message, fix } = problem;
        let (line, column) = place.map_or((1, 1), |place| (place.line, place.column));
        Self { file: file.to_string_lossy().into_owned(), line, column, message, help: fix }
    }
}
