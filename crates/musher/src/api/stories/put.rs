//! `PUT /stories`: adds stories, and makes those that are there already like these.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use musher_client::api::ApiPutStories;
use musher_core::pool::WholeStory;
use musher_core::{StoryId, Variables};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::ChangeRequest;
use crate::api::stories::spec::SpecBody;
use crate::journal::{JournalError, StoryWhole, Views};
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct PutRequest {
    stories: Vec<PutStory>,
    /// What becomes of stories that are there already and say something else.
    #[serde(default)]
    existing: ExistingStories,
}

/// What becomes of stories that are there already and say something else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::api) enum ExistingStories {
    /// They say what was put from now on.
    #[default]
    Update,
    /// They stay as they are.
    Keep,
    /// Nothing is put at all.
    Refuse,
}

/// A story with everything that can be said of it; what is left out is the usual.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct PutStory {
    #[schema(value_type = String)]
    id: StoryId,
    title: String,
    #[serde(default)]
    text: String,
    /// Values for `set.NAME` in the templates of agents.
    #[serde(default)]
    #[schema(value_type = HashMap<String, String>)]
    context: Variables,
    #[serde(flatten)]
    spec: SpecBody,
}

#[utoipa::path(
    put,
    path = "/stories",
    tag = "stories",
    operation_id = "put_stories",
    summary = "Add stories, and change those that are there, all of them or none",
    description = "Stories may come after others of the same request. Those that are there already and say the same are left alone.",
    params(CommandHeaders),
    request_body = PutRequest,
    responses((status = 200, body = ApiPutStories), ProblemReply)
)]
pub(in crate::api) async fn put_stories(
    State(api): State<Api>,
    ChangeRequest { body, terms }: ChangeRequest<PutRequest>,
) -> Result<Json<ApiPutStories>, ProblemReply> {
    let PutRequest { stories, existing } = body;
    let wanted = stories.into_iter().map(|story| {
        let PutStory { id, title, text, context, spec } = story;
        WholeStory { id, title: title.trim().to_owned(), text, context, spec: spec.into() }
    });
    let wanted: Vec<WholeStory> = wanted.collect();
    let (told, stories) = api.view(move |views| sort(views, wanted, existing)).await?;
    if existing == ExistingStories::Refuse && !told.changed.is_empty() {
        return Err(ProblemReply::new(
            StatusCode::CONFLICT,
            "stories_differ",
            format!("these stories say something else already: {}", told.changed.join(", ")),
            "import with `--update` to change them (`existing` in the body), or give yours other ids",
        ));
    }
    if !stories.is_empty() {
        api.wish(Wish::PutStories { stories }, terms).await?;
    }
    Ok(Json(told))
}

/// Tells stories that are new from those that are to change, and leaves out those that would stay as they are.
fn sort(
    views: &Views,
    wanted: Vec<WholeStory>,
    existing: ExistingStories,
) -> Result<(ApiPutStories, Vec<WholeStory>), JournalError> {
    let (mut told, mut stories) = (ApiPutStories::default(), Vec::new());
    for story in wanted {
        let id = story.id.to_string();
        match views.story(&story.id)? {
            None => told.added.push(id),
            Some(known) if existing == ExistingStories::Keep || is_same(&known, &story) => {
                told.unchanged.push(id);
                continue;
            }
            Some(_) => told.changed.push(id),
        }
        stories.push(story);
    }
    Ok((told, stories))
}

fn is_same(known: &StoryWhole, story: &WholeStory) -> bool {
    known.story.title.as_ref() == Some(&story.title)
        && known.text.as_deref().map(str::trim_end) == Some(story.text.trim_end())
        && known.context == story.context
        && known.story.spec == story.spec
}
