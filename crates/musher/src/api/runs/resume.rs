//! `POST /runs/{run}/resume`: a new run goes on with the session of one that is over.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, PerhapsWords};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/resume",
    tag = "runs",
    operation_id = "resume",
    summary = "Continue a run that has ended",
    params(OfRun, CommandHeaders),
    request_body = PerhapsWords,
    responses((status = 201, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn resume(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { body, terms }: ChangeRequest<PerhapsWords>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Resume { run, text: body.text }, terms).await
}
