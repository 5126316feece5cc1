//! Tokens for browsers and programs: what they are called, when they were used, and how they are taken back.

pub(super) mod add;
pub(super) mod list;
pub(super) mod revoke;

use axum::http::StatusCode;
use musher_client::api::ApiTokenScope;

use super::Api;
use super::problem::ProblemReply;
use crate::home::{AccessToken, HeldToken, TokenAccess, TokensError};

fn scope_now(access: TokenAccess) -> ApiTokenScope {
    match access {
        TokenAccess::Full => ApiTokenScope::Full,
        TokenAccess::Operator => ApiTokenScope::Operator,
    }
}

fn access_of(scope: ApiTokenScope) -> TokenAccess {
    match scope {
        ApiTokenScope::Full => TokenAccess::Full,
        ApiTokenScope::Operator => TokenAccess::Operator,
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
