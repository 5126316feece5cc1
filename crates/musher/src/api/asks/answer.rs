//! `POST /runs/{run}/asks/{ask}/answer`: answers an ask.

use std::collections::BTreeMap;

use axum::extract::State;
use musher_core::{Answer, AskDigest, GrantFor, QuestionReply, ShownAsk};
use serde::Deserialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::asks::grant;
use crate::api::command::CommandReceipt;
use crate::api::document::CommandHeaders;
use crate::api::problem::ProblemReply;
use crate::api::request::{ChangeRequest, OfAsk};
use crate::pool::Wish;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AnswerRequest {
    answer: AnswerBody,
    /// The `digest` of the ask as it was shown to the person who answers. Another one, or none, is refused with 428.
    shown: Option<String>,
}

/// What is said to an ask.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(in crate::api) enum AnswerBody {
    /// Go on; the fields of `input` replace those of what the agent wanted to do.
    Allow {
        #[schema(value_type = Option<Object>)]
        input: Option<Json>,
    },
    /// Go on, and do not ask for the like again.
    AllowAlways {
        /// What is granted to the agent from now on, in this run and in later ones: the ask's `rule`, one of its
        /// `scopes`, or another that covers what is asked. Left out, the agent's own offer is taken, which holds for its session.
        rule: Option<String>,
        /// For whom the rule holds: this run (nothing is saved), the agent, or every agent of the project. The agent, if it is left out.
        #[serde(default, rename = "for")]
        holds_for: GrantForBody,
    },
    /// Do not; the agent is told why, and may go on with something else.
    Deny { reason: String },
    /// Do not, and end the turn.
    DenyAndInterrupt { reason: String },
    /// The answers, in the order of the questions.
    Replies { replies: Vec<ReplyBody> },
    /// The filled-in form.
    Form {
        #[schema(value_type = Object)]
        content: BTreeMap<String, Json>,
    },
}

/// For whom a rule holds.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GrantFor)]
pub(in crate::api) enum GrantForBody {
    Run,
    #[default]
    Agent,
    Project,
}

/// The answer to one question: labels chosen, or words of one's own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ReplyBody {
    #[serde(default)]
    chosen: Vec<String>,
    text: Option<String>,
}

impl TryFrom<AnswerBody> for Answer {
    type Error = ProblemReply;

    fn try_from(body: AnswerBody) -> Result<Self, ProblemReply> {
        let reply = |ReplyBody { chosen, text }| QuestionReply { chosen, text };
        Ok(match body {
            AnswerBody::Allow { input } => Self::Allow { input },
            AnswerBody::AllowAlways { rule, holds_for } => Self::AllowAlways {
                rule: rule.as_deref().map(grant::rule).transpose()?,
                holds_for: match holds_for {
                    GrantForBody::Run => GrantFor::Run,
                    GrantForBody::Agent => GrantFor::Agent,
                    GrantForBody::Project => GrantFor::Project,
                },
            },
            AnswerBody::Deny { reason } => Self::Deny { reason },
            AnswerBody::DenyAndInterrupt { reason } => Self::DenyAndInterrupt { reason },
            AnswerBody::Replies { replies } => {
                Self::Replies { replies: replies.into_iter().map(reply).collect() }
            }
            AnswerBody::Form { content } => Self::Form { content },
        })
    }
}

#[utoipa::path(
    post,
    path = "/runs/{run}/asks/{ask}/answer",
    tag = "asks",
    operation_id = "answer",
    summary = "Answer an ask",
    description = "An answer carries as `shown` the digest of the ask that was on the screen. Without it, or with another one, it is refused with 428 `ask_not_shown` and the ask as it is now. An ask that is closed is refused with 409, and `ask.won` says who was first.",
    params(OfAsk, CommandHeaders),
    request_body = AnswerRequest,
    responses((status = 200, body = musher_client::api::ApiReceipt), (status = 202, body = musher_client::api::ApiReceipt), ProblemReply)
)]
pub(in crate::api) async fn answer(
    State(api): State<Api>,
    OfAsk(run, ask): OfAsk,
    ChangeRequest { body, terms }: ChangeRequest<AnswerRequest>,
) -> Result<CommandReceipt, ProblemReply> {
    let answer = body.answer.try_into()?;
    api.pool.until_heard(&run, &ask).await;
    let logged = api.asked(&run, &ask).await?.map(|asked| asked.digest);
    let seen = ShownAsk { shown: body.shown.map(AskDigest::new), logged };
    if let Answer::AllowAlways { rule: Some(rule), .. } = &answer
        && seen.is_this()
    {
        api.check_grant(&run, &ask, rule).await?;
    }
    let (of, asked) = (run.clone(), ask.clone());
    let refused = match api.wish(Wish::Answer { run, ask, answer, seen }, terms).await {
        Ok(receipt) => return Ok(receipt),
        Err(problem) => problem,
    };
    match refused.code() {
        "ask_not_shown" | "already_answered" | "ask_closed" | "undelivered" => {}
        _ => return Err(refused),
    }
    Err(match api.asked(&of, &asked).await? {
        Some(now) => refused.about(&now),
        None => refused,
    })
}
