//! `GET /runs/{run}/raw`: what the agent itself wrote, byte for byte.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use musher_core::RawRef;
use serde::Deserialize;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::api::request::{OfRun, Params};

/// More is not given at once.
const MAX_RAW_REPLY_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct RawParams {
    /// Where to begin, in bytes.
    #[serde(default)]
    offset: u64,
    /// How many bytes (4 MiB when left out, and at most).
    len: Option<u64>,
}

#[utoipa::path(
    get,
    path = "/runs/{run}/raw",
    tag = "runs",
    operation_id = "raw_output",
    summary = "What the agent itself wrote",
    params(OfRun, RawParams),
    responses(
        (status = 200, content_type = "application/octet-stream", body = String), ProblemReply
    )
)]
pub(in crate::api) async fn raw_output(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Params(params): Params<RawParams>,
) -> Result<Response, ProblemReply> {
    let (run, logs) = (api.run(&run).await?.id, api.bus.logs().clone());
    let len = params.len.unwrap_or(MAX_RAW_REPLY_BYTES).min(MAX_RAW_REPLY_BYTES);
    let wanted = RawRef::new(params.offset, len);
    let found = api.blocking(move || logs.raw(run, wanted));
    let bytes = found.await?.map_err(|error| ProblemReply::from(&error))?;
    let kind = HeaderValue::from_static("application/octet-stream");
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
}
