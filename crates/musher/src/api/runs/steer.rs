//! `POST /runs/{run}/steer`: says something into the running turn.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, MessageBody};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/steer",
    tag = "runs",
    operation_id = "steer",
    summary = "Say something into the running turn",
    params(OfRun, CommandHeaders),
    request_body = MessageBody,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn steer(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { body, terms }: ChangeRequest<MessageBody>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Steer { run, text: body.text }, terms).await
}
