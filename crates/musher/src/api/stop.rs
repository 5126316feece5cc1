//! `POST /runs/{run}/stop`: ends a run gently.

use axum::extract::State;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/stop",
    tag = "runs",
    operation_id = "stop",
    summary = "End a run gently",
    params(OfRun, Key),
    request_body = Nothing,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), Problem)
)]
pub(super) async fn stop(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Stop { run }, terms).await
}
