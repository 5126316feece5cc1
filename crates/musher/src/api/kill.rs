//! `POST /runs/{run}/kill`: ends a run by force.

use axum::extract::State;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/kill",
    tag = "runs",
    operation_id = "kill",
    summary = "End a run by force",
    params(OfRun, Key),
    request_body = Nothing,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), Problem)
)]
pub(super) async fn kill(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Kill { run }, terms).await
}
