//! `POST /runs/{run}/model`: changes the model of a live run, from its next model call on.

use axum::extract::State;
use musher_core::SessionChange;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::command::CommandReceipt;
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ModelRequest {
    /// The model, by the name that the agent's runtime knows.
    model: String,
}

#[utoipa::path(
    post,
    path = "/runs/{run}/model",
    tag = "runs",
    operation_id = "model",
    summary = "Change the model of a live run",
    params(OfRun, CommandHeaders),
    request_body = ModelRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn model(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { body, terms }: ChangeRequest<ModelRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let change = SessionChange::Model { model: body.model };
    api.wish(Wish::Change { run, change }, terms).await
}
