//! `GET /notices` and `POST /notices/acknowledge`: losses in the state directory that a person must know of.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::command::CommandReceipt;
use super::document::CommandHeaders;
use super::problem::ProblemReply;
use super::request::ChangeRequest;
use crate::home;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NoticesReply {
    /// The oldest first; empty when nothing was lost or all of it was acknowledged.
    notices: Vec<NoticeNow>,
}

/// A loss that was found when a server started.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NoticeNow {
    /// When it was found, Unix milliseconds.
    at: i64,
    text: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AcknowledgeRequest {
    /// The `at` of the newest notice that the person has read; later ones stay.
    through: i64,
}

#[utoipa::path(
    get,
    path = "/notices",
    tag = "project",
    operation_id = "notices",
    summary = "Losses in the state directory that nobody has acknowledged",
    responses((status = 200, body = NoticesReply), ProblemReply)
)]
pub(super) async fn notices(State(api): State<Api>) -> Result<Json<NoticesReply>, ProblemReply> {
    let state = state(&api)?;
    let found = api.blocking(move || home::notices(&state)).await?;
    let now = |home::Notice { at, text }| NoticeNow { at, text };
    Ok(Json(NoticesReply { notices: found.into_iter().map(now).collect() }))
}

#[utoipa::path(
    post,
    path = "/notices/acknowledge",
    tag = "project",
    operation_id = "acknowledge",
    summary = "Acknowledge notices, so that they are not shown again",
    params(CommandHeaders),
    request_body = AcknowledgeRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(super) async fn acknowledge(
    State(api): State<Api>,
    ChangeRequest { body, .. }: ChangeRequest<AcknowledgeRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let state = state(&api)?;
    let done = api.blocking(move || home::acknowledge(&state, body.through)).await?;
    done.map(|()| CommandReceipt(musher_client::api::ApiReceipt::Done)).map_err(|error| {
        ProblemReply::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "notices_unwritten",
            format!("the notices cannot be written: {error}"),
            "check that the state directory can be written, then send it again",
        )
    })
}

fn state(api: &Api) -> Result<PathBuf, ProblemReply> {
    api.checked.state.clone().map_err(|_| ProblemReply::internal())
}
