//! `musher token add`: makes a token.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::{CliError, CliExit, out, tell};
use musher_client::api::ApiNewToken;

#[derive(Debug, Args)]
pub(super) struct TokenAddArgs {
    /// A name that says what it is for.
    name: String,
    /// What it gives access to.
    #[arg(long, value_enum, default_value_t = Scope::Full)]
    scope: Scope,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Scope {
    /// Everything.
    Full,
    /// Only the tools for assistants (MCP).
    Operator,
}

impl Scope {
    fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Operator => "operator",
        }
    }
}

impl TokenAddArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let body = json!({ "name": self.name, "scope": self.scope.as_str() });
        let reply = place.client()?.post(&["tokens"], &body).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let made: ApiNewToken = reply.read()?;
        out::line(&made.token)?;
        tell(&format!("This is token {}; it is shown only now.", made.id));
        Ok(CliExit::Completed)
    }
}
