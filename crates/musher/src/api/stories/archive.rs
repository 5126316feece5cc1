//! `POST /stories/{story}/archive`: a story is put away, and its worktrees are given to others.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, Nothing};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfStory};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/archive",
    tag = "stories",
    operation_id = "archive",
    summary = "Archive a story",
    params(OfStory, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn archive(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::ArchiveStory { story }, terms).await
}
