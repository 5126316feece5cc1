//! `GET /tokens`: the tokens that browsers and programs hold.

use axum::extract::State;
use axum::{Extension, Json};
use musher_client::api::{ApiToken, ApiTokens, word};

use super::super::Api;
use super::super::access::Bearer;
use super::super::problem::ProblemReply;
use super::scope_now;

#[utoipa::path(
    get,
    path = "/tokens",
    tag = "access",
    operation_id = "tokens",
    summary = "The tokens that browsers and programs hold",
    responses((status = 200, body = ApiTokens), ProblemReply)
)]
pub(in crate::api) async fn tokens(
    State(api): State<Api>,
    Extension(bearer): Extension<Bearer>,
) -> Result<Json<ApiTokens>, ProblemReply> {
    let own = match bearer {
        Bearer::Holder { id, .. } => Some(id),
        Bearer::Owner | Bearer::Anybody => None,
    };
    let tokens = api.access.tokens().list().into_iter().map(|held| ApiToken {
        current: own.as_deref() == Some(held.id.as_str()),
        id: held.id,
        name: held.name,
        scope: word(&scope_now(held.scope)),
        made_at: held.made_at,
        last_used_at: held.last_used_at,
    });
    Ok(Json(ApiTokens { tokens: tokens.collect() }))
}
