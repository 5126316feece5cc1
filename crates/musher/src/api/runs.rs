//! `GET /runs` and `GET /runs/{run}`: runs as people see them.

pub(super) mod change;
pub(super) mod diff;
pub(super) mod events;
pub(super) mod export;
pub(super) mod file_diff;
pub(super) mod follow;
pub(super) mod fork;
pub(super) mod interrupt;
pub(super) mod kill;
pub(super) mod outline;
pub(super) mod prompt;
pub(super) mod raw;
pub(super) mod resume;
pub(super) mod retry;
pub(super) mod search;
pub(super) mod steer;
pub(super) mod stop;
pub(super) mod stream;
pub(super) mod take_back;
mod waits;

use axum::Json;
use axum::extract::State;
use musher_core::{AgentName, RunId, StoryId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use super::request::{OfRun, Params};
use crate::bus::QueuedPrompt;
use crate::journal::{LineCount, RunView, RunWait, RunsQuery, WhichRuns};
use crate::watch::lines::has_begun;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RunsParams {
    /// Only runs on this story.
    #[param(value_type = Option<String>)]
    story: Option<StoryId>,
    /// Only runs of this agent.
    #[param(value_type = Option<String>)]
    agent: Option<AgentName>,
    /// `live` for those that are not over.
    #[param(inline)]
    state: Option<WhichRuns>,
    /// The `next` of the page before.
    #[param(value_type = Option<String>)]
    before: Option<RunId>,
    /// At most so many that are over (100 when left out, 1000 at most).
    limit: Option<u32>,
}

/// A page of runs: those that are not over, then those that are, each the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunsReply {
    runs: Vec<RunNow>,
    /// What to give as `before` for the next page.
    #[schema(value_type = Option<String>)]
    next: Option<RunId>,
}

/// A run, with what it waits for outside of itself.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunNow {
    #[serde(flatten)]
    run: RunView,
    /// Such as that it is paused because the disk is full, or waits because all slots are busy or the day's cap is reached.
    note: Option<String>,
    /// Its folder on the server's machine, as long as it is there with what the run made of it.
    worktree: Option<String>,
    /// What it changed, as far as that was counted.
    lines: Option<LineCount>,
    /// Since when a live run has said nothing (Unix milliseconds), if that is minutes ago and it waits for nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    quiet_since: Option<i64>,
    /// Messages that the agent was not told yet, because a turn or the run itself must come first, in their order; each
    /// can be taken back until then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queued: Vec<QueuedPrompt>,
}

impl RunNow {
    /// The run with what the journal does not know of it. This looks at files, so it blocks for a moment.
    pub(super) fn new(run: RunView, api: &Api) -> Self {
        let note = api
            .bus
            .note(run.id)
            .or_else(|| run.wait.as_ref().map(RunWait::note))
            .or_else(|| waits::slot(&run, api));
        let note = note.filter(|_| run.ended_at.is_none());
        let is_over = run.phase.is_over();
        let worktree = match (run.slot, &run.branch) {
            (Some(slot), _) if !is_over => Some(api.slots.path(slot)),
            (Some(slot), Some(branch)) => api.slots.holding(slot, branch),
            (_, _) => None,
        };
        let worktree = worktree.map(|path| path.to_string_lossy().into_owned());
        let lines = has_begun(&run).then(|| api.lines(run.id, is_over)).flatten();
        let quiet_since = waits::quiet_since(&run, note.as_ref(), api);
        let queued = if is_over { Vec::new() } else { waits::queued(&run, api) };
        Self { run, note, worktree, lines, quiet_since, queued }
    }
}

#[utoipa::path(
    get,
    path = "/runs",
    tag = "runs",
    operation_id = "runs",
    summary = "The runs, those that are not over first",
    params(RunsParams),
    responses((status = 200, body = RunsReply), ProblemReply)
)]
pub(super) async fn runs(
    State(api): State<Api>,
    Params(params): Params<RunsParams>,
) -> Result<Json<RunsReply>, ProblemReply> {
    let RunsParams { story, agent, state, before, limit } = params;
    let query = RunsQuery { which: state.unwrap_or_default(), story, agent, before, limit };
    let page = api.view(move |views| views.runs(&query)).await?;
    let (shown, next) = (api.clone(), page.next);
    let read = move || page.runs.into_iter().map(|run| RunNow::new(run, &shown)).collect();
    Ok(Json(RunsReply { runs: api.blocking(read).await?, next }))
}

#[utoipa::path(
    get,
    path = "/runs/{run}",
    tag = "runs",
    operation_id = "run",
    summary = "A run",
    params(OfRun),
    responses((status = 200, body = RunNow), ProblemReply)
)]
pub(super) async fn run(
    State(api): State<Api>,
    OfRun(name): OfRun,
) -> Result<Json<RunNow>, ProblemReply> {
    let found = api.run(&name).await?;
    if has_begun(&found) && !found.phase.is_over() {
        api.want_live_lines(found.id);
    }
    let shown = api.clone();
    Ok(Json(api.blocking(move || RunNow::new(found, &shown)).await?))
}
