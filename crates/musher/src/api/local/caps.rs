//! `PUT /local/caps`: sets what may be spent.

use axum::extract::State;
use axum::http::StatusCode;
use musher_core::Usd;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::command::CommandReceipt;
use crate::api::problem::ProblemReply;
use crate::api::request::ChangeRequest;
use crate::config::local::LocalError;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct CapRequest {
    /// What all runs together may spend on one day (UTC), in dollars above 0; `null` lifts the cap.
    #[serde(deserialize_with = "given")]
    #[schema(required = true)]
    day_usd: Option<f64>,
}

/// A field that may be `null` but not left out: nobody lifts a cap by a slip of the pen.
fn given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(from)
}

#[utoipa::path(
    put,
    path = "/local/caps",
    tag = "local",
    operation_id = "cap",
    summary = "Set what may be spent",
    description = "While what was spent today, what runs of unknown cost may have spent beyond that and what running \
        runs may still spend reach the cap, no queued run starts. A run that starts may spend what is left of the \
        day, or its own budget if that is less.",
    request_body = CapRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn cap(
    State(api): State<Api>,
    ChangeRequest { body, .. }: ChangeRequest<CapRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let bad = |dollars: &f64| !(dollars.is_finite() && *dollars > 0.0);
    if body.day_usd.as_ref().is_some_and(bad) {
        return Err(ProblemReply::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_cap",
            "a cap is an amount of dollars above 0",
            "send such an amount, or `null` to lift the cap",
        ));
    }
    let settings = api.settings.clone();
    let day_usd = body.day_usd.map(Usd::from_dollars);
    let write = move || {
        settings.local().cap(day_usd)?;
        settings.read_caps().map_err(LocalError::from)
    };
    api.blocking(write).await??;
    api.settings.enforce(&api.pool).await?;
    Ok(CommandReceipt(musher_client::api::ApiReceipt::Done))
}
