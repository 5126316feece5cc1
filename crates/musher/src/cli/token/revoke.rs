//! `musher token revoke`: takes a token back.

use clap::Args;
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::text::plain;
use super::super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(super) struct TokenRevokeArgs {
    /// The token's id as `musher token list` shows it.
    id: String,
    #[command(flatten)]
    place: PlaceArgs,
}

impl TokenRevokeArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let reply = place.client()?.delete(&["tokens", &self.id], &json!({})).await?;
        receipt::told(&place, &reply, &format!("token {} is revoked", plain(&self.id)))
    }
}
