//! `POST /stories`: adds a story.

use axum::extract::State;
use musher_core::{StoryId, Variables};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::command::CommandReceipt;
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::ChangeRequest;
use crate::api::stories::spec::SpecBody;
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AddRequest {
    /// An id of your own; one is made when left out.
    #[schema(value_type = Option<String>)]
    id: Option<StoryId>,
    title: String,
    /// What is wanted, with its acceptance.
    text: Option<String>,
    /// Values for `set.NAME` in the templates of agents.
    #[serde(default)]
    #[schema(value_type = HashMap<String, String>)]
    context: Variables,
    #[serde(flatten)]
    spec: SpecBody,
}

#[utoipa::path(
    post,
    path = "/stories",
    tag = "stories",
    operation_id = "add",
    summary = "Add a story",
    params(CommandHeaders),
    request_body = AddRequest,
    responses((status = 201, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn add(
    State(api): State<Api>,
    ChangeRequest { body, terms }: ChangeRequest<AddRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let AddRequest { id, title, text, context, spec } = body;
    let text = text.unwrap_or_default();
    let spec = spec.into();
    api.wish(Wish::AddStory { id, title, text, context, spec }, terms).await
}
