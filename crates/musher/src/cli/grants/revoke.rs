//! `musher grants revoke`: takes a grant back.

use clap::Args;
use musher_core::{AgentName, Rule};
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::text::plain;
use super::super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(super) struct GrantRevokeArgs {
    /// The agent's name.
    agent: AgentName,
    /// The rule as `musher grants` shows it, in quotes.
    rule: Rule,
    #[command(flatten)]
    place: PlaceArgs,
}

impl GrantRevokeArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let Self { agent, rule, place } = self;
        let place = place.place();
        let body = json!({ "agent": agent, "rule": rule });
        let reply = place.client()?.delete(&["local", "grants"], &body).await?;
        let done = format!("{agent} asks again about {}", plain(&rule.to_string()));
        receipt::told(&place, &reply, &done)
    }
}
