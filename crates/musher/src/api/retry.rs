//! `POST /runs/{run}/retry`: the same prompt again, in a new run with a session of its own.

use axum::extract::State;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/retry",
    tag = "runs",
    operation_id = "retry",
    summary = "Try a run again from its prompt",
    params(OfRun, Key),
    request_body = Nothing,
    responses((status = 201, body = Receipt), Problem)
)]
pub(super) async fn retry(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Retry { run }, terms).await
}
