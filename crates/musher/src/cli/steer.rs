//! `musher steer`: says something into the running turn of a run.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::{CliError, CliExit, receipt, words};

#[derive(Debug, Args)]
pub(crate) struct Steer {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// The message; `-` or nothing reads it from standard input.
    text: Option<String>,
    /// Read the text from a file.
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Steer {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let text = words::read("text", self.text, self.file.as_deref())?;
        let done = format!("{} is steered", self.run);
        let body = json!({ "text": text });
        receipt::send(&self.place.place(), &self.run, "steer", &body, &done).await
    }
}
