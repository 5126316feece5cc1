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
pub(super) mod mode;
pub(super) mod model;
pub(super) mod network;
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
use musher_client::api::{ApiContextUsed, ApiRun, ApiRunPowers, ApiSessionStatus, Runs, word};
use musher_core::{Activity, AgentName, ContextWindow, RunId, RunPhaseKind, StoryId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use super::request::{OfRun, Params};
use super::usage::spent_now;
use crate::bus::SessionStatus;
use crate::journal::{RunView, RunWait, RunsQuery, WhichRuns};
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
    state: Option<RunsState>,
    /// The `next` of the page before.
    #[param(value_type = Option<String>)]
    before: Option<RunId>,
    /// At most so many that are over (100 when left out, 1000 at most).
    limit: Option<u32>,
}

/// Which runs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunsState {
    /// Those that are not over, then page by page those that are.
    All,
    /// Those that are not over.
    Live,
}

/// The run with what the journal does not know of it. This looks at files, so it blocks for a moment.
pub(super) fn run_now(run: RunView, api: &Api) -> ApiRun {
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
    let lines = has_begun(&run).then(|| api.lines(run.id, is_over)).flatten();
    let quiet_since = waits::quiet_since(&run, note.as_ref(), api);
    let queued = if is_over { Vec::new() } else { waits::queued(&run, api) };
    let can = if is_over { None } else { powers(&run.agent, api) };
    let status = status(&run, api);
    ApiRun {
        id: run.id.to_string(),
        story: run.story.into(),
        agent: run.agent.into(),
        title: run.title,
        model: run.model,
        kind: run.kind,
        of: run.of.map(|of| of.to_string()),
        line: word(&run.line),
        phase: run.phase,
        wish: run.wish.as_ref().map(word),
        slot: run.slot.map(|slot| slot.0),
        branch: run.branch,
        head: run.head,
        session: run.session.map(|session| session.as_str().to_owned()),
        outcome: run.outcome.as_ref().map(word),
        error: run.error,
        commit: run.commit,
        finish_error: run.finish_error,
        parked: run.parked,
        open_asks: run.open_asks,
        spent: spent_now(run.spent),
        prompt: run.prompt,
        queued_at: run.queued_at,
        prepared_at: run.prepared_at,
        started_at: run.started_at,
        ended_at: run.ended_at,
        note,
        worktree: worktree.map(|path| path.to_string_lossy().into_owned()),
        lines,
        quiet_since,
        queued,
        can,
        status,
    }
}

/// How the session of a live run stands.
fn status(run: &RunView, api: &Api) -> Option<ApiSessionStatus> {
    if run.phase != RunPhaseKind::Live {
        return None;
    }
    let SessionStatus { model, mode, in_turn, context } = api.bus.status(run.id);
    let activity = match (run.open_asks, in_turn) {
        (0, true) => Activity::Running,
        (0, false) => Activity::Idle,
        (_, _) => Activity::NeedsYou,
    };
    let context = context.map(|ContextWindow { used, window }| ApiContextUsed { used, window });
    Some(ApiSessionStatus { activity: Some(activity), model, mode, context })
}

/// What can be asked of the runtime of this agent.
fn powers(agent: &AgentName, api: &Api) -> Option<ApiRunPowers> {
    let project = api.settings.project();
    let can = project.agent(agent.as_str())?.capabilities();
    Some(ApiRunPowers {
        steer: can.steer,
        interrupt: can.interrupt,
        model: can.set_model,
        mode: can.set_mode,
    })
}

#[utoipa::path(
    get,
    path = "/runs",
    tag = "runs",
    operation_id = "runs",
    summary = "The runs, those that are not over first",
    params(RunsParams),
    responses((status = 200, body = Runs), ProblemReply)
)]
pub(super) async fn runs(
    State(api): State<Api>,
    Params(params): Params<RunsParams>,
) -> Result<Json<Runs>, ProblemReply> {
    let RunsParams { story, agent, state, before, limit } = params;
    let which = match state {
        Some(RunsState::Live) => WhichRuns::Live,
        Some(RunsState::All) | None => WhichRuns::All,
    };
    let query = RunsQuery { which, story, agent, before, limit };
    let page = api.view(move |views| views.runs(&query)).await?;
    let (shown, next) = (api.clone(), page.next.map(|next| next.to_string()));
    let read = move || page.runs.into_iter().map(|run| run_now(run, &shown)).collect();
    Ok(Json(Runs { runs: api.blocking(read).await?, next }))
}

#[utoipa::path(
    get,
    path = "/runs/{run}",
    tag = "runs",
    operation_id = "run",
    summary = "A run",
    params(OfRun),
    responses((status = 200, body = ApiRun), ProblemReply)
)]
pub(super) async fn run(
    State(api): State<Api>,
    OfRun(name): OfRun,
) -> Result<Json<ApiRun>, ProblemReply> {
    let found = api.run(&name).await?;
    if has_begun(&found) && !found.phase.is_over() {
        api.want_live_lines(found.id);
    }
    let shown = api.clone();
    Ok(Json(api.blocking(move || run_now(found, &shown)).await?))
}
