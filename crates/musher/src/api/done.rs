//! `POST /stories/{story}/done`: a person says that the story is done.

use axum::extract::State;

use super::Api;
use super::command::{CommandReceipt, Nothing};
use super::document::CommandHeaders;
use super::problem::ProblemReply;
use super::request::{ChangeRequest, OfStory};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/done",
    tag = "stories",
    operation_id = "done",
    summary = "Say that a story is done",
    params(OfStory, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = CommandReceipt), ProblemReply)
)]
pub(super) async fn done(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::FinishStory { story }, terms).await
}
