//! `musher story edit`: changes what a story says and asks for.

use std::path::PathBuf;

use clap::Args;
use musher_core::StoryId;
use serde_json::{Map, Value as Json, json};

use super::super::place::PlaceArgs;
use super::super::run_options::{variable, variables};
use super::super::{CliError, CliExit, receipt, words};
use super::wants::StoryWantsArgs;

#[derive(Debug, Args)]
pub(super) struct StoryEditArgs {
    /// The story's id.
    story: StoryId,
    /// The new title.
    #[arg(long)]
    title: Option<String>,
    /// The new text; `-` reads it from standard input.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Read the new text from a file.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A value for `{{ set.KEY }}` in the prompts of agents; those that are given replace all earlier ones.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    context: Vec<(String, String)>,
    #[command(flatten)]
    wants: StoryWantsArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StoryEditArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let mut body = Map::new();
        if let Some(title) = self.title {
            body.insert("title".into(), title.into());
        }
        if self.text.is_some() || self.file.is_some() {
            let text = words::read("text", self.text, self.file.as_deref())?;
            body.insert("text".into(), text.into());
        }
        if !self.context.is_empty() {
            body.insert("context".into(), json!(variables(self.context)?));
        }
        body.extend(self.wants.fields().map_err(CliError::user)?);
        if body.is_empty() {
            return Err(CliError::hinted(
                "nothing is to be changed",
                "say what, such as `--title TITLE` or `--after STORIES`",
            ));
        }
        let path = ["stories", self.story.as_str()];
        let reply = place.client()?.patch(&path, &Json::Object(body)).await?;
        receipt::told(&place, &reply, &format!("story {} is changed", self.story))
    }
}
