//! `POST /runs/{run}/prompt`: gives an agent more to do; a run that is over is gone on with in a new one.

use axum::extract::State;

use super::Api;
use super::command::{Receipt, Words};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/prompt",
    tag = "runs",
    operation_id = "prompt",
    summary = "Give an agent more to do",
    params(OfRun, Key),
    request_body = Words,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), (status = 201, body = Receipt), Problem)
)]
pub(super) async fn prompt(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { body, terms }: Order<Words>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Prompt { run, text: body.text }, terms).await
}
