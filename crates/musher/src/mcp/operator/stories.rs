//! Tools about stories.

use musher_core::{Priority, StoryId, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::OperatorTool;
use crate::mcp::api_client::ApiRequest;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListStories {
    /// `true` for those that were put away instead.
    archived: Option<bool>,
    /// The `next` of the page before.
    cursor: Option<u64>,
    /// At most so many (100 when left out).
    limit: Option<u32>,
}

impl OperatorTool for ListStories {
    const NAME: &'static str = "list_stories";
    const ABOUT: &'static str =
        "List the stories, the newest first, with their state and their number of runs.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["stories"])
            .with("archived", self.archived)
            .with("before", self.cursor)
            .with("limit", self.limit)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadStory {
    /// The story's id, such as `s1`.
    #[schemars(with = "String")]
    story: StoryId,
}

impl OperatorTool for ReadStory {
    const NAME: &'static str = "read_story";
    const ABOUT: &'static str = "Read a story with its whole text.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["stories", self.story.as_str()])
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddStory {
    title: String,
    /// What is wanted, and how one can see that it is done.
    text: Option<String>,
    /// An id of your own: small letters, digits and `-`. One is made when left out.
    #[schemars(with = "Option<String>")]
    id: Option<StoryId>,
    /// The ids of stories that must be done first.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    after: Vec<StoryId>,
    /// How soon it is worked on: 0 to 4, where 4 is first and 2 is usual.
    #[schemars(with = "Option<u8>")]
    priority: Option<Priority>,
}

impl OperatorTool for AddStory {
    const NAME: &'static str = "add_story";
    const ABOUT: &'static str = "Add a story. Nobody works on it until a run is started.";
    const KIND: ToolKind = ToolKind::Other;

    fn wanted(self) -> ApiRequest {
        let Self { title, text, id, after, priority } = self;
        let body =
            json!({ "title": title, "text": text, "id": id, "after": after, "priority": priority });
        ApiRequest::command(["stories"], body)
    }
}
