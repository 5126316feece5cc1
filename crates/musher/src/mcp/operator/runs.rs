//! Tools about agents and their runs.

use musher_core::{AgentName, RunId, StoryId, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::OperatorTool;
use super::name::RunPathName;
use crate::mcp::api_client::ApiRequest;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListAgents {}

impl OperatorTool for ListAgents {
    const NAME: &'static str = "list_agents";
    const ABOUT: &'static str = "List the team: its agents, and the runs that each of them is at.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["agents"])
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartRun {
    /// The story to work on.
    #[schemars(with = "String")]
    story: StoryId,
    /// The first of the team when left out.
    #[schemars(with = "Option<String>")]
    agent: Option<AgentName>,
    /// Another model than the agent's own.
    model: Option<String>,
    /// What to do; the story says it when left out.
    prompt: Option<String>,
}

impl OperatorTool for StartRun {
    const NAME: &'static str = "start_run";
    const ABOUT: &'static str = "Start an agent on a story. The reply names the run; wait_for_runs returns when it has ended.";
    const KIND: ToolKind = ToolKind::Other;

    fn wanted(self) -> ApiRequest {
        let body = json!({ "agent": self.agent, "model": self.model, "prompt": self.prompt });
        ApiRequest::command(["stories", self.story.as_str(), "start"], body)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListRuns {
    /// Only runs on this story.
    #[schemars(with = "Option<String>")]
    story: Option<StoryId>,
    /// Only runs of this agent.
    #[schemars(with = "Option<String>")]
    agent: Option<AgentName>,
    /// `true` for those alone that are not over.
    live: Option<bool>,
    /// The `next` of the page before.
    #[schemars(with = "Option<String>")]
    cursor: Option<RunId>,
    /// At most so many that are over (20 when left out).
    limit: Option<u32>,
}

impl OperatorTool for ListRuns {
    const NAME: &'static str = "list_runs";
    const ABOUT: &'static str =
        "List the runs, those that are not over first, with state, outcome, cost and open asks.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["runs"])
            .with("story", self.story)
            .with("agent", self.agent)
            .with("state", self.live.filter(|live| *live).map(|_| "live"))
            .with("before", self.cursor)
            .with("limit", Some(self.limit.unwrap_or(20)))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadRun {
    run: RunPathName,
}

impl OperatorTool for ReadRun {
    const NAME: &'static str = "read_run";
    const ABOUT: &'static str =
        "Read how a run stands: its phase, outcome, branch, cost and open asks.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["runs", self.run.as_str()])
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptRun {
    run: RunPathName,
    /// What the agent is to do next.
    text: String,
}

impl OperatorTool for PromptRun {
    const NAME: &'static str = "prompt_run";
    const ABOUT: &'static str = "Give an agent more to do. A run that has ended continues in a new run, which the reply names.";
    const KIND: ToolKind = ToolKind::Other;

    fn wanted(self) -> ApiRequest {
        ApiRequest::command(["runs", self.run.as_str(), "prompt"], json!({ "text": self.text }))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InterruptRun {
    run: RunPathName,
}

impl OperatorTool for InterruptRun {
    const NAME: &'static str = "interrupt_run";
    const ABOUT: &'static str =
        "End the turn of a run and keep its session, so that it can get another prompt.";
    const KIND: ToolKind = ToolKind::Other;

    fn wanted(self) -> ApiRequest {
        ApiRequest::command(["runs", self.run.as_str(), "interrupt"], json!({}))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StopRun {
    run: RunPathName,
}

impl OperatorTool for StopRun {
    const NAME: &'static str = "stop_run";
    const ABOUT: &'static str =
        "End a run gently. What it did stays on its branch, and it can be resumed.";
    const KIND: ToolKind = ToolKind::Other;

    fn wanted(self) -> ApiRequest {
        ApiRequest::command(["runs", self.run.as_str(), "stop"], json!({}))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeModel {
    run: RunPathName,
    /// The model, by the name that the agent's runtime knows.
    model: String,
}

impl OperatorTool for ChangeModel {
    const NAME: &'static str = "change_model";
    const ABOUT: &'static str =
        "Change the model of a live run, from its next model call on. Not every runtime can.";
    const KIND: ToolKind = ToolKind::Other;

    fn wanted(self) -> ApiRequest {
        ApiRequest::command(["runs", self.run.as_str(), "model"], json!({ "model": self.model }))
    }
}
