//! `POST /runs/{run}/mode`: changes the agent's own permission mode in a live run.

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
pub(in crate::api) struct ModeRequest {
    /// The mode, in the words of the agent's runtime.
    mode: String,
}

#[utoipa::path(
    post,
    path = "/runs/{run}/mode",
    tag = "runs",
    operation_id = "mode",
    summary = "Change the permission mode of a live run",
    params(OfRun, CommandHeaders),
    request_body = ModeRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn mode(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { body, terms }: ChangeRequest<ModeRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let change = SessionChange::Mode { mode: body.mode };
    api.wish(Wish::Change { run, change }, terms).await
}
