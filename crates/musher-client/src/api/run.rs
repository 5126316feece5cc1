//! Runs as the API tells them.

use musher_core::{Activity, ErrorInfo, RunPhaseKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ApiLineCount, ApiSpent};

/// A page of runs: those that are not over, then those that are, each the newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = RunsReply)]
pub struct Runs {
    #[schema(required)]
    pub runs: Vec<ApiRun>,
    /// What to give as `before` for the next page.
    pub next: Option<String>,
}

/// A run, with what it waits for outside of itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = RunNow)]
pub struct ApiRun {
    #[schema(required)]
    pub id: String,
    #[schema(required)]
    pub story: String,
    #[schema(required)]
    pub agent: String,
    /// The title of the story; absent when it was erased.
    pub title: Option<String>,
    pub model: Option<String>,
    /// `fresh`, `retry`, `resume`, `fork` or `restart`.
    #[schema(required)]
    pub kind: String,
    /// The run that it follows.
    pub of: Option<String>,
    /// `main`, or `fork` if it stands beside the agent's run.
    #[schema(required)]
    pub line: String,
    /// `queued`, `preparing`, `starting`, `live`, `closing`, `finishing` or `over`.
    #[schema(required, value_type = String)]
    pub phase: RunPhaseKind,
    /// `stop` or `kill`, if a person wants it to end.
    pub wish: Option<String>,
    pub slot: Option<u32>,
    /// The branch that it works on.
    pub branch: Option<String>,
    /// The commit that it began at.
    pub head: Option<String>,
    pub session: Option<String>,
    pub outcome: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub error: Option<ErrorInfo>,
    /// The commit in which its uncommitted work was kept.
    pub commit: Option<String>,
    /// Why its uncommitted work could not be kept.
    pub finish_error: Option<String>,
    /// Whether it was lost too often and a person is asked.
    #[schema(required)]
    pub parked: bool,
    /// How many of its asks wait for a person.
    #[schema(required)]
    pub open_asks: u64,
    #[schema(required)]
    pub spent: ApiSpent,
    /// The head of the words that it began with, where they were a person's own and not the story's.
    pub prompt: Option<String>,
    #[schema(required)]
    pub queued_at: i64,
    pub prepared_at: Option<i64>,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    /// Such as that it is paused because the disk is full, or waits because all slots are busy or the day's cap is reached.
    pub note: Option<String>,
    /// Its folder on the server's machine, as long as it is there with what the run made of it.
    pub worktree: Option<String>,
    /// What it changed, as far as that was counted.
    pub lines: Option<ApiLineCount>,
    /// Since when a live run has said nothing (Unix milliseconds), if that is minutes ago and it waits for nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_since: Option<i64>,
    /// Messages that the agent was not told yet, because a turn or the run itself must come first, in their order; each
    /// can be taken back until then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<ApiQueuedMessage>,
    /// What can be asked of its runtime while the run is active; absent when it is over or its agent is not on the team
    /// any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can: Option<ApiRunPowers>,
    /// How its session stands at this moment; absent unless it is live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ApiSessionStatus>,
}

impl ApiRun {
    pub fn is_over(&self) -> bool {
        self.phase.is_over()
    }
}

/// How the session of a live run stands, as its log tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = SessionStatus)]
pub struct ApiSessionStatus {
    /// `running` in a turn, `needs_you` while an ask waits for a person, else `idle`.
    #[schema(required, value_type = String)]
    pub activity: Option<Activity>,
    /// The model in use, which may have been changed since the start; absent until the runtime tells it.
    pub model: Option<String>,
    /// The agent's own permission mode; absent until the runtime tells it.
    pub mode: Option<String>,
    /// How much of the model's window is used; absent when the runtime does not tell it.
    pub context: Option<ApiContextUsed>,
}

/// How much of a model's window is used, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = ContextUsed)]
pub struct ApiContextUsed {
    #[schema(required)]
    pub used: u64,
    /// The whole window, if it is known.
    pub window: Option<u64>,
}

/// What can be asked of the runtime that a run has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = RunPowers)]
pub struct ApiRunPowers {
    /// Take a message into the running turn.
    #[schema(required)]
    pub steer: bool,
    /// End the running turn and keep the session.
    #[schema(required)]
    pub interrupt: bool,
    /// Change the model.
    #[schema(required)]
    pub model: bool,
    /// Change the permission mode.
    #[schema(required)]
    pub mode: bool,
}

/// A message that an agent was not told yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Queued)]
pub struct ApiQueuedMessage {
    #[schema(required)]
    pub id: String,
    #[schema(required)]
    pub text: String,
    /// Unix milliseconds.
    #[schema(required)]
    pub at: i64,
}
