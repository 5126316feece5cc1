//! `GET /tokens`: the tokens that browsers and programs hold.

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::Api;
use super::super::access::Bearer;
use super::super::problem::ProblemReply;
use super::TokenScope;

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct TokensReply {
    /// In the order in which they were made. The one in the state directory is not among them.
    tokens: Vec<TokenNow>,
}

/// A token; what it is, only its holder knows.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct TokenNow {
    id: String,
    name: String,
    scope: TokenScope,
    /// Unix milliseconds.
    made_at: i64,
    /// Unix milliseconds, to the minute.
    last_used_at: Option<i64>,
    /// Whether this request was made with it.
    current: bool,
}

#[utoipa::path(
    get,
    path = "/tokens",
    tag = "access",
    operation_id = "tokens",
    summary = "The tokens that browsers and programs hold",
    responses((status = 200, body = TokensReply), ProblemReply)
)]
pub(in crate::api) async fn tokens(
    State(api): State<Api>,
    Extension(bearer): Extension<Bearer>,
) -> Result<Json<TokensReply>, ProblemReply> {
    let own = match bearer {
        Bearer::Holder { id, .. } => Some(id),
        Bearer::Owner | Bearer::Anybody => None,
    };
    let tokens = api.access.tokens().list().into_iter().map(|held| TokenNow {
        current: own.as_deref() == Some(held.id.as_str()),
        id: held.id,
        name: held.name,
        scope: held.scope.into(),
        made_at: held.made_at,
        last_used_at: held.last_used_at,
    });
    Ok(Json(TokensReply { tokens: tokens.collect() }))
}
