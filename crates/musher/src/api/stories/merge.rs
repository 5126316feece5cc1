//! `POST /stories/{story}/merge`: brings a story's branch into the project's own.

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::command::CommandReceipt;
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfStory};
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct MergeRequest {
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
    params(OfStory, CommandHeaders),
    request_body = MergeRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn merge(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { body, terms }: ChangeRequest<MergeRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let MergeRequest { branch, with_secrets } = body;
    let with_secrets = with_secrets.unwrap_or(false);
    let receipt = api.wish(Wish::MergeStory { story, branch, with_secrets }, terms).await?;
    api.base_has_moved();
    Ok(receipt)
}
