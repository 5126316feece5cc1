//! `musher kill`: ends runs by force, with or without a server.

use clap::Args;

use super::ending::{EndArgs, end};
use super::runners::End;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(crate) struct Kill {
    #[command(flatten)]
    which: EndArgs,
}

impl Kill {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        end(self.which, End::Kill).await
    }
}
