//! `DELETE /runs/{run}/queued/{id}`: takes back a message that waits for the end of the turn.

use axum::extract::State;
use musher_core::CommandId;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfQueued, Order};
use crate::pool::Wish;

#[utoipa::path(
    delete,
    path = "/runs/{run}/queued/{id}",
    tag = "runs",
    operation_id = "take_back",
    summary = "Take back a message that waits for the end of the turn",
    description = "Refused with 409 when the agent was told already.",
    params(OfQueued, Key),
    request_body = Nothing,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), Problem)
)]
pub(super) async fn take_back(
    State(api): State<Api>,
    OfQueued(run, id): OfQueued,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    let prompt = CommandId::parse(&id).map_err(|error| Problem::bad_id(&error))?;
    api.wish(Wish::TakeBack { run, prompt }, terms).await
}
