//! `musher stop`: ends runs gently, with or without a server.

use clap::Args;

use super::ending::{EndArgs, end};
use super::runners::End;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    which: EndArgs,
}

impl Stop {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        end(self.which, End::Stop).await
    }
}
