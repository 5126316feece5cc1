//! `GET /usage`: what was spent.

use axum::Json;
use axum::extract::State;
use musher_client::api::{ApiSpent, ApiUsageBy, ApiUsageReport, ApiUsageRow, word};
use serde::Deserialize;

use super::Api;
use super::problem::ProblemReply;
use super::request::Params;
use crate::journal::{SpentView, UsageBy, UsageRowView, Views};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UsageParams {
    /// By what it is summed; by story when left out.
    #[param(inline)]
    by: Option<ApiUsageBy>,
    /// By what each sum is split into parts; by nothing when left out.
    #[param(inline)]
    split: Option<ApiUsageBy>,
    /// Only what was spent since then, in Unix milliseconds.
    since: Option<i64>,
}

#[utoipa::path(
    get,
    path = "/usage",
    tag = "usage",
    operation_id = "usage",
    summary = "What was spent",
    params(UsageParams),
    responses((status = 200, body = ApiUsageReport), ProblemReply)
)]
pub(super) async fn usage(
    State(api): State<Api>,
    Params(params): Params<UsageParams>,
) -> Result<Json<ApiUsageReport>, ProblemReply> {
    let (by, split) = (params.by.unwrap_or(ApiUsageBy::Story), params.split);
    let since = params.since.unwrap_or(0);
    let read = move |views: &Views| views.usage_split(summed(by), split.map(summed), since);
    let rows = api.view(read).await?.into_iter().map(|UsageRowView { key, part, spent }| {
        let spent = spent_now(spent);
        ApiUsageRow { key, part, spent }
    });
    let (by, rows) = (word(&by), rows.collect());
    Ok(Json(ApiUsageReport { by, split: split.as_ref().map(word), rows }))
}

fn summed(by: ApiUsageBy) -> UsageBy {
    match by {
        ApiUsageBy::Run => UsageBy::Run,
        ApiUsageBy::Story => UsageBy::Story,
        ApiUsageBy::Agent => UsageBy::Agent,
        ApiUsageBy::Model => UsageBy::Model,
        ApiUsageBy::Day => UsageBy::Day,
    }
}

/// What was spent, as the API tells it.
pub(super) fn spent_now(spent: SpentView) -> ApiSpent {
    ApiSpent {
        input: spent.input,
        cache_read: spent.cache_read,
        cache_write_5m: spent.cache_write_5m,
        cache_write_1h: spent.cache_write_1h,
        cache_write_other: spent.cache_write_other,
        output: spent.output,
        reasoning: spent.reasoning,
        cost_usd: spent.cost_usd,
        known_cost_usd: spent.known_cost_usd,
        estimated: spent.estimated,
    }
}
