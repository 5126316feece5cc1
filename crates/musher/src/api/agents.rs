//! `GET /agents`: the team, and what each of them is at.

use axum::Json;
use axum::extract::State;
use musher_core::{RunId, StoryId};
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::problem::Problem;
use crate::journal::{RunsQuery, WhichRuns};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentsReply {
    /// In the order of the project file; the first is meant when none is named.
    agents: Vec<AgentNow>,
}

/// A seat on the team.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentNow {
    name: String,
    runtime: String,
    model: Option<String>,
    role: Option<String>,
    /// Its runs that are not over.
    runs: Vec<AtWork>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AtWork {
    #[schema(value_type = String)]
    run: RunId,
    #[schema(value_type = String)]
    story: StoryId,
    phase: String,
}

#[utoipa::path(
    get,
    path = "/agents",
    tag = "agents",
    operation_id = "agents",
    summary = "The team, and what each of them is at",
    responses((status = 200, body = AgentsReply), Problem)
)]
pub(super) async fn agents(State(api): State<Api>) -> Result<Json<AgentsReply>, Problem> {
    let query = RunsQuery { which: WhichRuns::Live, ..RunsQuery::default() };
    let live = api.view(move |views| views.runs(&query)).await?.runs;
    let project = api.project.borrow().clone();
    let agents = project.agents.iter().map(|agent| {
        let name = agent.name.as_str();
        let own = live.iter().filter(|run| run.agent.as_str() == name);
        let runs = own.map(|run| AtWork {
            run: run.id,
            story: run.story.clone(),
            phase: run.phase.clone(),
        });
        AgentNow {
            name: name.to_owned(),
            runtime: agent.runtime.clone(),
            model: agent.model.clone(),
            role: agent.role.clone(),
            runs: runs.collect(),
        }
    });
    Ok(Json(AgentsReply { agents: agents.collect() }))
}
