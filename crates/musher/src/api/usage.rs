//! `GET /usage`: what was spent.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use super::request::Params;
use crate::journal::{UsageBy, UsageRowView};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UsageParams {
    /// By what it is summed; by story when left out.
    #[param(inline)]
    by: Option<UsageBy>,
    /// By what each sum is split into parts; by nothing when left out.
    #[param(inline)]
    split: Option<UsageBy>,
    /// Only what was spent since then, in Unix milliseconds.
    since: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UsageReply {
    by: UsageBy,
    split: Option<UsageBy>,
    rows: Vec<UsageRowView>,
}

#[utoipa::path(
    get,
    path = "/usage",
    tag = "usage",
    operation_id = "usage",
    summary = "What was spent",
    params(UsageParams),
    responses((status = 200, body = UsageReply), ProblemReply)
)]
pub(super) async fn usage(
    State(api): State<Api>,
    Params(params): Params<UsageParams>,
) -> Result<Json<UsageReply>, ProblemReply> {
    let by = params.by.unwrap_or(UsageBy::Story);
    let since = params.since.unwrap_or(0);
    let split = params.split;
    let rows = api.view(move |views| views.usage_split(by, split, since)).await?;
    Ok(Json(UsageReply { by, split, rows }))
}
