//! `DELETE /tokens/{id}`: takes a token back.

use axum::extract::State;

use super::super::Api;
use super::super::command::{CommandReceipt, Nothing};
use super::super::problem::ProblemReply;
use super::super::request::{ChangeRequest, OfToken};

#[utoipa::path(
    delete,
    path = "/tokens/{id}",
    tag = "access",
    operation_id = "revoke_token",
    summary = "Take a token back",
    description = "A request with it gets 401 `token_revoked`, and its streams end.",
    params(("id" = String, Path, description = "A token's id, such as `t3`")),
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn revoke_token(
    State(api): State<Api>,
    OfToken(id): OfToken,
    _nothing: ChangeRequest<Nothing>,
) -> Result<CommandReceipt, ProblemReply> {
    let (tokens, now) = (api.access.tokens().clone(), (api.clock)());
    api.blocking(move || tokens.revoke(&id, now)).await??;
    Ok(CommandReceipt(musher_client::api::ApiReceipt::Done))
}
