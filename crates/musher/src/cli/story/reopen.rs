//! `musher story reopen`: says that a story is not done after all.

use clap::Args;
use musher_core::StoryId;
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(super) struct Reopen {
    /// The story's id.
    story: StoryId,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Reopen {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let path = ["stories", self.story.as_str(), "reopen"];
        let reply = place.client()?.post(&path, &json!({})).await?;
        receipt::told(&place, &reply, &format!("story {} is open again", self.story))
    }
}
