//! `musher retry`: begins a run that is over again, with the same prompt in a new session.

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Retry {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let done = format!("{} is begun again", self.run);
        receipt::send(&self.place.place(), &self.run, "retry", &json!({}), &done).await
    }
}
