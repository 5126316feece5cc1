//! `POST /runs/{run}/interrupt`: ends the turn and keeps the session.

use axum::extract::State;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/interrupt",
    tag = "runs",
    operation_id = "interrupt",
    summary = "End the turn of a run",
    params(OfRun, Key),
    request_body = Nothing,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), Problem)
)]
pub(super) async fn interrupt(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Interrupt { run }, terms).await
}
