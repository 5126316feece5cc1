//! `GET /stories` and `GET /stories/{story}`: stories as people see them.

pub(super) mod add;
pub(super) mod archive;
pub(super) mod done;
pub(super) mod edit;
pub(super) mod merge;
pub(super) mod put;
pub(super) mod reopen;
pub(super) mod spec;
pub(super) mod start;

use axum::Json;
use axum::extract::State;
use musher_client::api::{ApiLatestRun, ApiStory, ApiStoryRuns, ApiStoryWhole, Stories, word};
use musher_core::pool::Refusal;
use serde::Deserialize;

use super::Api;
use super::problem::ProblemReply;
use super::request::{OfStory, Params};
use super::usage::spent_now;
use crate::journal::{LatestRun, StoriesQuery, StoryView, WhichStories};

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
    responses((status = 200, body = Stories), ProblemReply)
)]
pub(super) async fn stories(
    State(api): State<Api>,
    Params(params): Params<StoriesParams>,
) -> Result<Json<Stories>, ProblemReply> {
    let which = match params.archived {
        Some(true) => WhichStories::Archived,
        Some(false) | None => WhichStories::Current,
    };
    let query = StoriesQuery { which, before: params.before, limit: params.limit };
    let page = api.view(move |views| views.stories(&query)).await?;
    let stories = page.stories.into_iter().map(|story| story_now(story, &api)).collect();
    Ok(Json(Stories { stories, next: page.next }))
}

#[utoipa::path(
    get,
    path = "/stories/{story}",
    tag = "stories",
    operation_id = "story",
    summary = "A story with its text",
    params(OfStory),
    responses((status = 200, body = ApiStoryWhole), ProblemReply)
)]
pub(super) async fn story(
    State(api): State<Api>,
    OfStory(story): OfStory,
) -> Result<Json<ApiStoryWhole>, ProblemReply> {
    let wanted = story.clone();
    let found = api.view(move |views| views.story(&wanted)).await?;
    let found = found.ok_or(Refusal::NoSuchStory { story })?;
    Ok(Json(ApiStoryWhole {
        story: story_now(found.story, &api),
        criteria: found.text.as_deref().map(spec::criteria_of).unwrap_or_default(),
        text: found.text,
        context: found.context,
    }))
}

/// The story with what the journal does not know: what its newest run has changed, and whether that would merge.
pub(super) fn story_now(story: StoryView, api: &Api) -> ApiStory {
    let conflict = api.conflict_of(&story);
    let lines = |latest: &LatestRun| match latest.begun {
        true => api.lines(latest.run, latest.phase.is_over()),
        false => None,
    };
    ApiStory {
        id: story.id.into(),
        n: story.n,
        title: story.title,
        state: word(&story.state),
        merged: story.merged,
        asks: spec::told(story.spec),
        runs: ApiStoryRuns { all: story.runs.all, live: story.runs.live },
        open_asks: story.open_asks,
        spent: spent_now(story.spent),
        latest: story.latest.map(|latest| ApiLatestRun {
            lines: lines(&latest),
            run: latest.run.to_string(),
            agent: latest.agent.into(),
            phase: latest.phase,
            outcome: latest.outcome.as_ref().map(word),
            ended_at: latest.ended_at,
            error: latest.error,
            parked: latest.parked,
        }),
        conflict,
        created_at: story.created_at,
        updated_at: story.updated_at,
    }
}
