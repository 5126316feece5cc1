//! `POST /stories/{story}/done`: a person says that the story is done.

use axum::extract::State;

use crate::api::Api;
use crate::api::command::{CommandReceipt, Nothing};
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfStory};
use crate::pool::Wish;

#[utoipa::path(
    post,
    path = "/stories/{story}/done",
    tag = "stories",
    operation_id = "done",
    summary = "Say that a story is done",
    params(OfStory, CommandHeaders),
    request_body = Nothing,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn done(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { terms, .. }: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    api.wish(Wish::FinishStory { story }, terms).await
}
