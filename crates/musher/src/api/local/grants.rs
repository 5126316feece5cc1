//! `DELETE /local/grants`: takes a grant back.

use axum::extract::State;
use axum::http::StatusCode;
use musher_core::IdError;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::asks::grant;
use crate::api::command::CommandReceipt;
use crate::api::problem::ProblemReply;
use crate::api::request::ChangeRequest;
use crate::config::local::GrantHolder;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RevokeRequest {
    /// The agent, or `*` for a rule that was granted to every agent.
    agent: String,
    /// The rule as it was granted.
    rule: String,
}

#[utoipa::path(
    delete,
    path = "/local/grants",
    tag = "local",
    operation_id = "revoke",
    summary = "Take a grant back",
    description = "Runs that have begun keep it; runs that begin from now on ask again.",
    request_body = RevokeRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn revoke(
    State(api): State<Api>,
    ChangeRequest { body, .. }: ChangeRequest<RevokeRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let RevokeRequest { agent, rule } = body;
    let (settings, rule) = (api.settings.clone(), grant::rule(&rule)?);
    let holder: GrantHolder = agent.parse().map_err(|error: IdError| {
        let hint = "name an agent as the list of grants does";
        ProblemReply::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_name", error.to_string(), hint)
    })?;
    let missing = format!("{agent} was not granted `{rule}`");
    match api.blocking(move || settings.local().revoke(&holder, &rule)).await?? {
        true => Ok(CommandReceipt(musher_client::api::ApiReceipt::Done)),
        false => Err(ProblemReply::new(
            StatusCode::NOT_FOUND,
            "no_such_grant",
            missing,
            "list the grants to see how they are written",
        )),
    }
}
