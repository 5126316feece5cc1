//! `GET /runs/{run}/outline`: the shape of a run: its turns, what is worth a look, and what took its time.

use axum::Json;
use axum::extract::State;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::api::request::OfRun;
use crate::watch::outline::Outline;

#[utoipa::path(
    get,
    path = "/runs/{run}/outline",
    tag = "runs",
    operation_id = "outline",
    summary = "The shape of a run: its turns, what is worth a look, and what took its time",
    params(OfRun),
    responses((status = 200, body = Outline), ProblemReply)
)]
pub(in crate::api) async fn outline(
    State(api): State<Api>,
    OfRun(run): OfRun,
) -> Result<Json<Outline>, ProblemReply> {
    let run = api.run(&run).await?.id;
    Ok(Json(api.watch.outline(run).await?))
}
