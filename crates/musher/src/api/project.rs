//! `GET /project`: the project at a glance.

pub(super) mod file;
pub(super) mod files;
pub(super) mod reload;

use axum::Json;
use axum::extract::State;
use musher_client::api::{ApiCounts, ApiDay, ApiLimits, ApiProject};
use musher_core::pool::Slot;
use musher_core::{RunPhaseKind, Usd};

use super::Api;
use super::problem::ProblemReply;
use crate::journal::{AsksQuery, DAY_MS, RunsQuery, WhichRuns};

#[utoipa::path(
    get,
    path = "/project",
    tag = "project",
    operation_id = "project",
    summary = "The project at a glance",
    responses((status = 200, body = ApiProject), ProblemReply)
)]
pub(super) async fn project(State(api): State<Api>) -> Result<Json<ApiProject>, ProblemReply> {
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
    Ok(Json(ApiProject {
        name: api.name.clone(),
        repo: api.git.root().to_string_lossy().into_owned(),
        base_branch: api.base_branch.as_str().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: api.build.clone(),
        now,
        limits: ApiLimits {
            runs: limits.runs,
            runs_per_agent: limits.runs_per_agent,
            runs_per_story: limits.runs_per_story,
        },
        counts: ApiCounts {
            stories,
            queued,
            running: live.len() - queued,
            asks,
            slots,
            free_slots,
        },
        day,
    }))
}

async fn today(api: &Api, now: i64) -> Result<ApiDay, ProblemReply> {
    let begin = now - now.rem_euclid(DAY_MS);
    let spent = api.view(move |views| views.spent_since(begin)).await?;
    let held = api.pool.inspect(move |state| state.held_today(now)).await?;
    let date = jiff::Timestamp::from_millisecond(begin).unwrap_or_default();
    Ok(ApiDay {
        date: date.strftime("%Y-%m-%d").to_string(),
        spent_usd: spent.map_or(0.0, |spent| spent.known_cost_usd),
        unknown: spent.is_some_and(|spent| spent.cost_usd.is_none()),
        estimated: spent.is_some_and(|spent| spent.estimated),
        held_usd: held.dollars(),
        cap_usd: api.settings.caps().day_usd.map(Usd::dollars),
    })
}
