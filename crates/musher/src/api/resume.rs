//! `POST /runs/{run}/resume`: a new run goes on with the session of one that is over.

use axum::extract::State;

use super::Api;
use super::command::{PerhapsWords, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/runs/{run}/resume",
    tag = "runs",
    operation_id = "resume",
    summary = "Go on with a run that is over",
    params(OfRun, Key),
    request_body = PerhapsWords,
    responses((status = 201, body = Receipt), Problem)
)]
pub(super) async fn resume(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { body, terms }: Order<PerhapsWords>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Resume { run, text: body.text }, terms).await
}
