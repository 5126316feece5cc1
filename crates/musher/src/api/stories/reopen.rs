//! `POST /stories/{story}/reopen`: a story that was done takes runs again.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, Nothing};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfStory};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/reopen",
    tag = "stories",
    operation_id = "reopen",
    summary = "Take a story up again",
    params(OfStory, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn reopen(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::ReopenStory { story }, terms).await
}
