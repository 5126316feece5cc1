//! `musher resume`: goes on with a run that is over, in its session and worktree.

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::{CliError, CliExit, receipt, words};

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// What to do; "continue" if left out. `-` reads it from standard input.
    text: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl ResumeArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let text = self.text.map(|text| words::read("text", Some(text), None)).transpose()?;
        let body = text.map_or_else(|| json!({}), |text| json!({ "text": text }));
        let done = format!("{} continues", self.run);
        receipt::send(&self.place.place(), &self.run, "resume", &body, &done).await
    }
}
