//! `musher story archive`: puts a story away and frees its worktrees.

use clap::Args;
use musher_core::StoryId;
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::{CliError, CliExit, receipt};

#[derive(Debug, Args)]
pub(super) struct Archive {
    /// The story's id.
    story: StoryId,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Archive {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let path = ["stories", self.story.as_str(), "archive"];
        let reply = place.client()?.post(&path, &json!({})).await?;
        receipt::told(
            &place,
            &reply,
            &format!(
                "story {} is archived: it cannot be reopened, its worktrees are freed, and its work stays on its branches",
                self.story
            ),
        )
    }
}
