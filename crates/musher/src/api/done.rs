//! `POST /stories/{story}/done`: a person says that the story is done.

use axum::extract::State;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfStory, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/done",
    tag = "stories",
    operation_id = "done",
    summary = "Say that a story is done",
    params(OfStory, Key),
    request_body = Nothing,
    responses((status = 200, body = Receipt), Problem)
)]
pub(super) async fn done(
    State(api): State<Api>,
    OfStory(story): OfStory,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::FinishStory { story }, terms).await
}
