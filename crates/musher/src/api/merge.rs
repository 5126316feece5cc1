//! `POST /stories/{story}/merge`: brings a story's branch into the project's own.

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Api;
use super::command::Receipt;
use super::document::Key;
use super::problem::Problem;
use super::request::{OfStory, Order};
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MergeRequest {
    /// The number of the branch; it may be left out while the story has one worktree.
    branch: Option<u32>,
    /// `true` to merge a branch though secrets were found in what it adds.
    with_secrets: Option<bool>,
}

#[utoipa::path(
    post,
    path = "/stories/{story}/merge",
    tag = "stories",
    operation_id = "merge",
    summary = "Merge a story",
    params(OfStory, Key),
    request_body = MergeRequest,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), Problem)
)]
pub(super) async fn merge(
    State(api): State<Api>,
    OfStory(story): OfStory,
    Order { body, terms }: Order<MergeRequest>,
) -> Result<Receipt, Problem> {
    let MergeRequest { branch, with_secrets } = body;
    let with_secrets = with_secrets.unwrap_or(false);
    let receipt = api.wish(Wish::MergeStory { story, branch, with_secrets }, terms).await?;
    api.base_has_moved();
    Ok(receipt)
}
