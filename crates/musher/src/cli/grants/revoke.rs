//! `musher grants revoke`: takes a grant back.

use clap::Args;
use musher_core::Rule;
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::text::plain;
use super::super::{CliError, CliExit, receipt};
use crate::config::local::GrantHolder;

#[derive(Debug, Args)]
pub(super) struct GrantRevokeArgs {
    /// The agent's name, or `*` for a permission of every agent.
    agent: GrantHolder,
    /// The rule as `musher grants` shows it, in quotes.
    rule: Rule,
    #[command(flatten)]
    place: PlaceArgs,
}

impl GrantRevokeArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let Self { agent, rule, place } = self;
        let place = place.place();
        let body = json!({ "agent": agent.to_string(), "rule": rule });
        let reply = place.client()?.delete(&["local", "grants"], &body).await?;
        let rule = plain(&rule.to_string());
        let done = match agent {
            GrantHolder::Agent(agent) => format!("{agent} asks again about {rule}"),
            GrantHolder::Everyone => format!("every agent asks again about {rule}"),
        };
        receipt::told(&place, &reply, &done)
    }
}
