//! `musher stop`: ends runs gently, with or without a server.

use clap::Args;

use super::ending::{EndArgs, end};
use super::runners::RunnerStop;
use super::{CliError, CliExit};

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    which: EndArgs,
}

impl StopArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        end(self.which, RunnerStop::Stop).await
    }
}
