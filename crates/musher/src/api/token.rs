//! `POST /token`: exchanges the one-time code for a token of the browser's own.

pub(super) mod browser;
pub(super) mod code;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use super::request::ChangeRequest;
use crate::home::TokenAccess;

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
    summary = "Exchange the one-time code for a token of your own",
    request_body = TokenRequest,
    security(()),
    responses((status = 200, body = TokenReply), ProblemReply)
)]
pub(super) async fn token(
    State(api): State<Api>,
    headers: HeaderMap,
    ChangeRequest { body, .. }: ChangeRequest<TokenRequest>,
) -> Result<Json<TokenReply>, ProblemReply> {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let name = browser::name(agent);
    match api.code.redeem(&body.code) {
        true => {
            let made = api.add_token(name, TokenAccess::Full).await;
            let (_, token) = made.inspect_err(|_| api.code.give_back(body.code))?;
            Ok(Json(TokenReply { token: token.as_str().to_owned() }))
        }
        false => Err(ProblemReply::new(
            StatusCode::FORBIDDEN,
            "wrong_code",
            "this link was used before, or its code is wrong",
            "run `musher open` for a new link, or use the content of the token file",
        )),
    }
}
