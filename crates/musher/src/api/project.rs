//! `GET /project`: the project at a glance.

pub(super) mod file;
pub(super) mod files;
pub(super) mod reload;

use axum::Json;
use axum::extract::State;
use musher_core::pool::Slot;
use musher_core::{RunPhaseKind, Usd};
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use crate::journal::{AsksQuery, DAY_MS, RunsQuery, WhichRuns};

/// The project at a glance.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProjectReply {
    name: String,
    /// The repository's folder on the server's machine.
    repo: String,
    /// The branch that stories start from and are merged into.
    base_branch: String,
    /// Musher's own version.
    version: &'static str,
    /// What tells this build of the server from others; it changes when the server was replaced.
    build: String,
    /// The server's clock, Unix milliseconds.
    now: i64,
    limits: LimitsReply,
    counts: Counts,
    day: DayReply,
}

/// What was spent today, in UTC.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Day)]
pub(super) struct DayReply {
    /// Such as `2026-01-31`.
    date: String,
    /// The least that it can have cost.
    spent_usd: f64,
    /// Whether a part of the cost is not known.
    unknown: bool,
    /// Whether a part of it was worked out, and is the least that it can be.
    estimated: bool,
    /// What runs of unknown cost may have spent beyond that; it counts against the cap.
    held_usd: f64,
    /// What may be spent in a day; absent when there is no such bound.
    cap_usd: Option<f64>,
}

/// How many runs there may be at the same time.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Limits)]
pub(super) struct LimitsReply {
    runs: u32,
    runs_per_agent: u32,
    runs_per_story: u32,
}

/// How much there is at this moment.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Counts {
    /// Stories that are not archived.
    stories: usize,
    /// Runs that wait for a slot.
    queued: usize,
    /// Runs that have a place.
    running: usize,
    /// Asks that wait for a person.
    asks: usize,
    /// Worktree slots, the free ones included.
    slots: usize,
    free_slots: usize,
}

#[utoipa::path(
    get,
    path = "/project",
    tag = "project",
    operation_id = "project",
    summary = "The project at a glance",
    responses((status = 200, body = ProjectReply), ProblemReply)
)]
pub(super) async fn project(State(api): State<Api>) -> Result<Json<ProjectReply>, ProblemReply> {
    let (stories, slots, free_slots) = api
        .pool
        .inspect(|state| {
            let free = state.slots.values().filter(|slot| matches!(slot, Slot::Free)).count();
            (state.stories.len(), state.slots.len(), free)
        })
        .await?;
    let query = RunsQuery { which: WhichRuns::Live, ..RunsQuery::default() };
    let live = api.view(move |views| views.runs(&query)).await?.runs;
    let all_asks = AsksQuery { limit: Some(u32::MAX), ..AsksQuery::default() };
    let asks = api.view(move |views| views.asks(&all_asks)).await?.len();
    let queued = live.iter().filter(|run| run.phase == RunPhaseKind::Queued).count();
    let now = (api.clock)();
    let day = today(&api, now).await?;
    let limits = api.project.borrow().limits;
    Ok(Json(ProjectReply {
        name: api.name.clone(),
        repo: api.git.root().to_string_lossy().into_owned(),
        base_branch: api.base_branch.as_str().to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        build: api.build.clone(),
        now,
        limits: LimitsReply {
            runs: limits.runs,
            runs_per_agent: limits.runs_per_agent,
            runs_per_story: limits.runs_per_story,
        },
        counts: Counts { stories, queued, running: live.len() - queued, asks, slots, free_slots },
        day,
    }))
}

async fn today(api: &Api, now: i64) -> Result<DayReply, ProblemReply> {
    let begin = now - now.rem_euclid(DAY_MS);
    let spent = api.view(move |views| views.spent_since(begin)).await?;
    let held = api.pool.inspect(move |state| state.held_today(now)).await?;
    let date = jiff::Timestamp::from_millisecond(begin).unwrap_or_default();
    Ok(DayReply {
        date: date.strftime("%Y-%m-%d").to_string(),
        spent_usd: spent.map_or(0.0, |spent| spent.known_cost_usd),
        unknown: spent.is_some_and(|spent| spent.cost_usd.is_none()),
        estimated: spent.is_some_and(|spent| spent.estimated),
        held_usd: held.dollars(),
        cap_usd: api.settings.caps().day_usd.map(Usd::dollars),
    })
}
