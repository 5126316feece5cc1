//! How a wish reaches the pool, and what its sender hears.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use musher_client::api::ApiReceipt;
use musher_core::CommandId;
use musher_core::pool::CommandReply;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Api;
use super::problem::ProblemReply;
use super::request::Terms;
use crate::pool::{AcceptedCommand, PoolError, Wish};

/// What became of a command, as the reply to it.
#[derive(Debug)]
pub(super) struct CommandReceipt(pub(super) ApiReceipt);

/// The body of a command that says nothing beyond its path.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// The body of a command that is a text for an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Words)]
pub(super) struct MessageBody {
    pub(super) text: String,
}

/// The body of a command that may bring a text for an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PerhapsWords {
    pub(super) text: Option<String>,
}

/// What the names of commands begin with that this door has made.
const MADE_HERE: char = 'c';

/// When a command was given, in Unix milliseconds, as its name tells it.
pub(super) fn given_at(command: &CommandId) -> Option<i64> {
    let name = Uuid::try_parse(command.as_str().strip_prefix(MADE_HERE)?).ok()?;
    let (seconds, nanos) = name.get_timestamp()?.to_unix();
    let millis = seconds.checked_mul(1000)?.checked_add(u64::from(nanos / 1_000_000))?;
    i64::try_from(millis).ok()
}

impl Api {
    /// Wishes something of the pool and waits a while for the last word.
    pub(super) async fn wish(
        &self,
        wish: Wish,
        terms: Terms,
    ) -> Result<CommandReceipt, ProblemReply> {
        // Time stands first in it, so that ids sort as they were made.
        let name = format!("{MADE_HERE}{}", Uuid::now_v7().simple());
        let id = CommandId::parse(&name).map_err(|_| ProblemReply::internal())?;
        let reply = match self.pool.command(wish, id, terms.by, terms.once).await? {
            AcceptedCommand::Final(reply) => reply,
            AcceptedCommand::Pending(pending) => {
                let command = pending.command.clone();
                match tokio::time::timeout(terms.patience, pending.last_word()).await {
                    Ok(reply) => reply?,
                    Err(_) => {
                        let command = command.as_str().to_owned();
                        return Ok(CommandReceipt(ApiReceipt::Pending { command }));
                    }
                }
            }
        };
        Ok(CommandReceipt(match reply {
            CommandReply::Story(story) => ApiReceipt::Added { story: story.into() },
            CommandReply::Run(run) => ApiReceipt::Queued { run: run.to_string() },
            CommandReply::Sent => ApiReceipt::Sent,
            CommandReply::Done | CommandReply::Offered => ApiReceipt::Done,
        }))
    }
}

impl IntoResponse for CommandReceipt {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            ApiReceipt::Added { .. } | ApiReceipt::Queued { .. } => StatusCode::CREATED,
            ApiReceipt::Done | ApiReceipt::Sent => StatusCode::OK,
            ApiReceipt::Pending { .. } => StatusCode::ACCEPTED,
        };
        (status, Json(self.0)).into_response()
    }
}

impl From<PoolError> for ProblemReply {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Refused(refusal) => refusal.into(),
            PoolError::NoRun { .. } => Self::new(
                StatusCode::NOT_FOUND,
                "no_such_run",
                error.to_string(),
                "start a run on the story first",
            ),
            PoolError::KeyReused { .. } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "key_reused",
                error.to_string(),
                "make a new key for each request, and send the same key only with the same request",
            ),
            PoolError::NoRoom { .. } => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "no_room",
                error.to_string(),
                "make room on the disk of the state directory, and send it again",
            ),
            PoolError::Broken { .. } => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "pool_broken",
                error.to_string(),
                "see that the state directory can be written, and start the server again",
            ),
            PoolError::Closed => Self::busy("closing", error.to_string(), 5),
        }
    }
}
