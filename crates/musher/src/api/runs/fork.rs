//! `POST /runs/{run}/fork`: a new run goes on with a copy of the session, beside the old one.

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::command::CommandReceipt;
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

/// What the copy is told, and where it begins.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ForkRequest {
    text: Option<String>,
    /// Begin at the end of this turn of the session instead of at its end; 0 is its beginning. Not every runtime can.
    turn: Option<u32>,
}

#[utoipa::path(
    post,
    path = "/runs/{run}/fork",
    tag = "runs",
    operation_id = "fork",
    summary = "Continue a copy of a run",
    params(OfRun, CommandHeaders),
    request_body = ForkRequest,
    responses((status = 201, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn fork(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { body, terms }: ChangeRequest<ForkRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Fork { run, text: body.text, turn: body.turn }, terms).await
}
