//! `POST /stories/{story}/reopen`: a story that was done takes runs again.

use axum::extract::State;

use super::Api;
use super::command::{CommandReceipt, Nothing};
use super::document::CommandHeaders;
use super::problem::ProblemReply;
use super::request::{ChangeRequest, OfStory};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/reopen",
    tag = "stories",
    operation_id = "reopen",
    summary = "Take a story up again",
    params(OfStory, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = CommandReceipt), ProblemReply)
)]
pub(super) async fn reopen(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::ReopenStory { story }, terms).await
}
