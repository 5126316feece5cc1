//! `musher rules …`: what the tool rules of the project say.

mod test;

use clap::{Args, Subcommand};

use super::{CliError, CliExit};

#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    verb: RulesVerb,
}

#[derive(Debug, Subcommand)]
enum RulesVerb {
    /// Show which rule decides about a call, and why.
    Test(test::Test),
}

impl RulesArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        match self.verb {
            RulesVerb::Test(test) => test.run(),
        }
    }
}
