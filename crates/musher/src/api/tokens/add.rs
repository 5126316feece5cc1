//! `POST /tokens`: makes a token.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::Api;
use super::super::problem::ProblemReply;
use super::super::request::ChangeRequest;
use super::TokenScope;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AddTokenRequest {
    /// A name that says what it is for.
    name: String,
    scope: TokenScope,
}

#[derive(Serialize, ToSchema)]
pub(in crate::api) struct AddTokenReply {
    id: String,
    name: String,
    scope: TokenScope,
    /// It is told this once.
    token: String,
}

#[utoipa::path(
    post,
    path = "/tokens",
    tag = "access",
    operation_id = "add_token",
    summary = "Make a token",
    request_body = AddTokenRequest,
    responses((status = 201, body = AddTokenReply), ProblemReply)
)]
pub(in crate::api) async fn add_token(
    State(api): State<Api>,
    ChangeRequest { body, .. }: ChangeRequest<AddTokenRequest>,
) -> Result<(StatusCode, Json<AddTokenReply>), ProblemReply> {
    let (held, token) = api.add_token(body.name, body.scope.into()).await?;
    let token = token.as_str().to_owned();
    let reply = AddTokenReply { id: held.id, name: held.name, scope: held.scope.into(), token };
    Ok((StatusCode::CREATED, Json(reply)))
}
