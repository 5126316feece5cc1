//! `musher fork`: goes on with a copy of a run beside it, in a worktree of its own.

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::{CliError, CliExit, receipt, words};

#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// What to do; "continue" if left out. `-` reads it from standard input.
    text: Option<String>,
    /// Continue from the end of this turn instead of the last one; 0 is the beginning.
    #[arg(long, value_name = "N")]
    turn: Option<u32>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Fork {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let text = self.text.map(|text| words::read("text", Some(text), None)).transpose()?;
        let body = json!({ "text": text, "turn": self.turn });
        let done = format!("{} is forked", self.run);
        receipt::send(&self.place.place(), &self.run, "fork", &body, &done).await
    }
}
