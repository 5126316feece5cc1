//! `POST /project/reload`: reads the project file again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::command::Nothing;
use crate::api::problem::ProblemReply;
use crate::api::request::ChangeRequest;
use crate::settings::{ReloadError, Reloaded};

/// What is in force now.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct ReloadReply {
    /// As in `GET /project/file`.
    hash: String,
    /// Keys whose new values count only after the server has begun anew.
    after_restart: Vec<&'static str>,
}

#[utoipa::path(
    post,
    path = "/project/reload",
    tag = "project",
    operation_id = "reload",
    summary = "Read the project file again",
    description = "It takes effect for what starts afterwards; active runs keep what they started with. It is refused if there is a \
        mistake in it, or if it may do what nobody has agreed to.",
    request_body = Nothing,
    responses((status = 200, body = ReloadReply), ProblemReply)
)]
pub(in crate::api) async fn reload(
    State(api): State<Api>,
    _nothing: ChangeRequest<Nothing>,
) -> Result<Json<ReloadReply>, ProblemReply> {
    let settings = api.settings.clone();
    let Reloaded { hash, after_restart } = api.blocking(move || settings.reload()).await??;
    api.settings.enforce(&api.pool).await?;
    Ok(Json(ReloadReply { hash, after_restart }))
}

impl From<ReloadError> for ProblemReply {
    fn from(error: ReloadError) -> Self {
        let (status, code, hint) = match error {
            ReloadError::Local(errors) => return errors.into(),
            ReloadError::Project(_) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "project_file_broken",
                "correct the project file; what was in force still is",
            ),
            ReloadError::Untrusted { .. } => {
                (StatusCode::CONFLICT, "untrusted", "read the changes, then run `musher trust`")
            }
            ReloadError::Trust(_) => (
                StatusCode::CONFLICT,
                "untrusted",
                "see that the state directory can be read, then run `musher trust`",
            ),
        };
        Self::new(status, code, error.to_string(), hint)
    }
}
