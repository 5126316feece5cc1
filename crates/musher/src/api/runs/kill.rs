//! `POST /runs/{run}/kill`: ends a run by force.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, Nothing};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/kill",
    tag = "runs",
    operation_id = "kill",
    summary = "End a run by force",
    params(OfRun, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn kill(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Kill { run }, terms).await
}
