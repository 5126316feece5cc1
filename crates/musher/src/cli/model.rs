//! `musher model`: changes the model of a live run, from its next model call on.

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::text::one_line;
use super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// The model, by the name that the agent's runtime knows; its log says when it is in use.
    model: String,
    #[command(flatten)]
    place: PlaceArgs,
}

impl ModelArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let done = format!("{} is told to use the model {}", self.run, one_line(&self.model, 200));
        let body = json!({ "model": self.model });
        receipt::send(&self.place.place(), &self.run, "model", &body, &done).await
    }
}
