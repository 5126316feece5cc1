//! `musher runner`, hidden: hosts the one run whose folder it is given.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use musher_runtime::{Environment, now_ms};

use super::{CliError, Exit};
use crate::runner::{self, launch};

/// Hosts one run; the server starts it.
#[derive(Debug, Args)]
pub(super) struct Runner {
    /// The run's folder.
    folder: PathBuf,
}

impl Runner {
    pub(super) async fn run(self) -> Result<Exit, CliError> {
        // The terminal of whoever started the server must not reach the run.
        let _already_its_own = rustix::process::setsid();
        let ready = || {
            let mut out = std::io::stdout();
            // A server that is gone does not need to hear it, and the run goes on.
            let _gone = out.write_all(launch::READY.as_bytes()).and_then(|()| out.flush());
        };
        runner::host(&self.folder, Environment::of_this_process(), now_ms, ready)
            .await
            .map_err(|error| CliError::Unavailable(error.to_string()))?;
        Ok(Exit::Completed)
    }
}
