//! `musher mode`: changes the agent's own permission mode in a live run.

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::text::one_line;
use super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(crate) struct ModeArgs {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// The mode, in the words of the agent's runtime, such as `plan`.
    mode: String,
    #[command(flatten)]
    place: PlaceArgs,
}

impl ModeArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let done = format!("{} is told to use the mode {}", self.run, one_line(&self.mode, 200));
        let body = json!({ "mode": self.mode });
        receipt::send(&self.place.place(), &self.run, "mode", &body, &done).await
    }
}
