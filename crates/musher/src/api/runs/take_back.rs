//! `DELETE /runs/{run}/queued/{id}`: takes back a message that waits for the end of the turn.

use axum::extract::State;
use musher_core::CommandId;

use crate::api::Api;
use crate::api::command::{CommandReceipt, Nothing};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfQueued};
use crate::pool::Wish;

#[utoipa::path(
    delete,
    path = "/runs/{run}/queued/{id}",
    tag = "runs",
    operation_id = "take_back",
    summary = "Take back a message that waits for the end of the turn",
    description = "Refused with 409 when the agent was told already.",
    params(OfQueued, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn take_back(
    State(api): State<Api>,
    OfQueued(run, id): OfQueued,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    let prompt = CommandId::parse(&id).map_err(|error| ProblemReply::bad_id(&error))?;
    api.wish(Wish::TakeBack { run, prompt }, terms).await
}
