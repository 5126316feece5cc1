//! `POST /stories/{story}/reopen`: a story that was done takes runs again.

use axum::extract::State;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfStory, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/reopen",
    tag = "stories",
    operation_id = "reopen",
    summary = "Take a story up again",
    params(OfStory, Key),
    request_body = Nothing,
    responses((status = 200, body = Receipt), Problem)
)]
pub(super) async fn reopen(
    State(api): State<Api>,
    OfStory(story): OfStory,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::ReopenStory { story }, terms).await
}
