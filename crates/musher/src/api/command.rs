//! How a wish reaches the pool, and what its sender hears.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use musher_core::pool::CommandReply;
use musher_core::{CommandId, RunId, StoryId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Api;
use super::problem::ProblemReply;
use super::request::Terms;
use crate::pool::{AcceptedCommand, PoolError, Wish};

/// What became of a command. Everything in it is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
#[schema(as = Receipt)]
pub(super) enum CommandReceipt {
    /// A story was added.
    Added {
        #[schema(value_type = String)]
        story: StoryId,
    },
    /// A run was queued.
    Queued {
        #[schema(value_type = String)]
        run: RunId,
    },
    /// It is done, or there was nothing left to do.
    Done,
    /// The run has it.
    Sent,
    /// It will be delivered; the facts in the feed with this command will tell what became of it.
    Pending {
        #[schema(value_type = String)]
        command: CommandId,
    },
}

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
                    Err(_) => return Ok(CommandReceipt::Pending { command }),
                }
            }
        };
        Ok(match reply {
            CommandReply::Story(story) => CommandReceipt::Added { story },
            CommandReply::Run(run) => CommandReceipt::Queued { run },
            CommandReply::Sent => CommandReceipt::Sent,
            CommandReply::Done | CommandReply::Offered => CommandReceipt::Done,
        })
    }
}

impl IntoResponse for CommandReceipt {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Added { .. } | Self::Queued { .. } => StatusCode::CREATED,
            Self::Done | Self::Sent => StatusCode::OK,
            Self::Pending { .. } => StatusCode::ACCEPTED,
        };
        (status, Json(self)).into_response()
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
