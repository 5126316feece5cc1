//! `PATCH /stories/{story}`: changes what a story says and asks for.

use axum::extract::State;
use musher_core::Variables;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::command::CommandReceipt;
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfStory};
use crate::api::stories::spec::SpecBody;
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct EditRequest {
    title: Option<String>,
    text: Option<String>,
    /// All values for `set.NAME` in the templates of agents, instead of those before.
    #[schema(value_type = Option<HashMap<String, String>>)]
    context: Option<Variables>,
    #[serde(flatten)]
    spec: SpecBody,
}

#[utoipa::path(
    patch,
    path = "/stories/{story}",
    tag = "stories",
    operation_id = "edit",
    summary = "Change what a story says and asks for",
    params(OfStory, CommandHeaders),
    request_body = EditRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn edit(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { body, terms }: ChangeRequest<EditRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let EditRequest { title, text, context, spec } = body;
    let spec = spec.into();
    api.wish(Wish::EditStory { story, title, text, context, spec }, terms).await
}
