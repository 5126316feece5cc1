//! `musher interrupt`: ends the turn of a run and keeps its session.

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(crate) struct Interrupt {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Interrupt {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let done = format!("the turn of {} is interrupted", self.run);
        receipt::send(&self.place.place(), &self.run, "interrupt", &json!({}), &done).await
    }
}
