//! `musher prompt`: says something to a run; one that is over goes on in a new run.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::{CliError, CliExit, receipt, words};

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// What to do next; `-` or nothing reads it from standard input.
    text: Option<String>,
    /// Read the text from a file.
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Prompt {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let text = words::read("text", self.text, self.file.as_deref())?;
        let done = format!("the prompt is sent to {}", self.run);
        let body = json!({ "text": text });
        receipt::send(&self.place.place(), &self.run, "prompt", &body, &done).await
    }
}
