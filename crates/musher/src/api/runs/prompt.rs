//! `POST /runs/{run}/prompt`: gives an agent more to do; a run that is over is gone on with in a new one.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, MessageBody};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/prompt",
    tag = "runs",
    operation_id = "prompt",
    summary = "Give an agent more to do",
    params(OfRun, CommandHeaders),
    request_body = MessageBody,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), (status = 201, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn prompt(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { body, terms }: ChangeRequest<MessageBody>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Prompt { run, text: body.text }, terms).await
}
