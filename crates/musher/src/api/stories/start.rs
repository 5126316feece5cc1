//! `POST /stories/{story}/start`: starts a run on a story.

use axum::extract::State;
use axum::http::StatusCode;
use musher_core::{AgentName, Rule, RunOptions, StoryId, Variables};
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
    /// Instructions after the agent's own.
    system_prompt: Option<String>,
    /// Tool rules beside the agent's own; deny beats everything.
    #[serde(default)]
    rules: StartRules,
    /// Another permission mode than the agent's own, in the words of its runtime.
    mode: Option<String>,
    /// How hard the model thinks, for runtimes that speak to one themselves.
    effort: Option<String>,
    /// Values for `set.NAME` in the agent's templates, over those of the story.
    #[serde(default)]
    #[schema(value_type = HashMap<String, String>)]
    set: Variables,
}

/// Tool rules as in the project file.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::api) struct StartRules {
    #[schema(value_type = Vec<String>)]
    allow: Vec<Rule>,
    #[schema(value_type = Vec<String>)]
    ask: Vec<Rule>,
    #[schema(value_type = Vec<String>)]
    deny: Vec<Rule>,
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
    let StartRequest { agent, model, prompt, system_prompt, rules, mode, effort, set } = body;
    let StartRules { allow, ask, deny } = rules;
    let options = RunOptions { system_prompt, allow, ask, deny, mode, effort, set };
    api.can_have(&story, agent.as_ref(), &options).await?;
    let wish = Wish::StartRun { story, agent, model, prompt, options };
    api.wish(wish, terms).await
}

impl Api {
    /// Refuses what the agent's templates or runtime could do nothing with. Whether there is such an agent and such a story,
    /// the pool says.
    async fn can_have(
        &self,
        story: &StoryId,
        agent: Option<&AgentName>,
        options: &RunOptions,
    ) -> Result<(), ProblemReply> {
        let project = self.settings.project();
        let named = match agent {
            Some(agent) => project.agent(agent.as_str()),
            None => project.agents.first(),
        };
        let Some(agent) = named else { return Ok(()) };
        if options.effort.is_some() && !agent.capabilities().effort {
            return Err(ProblemReply::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "no_effort",
                format!("the runtime `{}` of agent {} takes no effort", agent.runtime, agent.name),
                "leave it out, or start an agent of another runtime",
            ));
        }
        let wanted = story.clone();
        let found = self.view(move |views| views.story(&wanted)).await?;
        let mut set = found.map(|story| story.context).unwrap_or_default();
        set.extend(options.set.clone());
        agent.try_out(&set).map_err(|error| {
            ProblemReply::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "unfilled_template",
                error.to_string(),
                "give each variable of the agent's templates a value (`set` in the body)",
            )
        })
    }
}
