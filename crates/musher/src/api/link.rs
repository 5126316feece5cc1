//! `POST /link`: a new address that signs one browser in, for a client that is signed in already.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::command::Nothing;
use super::problem::ProblemReply;
use super::request::ChangeRequest;
use crate::home::AccessToken;

#[derive(Serialize, ToSchema)]
pub(super) struct LinkReply {
    /// What stands after the `#` of the server's address. It signs one browser in, once.
    code: String,
}

#[utoipa::path(
    post,
    path = "/link",
    tag = "access",
    operation_id = "link",
    summary = "Make a one-time code that signs one browser in",
    request_body = Nothing,
    responses((status = 200, body = LinkReply), ProblemReply)
)]
pub(super) async fn link(
    State(api): State<Api>,
    ChangeRequest { .. }: ChangeRequest<Nothing>,
) -> Result<Json<LinkReply>, ProblemReply> {
    let code = AccessToken::mint().map_err(|_| ProblemReply::internal())?;
    api.code.add(code.clone());
    Ok(Json(LinkReply { code: code.as_str().to_owned() }))
}
