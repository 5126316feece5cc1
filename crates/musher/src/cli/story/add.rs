//! `musher story add`: adds a story.

use std::path::PathBuf;

use clap::Args;
use musher_core::StoryId;
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::run_options::{variable, variables};
use super::super::{CliError, CliExit, receipt, words};

#[derive(Debug, Args)]
pub(super) struct StoryAddArgs {
    /// The title, in one line.
    title: String,
    /// `-` reads the text from standard input.
    #[arg(value_name = "-", value_parser = ["-"], conflicts_with_all = ["text", "file"])]
    dash: Option<String>,
    /// The description.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Read the text from a file.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Its id; the next free one if left out.
    #[arg(long, value_name = "ID")]
    id: Option<StoryId>,
    /// A value for `{{ set.KEY }}` in the prompts of agents; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    context: Vec<(String, String)>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StoryAddArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let given = self.dash.or(self.text);
        let text = match (&given, &self.file) {
            (None, None) => String::new(),
            (Some(_), _) | (None, Some(_)) => words::read("text", given, self.file.as_deref())?,
        };
        let mut body = json!({ "title": self.title, "text": text });
        if let (Some(id), Some(fields)) = (&self.id, body.as_object_mut()) {
            fields.insert("id".into(), json!(id));
        }
        let context = variables(self.context)?;
        if let (false, Some(fields)) = (context.is_empty(), body.as_object_mut()) {
            fields.insert("context".into(), json!(context));
        }
        let reply = place.client()?.post(&["stories"], &body).await?;
        receipt::told(&place, &reply, "the story is added")
    }
}
