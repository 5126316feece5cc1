//! `POST /runs/{run}/resume`: a new run goes on with the session of one that is over.

use axum::extract::State;

use super::Api;
use super::command::{CommandReceipt, PerhapsWords};
use super::document::CommandHeaders;
use super::problem::ProblemReply;
use super::request::{ChangeRequest, OfRun};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/resume",
    tag = "runs",
    operation_id = "resume",
    summary = "Continue a run that has ended",
    params(OfRun, CommandHeaders),
    request_body = PerhapsWords,
    responses((status = 201, body = CommandReceipt), ProblemReply)
)]
pub(super) async fn resume(
    State(api): State<Api>,
    OfRun(run): OfRun,
    ChangeRequest { body, terms }: ChangeRequest<PerhapsWords>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::Resume { run, text: body.text }, terms).await
}
