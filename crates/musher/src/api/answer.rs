//! `POST /runs/{run}/asks/{ask}/answer`: answers an ask.

use axum::extract::State;
use musher_core::Answer;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Api;
use super::command::Receipt;
use super::document::Key;
use super::problem::Problem;
use super::request::{OfAsk, Order};
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerRequest {
    /// What is said: `{"decision":"allow"}`, `allow_always`, `deny` or `deny_and_interrupt` (with `reason`), `replies`
    /// (with `replies`, one for each question) or `form` (with `content`).
    #[schema(value_type = Object)]
    answer: Answer,
}

#[utoipa::path(
    post,
    path = "/runs/{run}/asks/{ask}/answer",
    tag = "asks",
    operation_id = "answer",
    summary = "Answer an ask",
    params(OfAsk, Key),
    request_body = AnswerRequest,
    responses((status = 200, body = Receipt), (status = 202, body = Receipt), Problem)
)]
pub(super) async fn answer(
    State(api): State<Api>,
    OfAsk(run, ask): OfAsk,
    Order { body, once }: Order<AnswerRequest>,
) -> Result<Receipt, Problem> {
    api.wish(Wish::Answer { run, ask, answer: body.answer }, once).await
}
