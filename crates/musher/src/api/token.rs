//! `POST /token`: exchanges the one-time code for the token.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::problem::Problem;
use super::request::Order;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenRequest {
    /// What stands after the `#` of the address that `musher serve` printed.
    code: String,
}

#[derive(Serialize, ToSchema)]
pub(super) struct TokenReply {
    token: String,
}

#[utoipa::path(
    post,
    path = "/token",
    tag = "access",
    operation_id = "token",
    summary = "Exchange the one-time code for the token",
    request_body = TokenRequest,
    security(()),
    responses((status = 200, body = TokenReply), Problem)
)]
pub(super) async fn token(
    State(api): State<Api>,
    Order { body, .. }: Order<TokenRequest>,
) -> Result<Json<TokenReply>, Problem> {
    match api.code.redeem(&body.code) {
        true => Ok(Json(TokenReply { token: api.access.token().as_str().to_owned() })),
        false => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "wrong_code",
            "the code is wrong, or was used before",
            "start the server again, or use the content of the token file",
        )),
    }
}
