//! `POST /runs/{run}/fork`: a new run goes on with a copy of the session, beside the old one.

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Api;
use super::command::Receipt;
use super::document::Key;
use super::problem::Problem;
use super::request::{OfRun, Order};
use crate::pool::Wish;

/// What the copy is told, and where it begins.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkRequest {
    text: Option<String>,
    /// Begin at the end of this turn of the session instead of at its end; 0 is its beginning. Not every runtime can.
    turn: Option<u32>,
}

#[utoipa::path(
    post,
    path = "/runs/{run}/fork",
    tag = "runs",
    operation_id = "fork",
    summary = "Go on with a copy of a run",
    params(OfRun, Key),
    request_body = ForkRequest,
    responses((status = 201, body = Receipt), Problem)
)]
pub(super) async fn fork(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Order { body, terms }: Order<ForkRequest>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Fork { run, text: body.text, turn: body.turn }, terms).await
}
