//! `PATCH /stories/{story}`: gives a story another title, text or context.

use axum::extract::State;
use musher_core::Variables;
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
pub(in crate::api) struct EditRequest {
    title: Option<String>,
    text: Option<String>,
    /// All values for `set.NAME` in the templates of agents, instead of those before.
    #[schema(value_type = Option<HashMap<String, String>>)]
    context: Option<Variables>,
}

#[utoipa::path(
    patch,
    path = "/stories/{story}",
    tag = "stories",
    operation_id = "edit",
    summary = "Give a story another title, text or context",
    params(OfStory, CommandHeaders),
    request_body = EditRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn edit(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { body, terms }: ChangeRequest<EditRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let EditRequest { title, text, context } = body;
    api.wish(Wish::EditStory { story, title, text, context }, terms).await
}
