//! `GET /agents`: the team, and what each of them is at.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use futures_util::future::join_all;
use musher_core::{RunId, RunPhaseKind, StoryId};
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use crate::diagnostics::{Need, Program};
use crate::journal::{RunView, RunsQuery, WhichRuns};
use crate::watch::programs::FitnessNow;

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
    /// The role that its prompts speak of.
    prompt_role: Option<String>,
    /// Where its program is; absent when it needs none or it was not found.
    program: Option<String>,
    version: Option<String>,
    health: Health,
    /// Whether its runs can be forked from the end of a turn.
    forks_turns: bool,
    /// Its runs that are not over.
    runs: Vec<AtWork>,
}

/// Whether an agent can be started.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    state: FitnessNow,
    detail: String,
    /// What the person can do about it.
    fix: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AtWork {
    #[schema(value_type = String)]
    run: RunId,
    #[schema(value_type = String)]
    story: StoryId,
    #[schema(value_type = String)]
    phase: RunPhaseKind,
    started_at: Option<i64>,
    /// How many of its asks wait for a person.
    open_asks: u64,
    /// What all processes of the agent hold together, files that they share aside; absent when it has none.
    memory_bytes: Option<u64>,
}

#[utoipa::path(
    get,
    path = "/agents",
    tag = "agents",
    operation_id = "agents",
    summary = "The team, and what each of them is at",
    responses((status = 200, body = AgentsReply), ProblemReply)
)]
pub(super) async fn agents(State(api): State<Api>) -> Result<Json<AgentsReply>, ProblemReply> {
    let query = RunsQuery { which: WhichRuns::Live, ..RunsQuery::default() };
    let live = api.view(move |views| views.runs(&query)).await?.runs;
    let memory = api.memory(live.iter().map(|run| run.id).collect()).await?;
    let project = api.project.borrow().clone();
    let needs = project.agents.iter().map(|agent| api.program(Need::of(agent, api.git.root())));
    let programs = join_all(needs).await;
    let mut agents = Vec::new();
    for (agent, program) in project.agents.iter().zip(programs) {
        let own = live.iter().filter(|run| run.agent == agent.name);
        let Program { place, version, fitness, says, fix, .. } = program;
        agents.push(AgentNow {
            name: agent.name.as_str().to_owned(),
            runtime: agent.runtime.clone(),
            model: agent.model.clone(),
            role: agent.role.clone(),
            prompt_role: agent.role.clone(),
            program: place.map(|place| place.to_string_lossy().into_owned()),
            version,
            health: Health { state: fitness.into(), detail: says, fix },
            forks_turns: agent.capabilities().turns,
            runs: own.map(|run| AtWork::new(run, &memory)).collect(),
        });
    }
    Ok(Json(AgentsReply { agents }))
}

impl AtWork {
    fn new(run: &RunView, memory: &HashMap<RunId, u64>) -> Self {
        Self {
            run: run.id,
            story: run.story.clone(),
            phase: run.phase,
            started_at: run.started_at,
            open_asks: run.open_asks,
            memory_bytes: memory.get(&run.id).copied(),
        }
    }
}
