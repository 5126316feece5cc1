//! `POST /tokens`: makes a token.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use musher_client::api::{ApiNewToken, ApiTokenScope, word};
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::Api;
use super::super::problem::ProblemReply;
use super::super::request::ChangeRequest;
use super::{access_of, scope_now};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AddTokenRequest {
    /// A name that says what it is for.
    name: String,
    scope: ApiTokenScope,
}

#[utoipa::path(
    post,
    path = "/tokens",
    tag = "access",
    operation_id = "add_token",
    summary = "Make a token",
    request_body = AddTokenRequest,
    responses((status = 201, body = ApiNewToken), ProblemReply)
)]
pub(in crate::api) async fn add_token(
    State(api): State<Api>,
    ChangeRequest { body, .. }: ChangeRequest<AddTokenRequest>,
) -> Result<(StatusCode, Json<ApiNewToken>), ProblemReply> {
    let (held, token) = api.add_token(body.name, access_of(body.scope)).await?;
    let token = token.as_str().to_owned();
    let reply =
        ApiNewToken { id: held.id, name: held.name, scope: word(&scope_now(held.scope)), token };
    Ok((StatusCode::CREATED, Json(reply)))
}
