//! `POST /stories/{story}/archive`: a story is put away, and its worktrees are given to others.

use axum::extract::State;

use super::Api;
use super::command::{Nothing, Receipt};
use super::document::Key;
use super::problem::Problem;
use super::request::{OfStory, Order};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/archive",
    tag = "stories",
    operation_id = "archive",
    summary = "Put a story away",
    params(OfStory, Key),
    request_body = Nothing,
    responses((status = 200, body = Receipt), Problem)
)]
pub(super) async fn archive(
    State(api): State<Api>,
    OfStory(story): OfStory,
    Order { terms, .. }: Order<Nothing>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::ArchiveStory { story }, terms).await
}
