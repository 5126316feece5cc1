//! `POST /runs/{run}/steer`: says something into the running turn.

use axum::extract::State;

use super::Api;
use super::command::{Receipt, Words};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/steer",
    tag = "runs",
    operation_id = "steer",
    summary = "Say something into the running turn",
    params(OfRun, Key),
    request_body = Words,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), Problem)
)]
pub(super) async fn steer(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { body, terms }: Order<Words>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Steer { run, text: body.text }, terms).await
}
