//! `POST /runs/{run}/fork`: a new run goes on with a copy of the session, beside the old one.

use axum::extract::State;

use super::Api;
use super::command::{PerhapsWords, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/fork",
    tag = "runs",
    operation_id = "fork",
    summary = "Go on with a copy of a run",
    params(OfRun, Key),
    request_body = PerhapsWords,
    responses((status = 201, body = Receipt), Problem)
)]
pub(super) async fn fork(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { body, terms }: Order<PerhapsWords>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Fork { run, text: body.text }, terms).await
}
