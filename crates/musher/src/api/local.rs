//! `GET /local`: what was granted and capped while working.

pub(super) mod caps;
pub(super) mod grants;

use axum::Json;
use axum::extract::State;
use musher_core::Usd;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use crate::config::local::{LocalGrant, LocalSettings};

/// What was granted and capped while working.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LocalReply {
    /// The file that holds it, in the state directory.
    path: String,
    grants: Vec<GrantNow>,
    caps: CapsNow,
}

/// A tool rule that a person granted to an agent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GrantNow {
    agent: String,
    rule: String,
    /// On which story it was asked.
    story: Option<String>,
    /// In which run it was asked.
    run: Option<String>,
    /// Unix milliseconds.
    at: Option<i64>,
}

/// What may be spent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CapsNow {
    /// By all runs together on one day (UTC).
    day_usd: Option<f64>,
}

#[utoipa::path(
    get,
    path = "/local",
    tag = "local",
    operation_id = "local",
    summary = "What was granted and capped while working",
    responses((status = 200, body = LocalReply), ProblemReply)
)]
pub(super) async fn local(State(api): State<Api>) -> Result<Json<LocalReply>, ProblemReply> {
    let settings = api.settings.clone();
    let LocalSettings { grants, caps } = api.blocking(move || settings.local().read()).await??;
    Ok(Json(LocalReply {
        path: api.settings.local().path().to_string_lossy().into_owned(),
        grants: grants.into_iter().map(GrantNow::from).collect(),
        caps: CapsNow { day_usd: caps.day_usd.map(Usd::dollars) },
    }))
}

impl From<LocalGrant> for GrantNow {
    fn from(grant: LocalGrant) -> Self {
        let LocalGrant { agent, rule, story, run, at } = grant;
        Self {
            agent: agent.to_string(),
            rule: rule.to_string(),
            story: story.map(String::from),
            run: run.map(|run| run.to_string()),
            at,
        }
    }
}
