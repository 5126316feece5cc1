//! `musher story done`: says that a story is done.

use clap::Args;
use musher_core::StoryId;
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(super) struct Done {
    /// The story's id.
    story: StoryId,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Done {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let path = ["stories", self.story.as_str(), "done"];
        let reply = place.client()?.post(&path, &json!({})).await?;
        receipt::told(&place, &reply, &format!("story {} is done", self.story))
    }
}
