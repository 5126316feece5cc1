//! `musher grants …`: what was granted for good while agents worked.

mod list;
mod revoke;

use clap::{Args, Subcommand};

use super::place::PlaceArgs;
use super::{CliError, CliExit};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Grants {
    #[command(subcommand)]
    verb: Option<GrantsVerb>,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Subcommand)]
enum GrantsVerb {
    /// List saved permissions.
    List(list::GrantListArgs),
    /// Revoke a saved permission; later runs ask again.
    Revoke(revoke::GrantRevokeArgs),
}

impl Grants {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        match self.verb {
            None => list::GrantListArgs::at(self.place).run().await,
            Some(GrantsVerb::List(list)) => list.run().await,
            Some(GrantsVerb::Revoke(revoke)) => revoke.run().await,
        }
    }
}
