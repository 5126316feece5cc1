//! `GET /runs/{run}/events/stream`: a run's log as it grows.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;

use crate::api::Api;
use crate::api::bounds;
use crate::api::problem::ProblemReply;
use crate::api::request::{OfRun, Params, bad_query};
use crate::api::runs::events::{cursor, kinds};
use crate::api::runs::follow::Subscription;
use crate::api::sse;
use crate::watch::position::FollowPosition;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct StreamParams {
    /// The last event that you have, as `epoch.seq`. The header `Last-Event-ID` is stronger.
    after: Option<String>,
    /// Only these kinds, with commas in between.
    kinds: Option<String>,
    /// `1` for text in flight too, as `event: delta` without an id.
    deltas: Option<u8>,
}

#[utoipa::path(
    get,
    path = "/runs/{run}/events/stream",
    tag = "runs",
    operation_id = "stream",
    summary = "A run's log as it grows, as server-sent events",
    description = "Each event has its place as its id (`epoch.seq`) and the line of the log as its data. \
        `reset`: what came after your place was lost in a crash or cleaned away; go on from its cursor. `end`: the run is over. \
        `problem`: the log cannot be read. `delta`: text in flight.",
    params(
        OfRun,
        StreamParams,
        ("last-event-id" = Option<String>, Header, description = "Where to continue"),
    ),
    responses(
        (status = 200, content_type = "text/event-stream", body = String),
        ProblemReply
    )
)]
pub(in crate::api) async fn stream(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Params(params): Params<StreamParams>,
    headers: HeaderMap,
) -> Result<Response, ProblemReply> {
    let place = bounds::place(&api.streams)?;
    let after = match last_event_id(&headers)? {
        Some(id) => Some(cursor(id)?),
        None => params.after.as_deref().map(cursor).transpose()?,
    };
    let run = api.run(&run).await?.id;
    let deltas = matches!(params.deltas, Some(1)).then(|| api.bus.deltas(run));
    let tail = api.tails.of(run, &api.bus);
    let stand = FollowPosition::new(tail, after, kinds(params.kinds.as_deref()));
    Ok(sse::reply(Subscription::new(api, run, stand, deltas, place).pieces()))
}

/// The place at which a client lost its stream.
pub(in crate::api) fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, ProblemReply> {
    let id = headers.get("last-event-id").map(|id| id.to_str());
    let id = id.transpose().map_err(|_| bad_query("the Last-Event-ID is not text"))?;
    Ok(id.filter(|id| !id.is_empty()))
}
