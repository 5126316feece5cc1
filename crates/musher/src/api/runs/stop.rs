//! `POST /runs/{run}/stop`: ends a run gently.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, Nothing};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/stop",
    tag = "runs",
    operation_id = "stop",
    summary = "End a run gently",
    params(OfRun, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn stop(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Stop { run }, terms).await
}
