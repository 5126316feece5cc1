//! `PATCH /stories/{story}`: gives a story another title or text.

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Api;
use super::command::Receipt;
use super::document::Key;
use super::problem::Problem;
use super::request::{OfStory, Order};
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditRequest {
    title: Option<String>,
    text: Option<String>,
}

#[utoipa::path(
    patch,
    path = "/stories/{story}",
    tag = "stories",
    operation_id = "edit",
    summary = "Give a story another title or text",
    params(OfStory, Key),
    request_body = EditRequest,
    responses((status = 200, body = Receipt), Problem)
)]
pub(super) async fn edit(
    State(api): State<Api>,
    OfStory(story): OfStory,
    Order { body, terms }: Order<EditRequest>,
) -> Result<Receipt, Problem> {
    let EditRequest { title, text } = body;
    api.wish(Wish::EditStory { story, title, text }, terms).await
}
