//! `musher kill`: ends runs by force, with or without a server.

use clap::Args;

use super::ending::{EndArgs, end};
use super::runners::RunnerStop;
use super::{CliError, CliExit};

#[derive(Debug, Args)]
pub(crate) struct Kill {
    #[command(flatten)]
    which: EndArgs,
}

impl Kill {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        end(self.which, RunnerStop::Kill).await
    }
}
