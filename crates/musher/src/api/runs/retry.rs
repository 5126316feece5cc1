//! `POST /runs/{run}/retry`: the same prompt again, in a new run with a session of its own.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, Nothing};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/retry",
    tag = "runs",
    operation_id = "retry",
    summary = "Try a run again from its prompt",
    params(OfRun, CommandHeaders),
    request_body = Nothing,
    responses((status = 201, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn retry(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Retry { run }, terms).await
}
