//! `POST /stories/{story}/start`: starts a run on a story.

use axum::extract::State;
use musher_core::AgentName;
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
pub(in crate::api) struct StartRequest {
    /// The first of the team when left out.
    #[schema(value_type = Option<String>)]
    agent: Option<AgentName>,
    /// Another model than the agent's own.
    model: Option<String>,
    /// What to do; the story says it when left out.
    prompt: Option<String>,
}

#[utoipa::path(
    post,
    path = "/stories/{story}/start",
    tag = "stories",
    operation_id = "start",
    summary = "Start a run on a story",
    params(OfStory, CommandHeaders),
    request_body = StartRequest,
    responses((status = 201, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn start(
    State(api): State<Api>,
    OfStory(story): OfStory,
    ChangeRequest { body, terms }: ChangeRequest<StartRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let StartRequest { agent, model, prompt } = body;
    let wish = Wish::StartRun { story, agent, model, prompt };
    api.wish(wish, terms).await
}
