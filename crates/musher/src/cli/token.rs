//! `musher token …`: the tokens that browsers and programs hold.

mod add;
mod list;
mod revoke;

use clap::{Args, Subcommand};

use super::{CliError, CliExit};

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(Debug, Subcommand)]
enum TokenVerb {
    /// List tokens, oldest first.
    List(list::TokenListArgs),
    /// Create a token; it is shown once.
    Add(add::TokenAddArgs),
    /// Revoke a token and close its connections.
    Revoke(revoke::TokenRevokeArgs),
}

impl TokenArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        match self.verb {
            TokenVerb::List(list) => list.run().await,
            TokenVerb::Add(add) => add.run().await,
            TokenVerb::Revoke(revoke) => revoke.run().await,
        }
    }
}
