//! `GET /stories` and `GET /stories/{story}`: stories as people see them.

pub(super) mod add;
pub(super) mod archive;
pub(super) mod done;
pub(super) mod edit;
pub(super) mod merge;
pub(super) mod reopen;
pub(super) mod start;

use axum::Json;
use axum::extract::State;
use musher_core::pool::Refusal;
use serde::Deserialize;

use super::Api;
use super::problem::ProblemReply;
use super::request::{OfStory, Params};
use crate::journal::{StoriesPage, StoriesQuery, StoryView, StoryWhole, WhichStories};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StoriesParams {
    /// `true` for those that were put away instead.
    archived: Option<bool>,
    /// The `next` of the page before.
    before: Option<u64>,
    /// At most so many stories (100 when left out, 1000 at most).
    limit: Option<u32>,
}

#[utoipa::path(
    get,
    path = "/stories",
    tag = "stories",
    operation_id = "stories",
    summary = "The stories, the newest first",
    params(StoriesParams),
    responses((status = 200, body = StoriesPage), ProblemReply)
)]
pub(super) async fn stories(
    State(api): State<Api>,
    Params(params): Params<StoriesParams>,
) -> Result<Json<StoriesPage>, ProblemReply> {
    let which = match params.archived {
        Some(true) => WhichStories::Archived,
        Some(false) | None => WhichStories::Current,
    };
    let query = StoriesQuery { which, before: params.before, limit: params.limit };
    let mut page = api.view(move |views| views.stories(&query)).await?;
    page.stories.iter_mut().for_each(|story| with_lines(story, &api));
    Ok(Json(page))
}

#[utoipa::path(
    get,
    path = "/stories/{story}",
    tag = "stories",
    operation_id = "story",
    summary = "A story with its text",
    params(OfStory),
    responses((status = 200, body = StoryWhole), ProblemReply)
)]
pub(super) async fn story(
    State(api): State<Api>,
    OfStory(story): OfStory,
) -> Result<Json<StoryWhole>, ProblemReply> {
    let wanted = story.clone();
    let found = api.view(move |views| views.story(&wanted)).await?;
    let mut found = found.ok_or(Refusal::NoSuchStory { story })?;
    with_lines(&mut found.story, &api);
    Ok(Json(found))
}

/// Fills in what the newest run of a story has changed and whether that would merge, which the journal does not know.
pub(super) fn with_lines(story: &mut StoryView, api: &Api) {
    if let Some(latest) = &mut story.latest
        && latest.begun
    {
        latest.lines = api.lines(latest.run, latest.phase.is_over());
    }
    api.with_conflict(story);
}
