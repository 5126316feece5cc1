//! `musher story edit`: changes a story's title or text.

use std::path::PathBuf;

use clap::Args;
use musher_core::StoryId;
use serde_json::{Map, Value as Json};

use super::super::place::PlaceArgs;
use super::super::{CliError, CliExit, receipt, words};

#[derive(Debug, Args)]
pub(super) struct StoryEditArgs {
    /// The story's id.
    story: StoryId,
    /// The new title.
    #[arg(long, required_unless_present_any = ["text", "file"])]
    title: Option<String>,
    /// The new text; `-` reads it from standard input.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Read the new text from a file.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
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
        let path = ["stories", self.story.as_str()];
        let reply = place.client()?.patch(&path, &Json::Object(body)).await?;
        receipt::told(&place, &reply, &format!("story {} is changed", self.story))
    }
}
