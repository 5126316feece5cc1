//! Tokens for browsers and programs: what they are called, when they were used, and how they are taken back.

pub(super) mod add;
pub(super) mod list;
pub(super) mod revoke;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use crate::home::{AccessToken, HeldToken, TokenAccess, TokensError};

/// What a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TokenScope {
    /// Everything.
    Full,
    /// `/mcp` and nothing else.
    Operator,
}

impl From<TokenAccess> for TokenScope {
    fn from(scope: TokenAccess) -> Self {
        match scope {
            TokenAccess::Full => Self::Full,
            TokenAccess::Operator => Self::Operator,
        }
    }
}

impl From<TokenScope> for TokenAccess {
    fn from(scope: TokenScope) -> Self {
        match scope {
            TokenScope::Full => Self::Full,
            TokenScope::Operator => Self::Operator,
        }
    }
}

impl Api {
    /// Makes a token.
    pub(super) async fn add_token(
        &self,
        name: String,
        scope: TokenAccess,
    ) -> Result<(HeldToken, AccessToken), ProblemReply> {
        let (tokens, now) = (self.access.tokens().clone(), (self.clock)());
        Ok(self.blocking(move || tokens.add(&name, scope, now)).await??)
    }
}

impl From<TokensError> for ProblemReply {
    fn from(error: TokensError) -> Self {
        let (status, code, hint) = match error {
            TokensError::BadName => {
                (StatusCode::UNPROCESSABLE_ENTITY, "bad_name", "give it a short, plain name")
            }
            TokensError::TooMany => {
                (StatusCode::CONFLICT, "too_many_tokens", "take some back that nobody uses")
            }
            TokensError::NoSuchToken { .. } => {
                (StatusCode::NOT_FOUND, "no_such_token", "list the tokens to see their ids")
            }
            TokensError::Write { .. } => (
                StatusCode::INSUFFICIENT_STORAGE,
                "tokens_unwritten",
                "see that the state directory can be written, and send it again",
            ),
        };
        Self::new(status, code, error.to_string(), hint)
    }
}
