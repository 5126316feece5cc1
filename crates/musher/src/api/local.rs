//! `GET /local`: what was granted and capped while working.

pub(super) mod caps;
pub(super) mod grants;

use axum::Json;
use axum::extract::State;
use musher_client::api::{ApiCaps, ApiGrant, ApiLocalSettings};
use musher_core::Usd;

use super::Api;
use super::problem::ProblemReply;
use crate::config::local::{LocalGrant, LocalSettings};

#[utoipa::path(
    get,
    path = "/local",
    tag = "local",
    operation_id = "local",
    summary = "What was granted and capped while working",
    responses((status = 200, body = ApiLocalSettings), ProblemReply)
)]
pub(super) async fn local(State(api): State<Api>) -> Result<Json<ApiLocalSettings>, ProblemReply> {
    let settings = api.settings.clone();
    let LocalSettings { grants, caps } = api.blocking(move || settings.local().read()).await??;
    Ok(Json(ApiLocalSettings {
        path: api.settings.local().path().to_string_lossy().into_owned(),
        grants: grants.into_iter().map(grant_now).collect(),
        caps: ApiCaps { day_usd: caps.day_usd.map(Usd::dollars) },
    }))
}

fn grant_now(grant: LocalGrant) -> ApiGrant {
    let LocalGrant { agent, rule, story, run, at } = grant;
    ApiGrant {
        agent: agent.to_string(),
        rule: rule.to_string(),
        story: story.map(String::from),
        run: run.map(|run| run.to_string()),
        at,
    }
}
