//! `musher merge`: merges a story's branch into the project's own.

use clap::Args;
use musher_core::StoryId;
use serde_json::json;

use super::place::PlaceArgs;
use super::{CliError, Exit, out, receipt};
use crate::client::views::Receipt;

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The story's id.
    story: StoryId,
    /// The number of its branch; needed only when it has several.
    #[arg(short, long, value_name = "N")]
    branch: Option<u32>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Merge {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        let place = self.place.place();
        let body = self.branch.map_or_else(|| json!({}), |branch| json!({ "branch": branch }));
        let path = ["stories", self.story.as_str(), "merge"];
        let reply = place.client()?.post(&path, &body).await?;
        let story = &self.story;
        if !place.json() && reply.read::<Receipt>()? == Receipt::Pending {
            out::prose(&format!(
                "the merge of story {story} is under way; `musher story show {story}` tells when it is done"
            ))?;
            return Ok(Exit::Completed);
        }
        receipt::told(&place, &reply, &format!("story {story} is merged"))
    }
}
