//! `POST /link`: a new address that signs one browser in, for a client that is signed in already.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::command::Nothing;
use super::problem::Problem;
use super::request::Order;
use crate::home::Token;

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
    responses((status = 200, body = LinkReply), Problem)
)]
pub(super) async fn link(
    State(api): State<Api>,
    Order { .. }: Order<Nothing>,
) -> Result<Json<LinkReply>, Problem> {
    let code = Token::mint().map_err(|_| Problem::internal())?;
    api.code.add(code.clone());
    Ok(Json(LinkReply { code: code.as_str().to_owned() }))
}
