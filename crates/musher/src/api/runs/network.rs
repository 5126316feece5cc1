//! `GET /runs/{run}/network`: what passed between an agent and the hosts that it spoke to.

use axum::Json;
use axum::extract::State;
use musher_client::api::ApiNetwork;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::api::request::OfRun;

#[utoipa::path(
    get,
    path = "/runs/{run}/network",
    tag = "runs",
    operation_id = "network",
    summary = "Connections and bytes of a run, by host",
    description = "Only the proxy of the profile `strict` can count them. A live run tells new hosts at once, and figures at the end of each turn, at least every minute.",
    params(OfRun),
    responses((status = 200, body = ApiNetwork), ProblemReply)
)]
pub(in crate::api) async fn network(
    State(api): State<Api>,
    OfRun(run): OfRun,
) -> Result<Json<ApiNetwork>, ProblemReply> {
    let run = api.run(&run).await?.id;
    Ok(Json(api.watch.network(run).await?))
}
