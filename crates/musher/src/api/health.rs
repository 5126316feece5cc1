//! `GET /healthz` and `GET /readyz`: whether the server is there, and whether it can do its work.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ready)]
pub(super) struct Readiness {
    /// The number of the last fact.
    facts: u64,
}

#[utoipa::path(
    get,
    path = "/healthz",
    tag = "health",
    operation_id = "healthz",
    summary = "Whether the server is there",
    security(()),
    responses((status = 200, content_type = "text/plain", body = String))
)]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    operation_id = "readyz",
    summary = "Whether the server can do its work",
    responses((status = 200, body = Readiness), ProblemReply)
)]
pub(super) async fn readyz(State(api): State<Api>) -> Result<Json<Readiness>, ProblemReply> {
    if let Some(why) = api.pool.broken() {
        return Err(ProblemReply::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "pool_broken",
            format!("the server has stopped: {why}"),
            "see that the state directory can be written, and start the server again",
        ));
    }
    if api.closing.is_cancelled() {
        return Err(ProblemReply::busy("closing", "the server is shutting down", 5));
    }
    // The journal can be read, and the loop answers.
    api.view(|views| views.facts_after(0, 1)).await?;
    api.pool.inspect(|_| ()).await?;
    let facts = *api.pool.facts().borrow();
    Ok(Json(Readiness { facts }))
}
