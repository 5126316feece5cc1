//! Grants that outlive a session: whether a rule answers its ask. The pool decides whether it is granted.

use std::path::PathBuf;

use axum::http::StatusCode;
use musher_core::{AskId, Rule, RuleError};

use crate::api::Api;
use crate::api::asks::AskReply;
use crate::api::asks::scopes;
use crate::api::problem::ProblemReply;
use crate::config::ConfigErrors;
use crate::config::local::LocalError;
use crate::journal::AskPhase;
use crate::pool::RunName;

/// A tool rule that a client wrote.
pub(in crate::api) fn rule(text: &str) -> Result<Rule, ProblemReply> {
    let bad = |error: RuleError| {
        let hint = "write the rule as it was offered";
        ProblemReply::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_rule", error.to_string(), hint)
    };
    text.parse().map_err(bad)
}

impl Api {
    /// Checks that a rule covers what was asked. An ask that is closed is left to the pool, which tells what won.
    pub(in crate::api) async fn check_grant(
        &self,
        run: &RunName,
        ask: &AskId,
        rule: &Rule,
    ) -> Result<(), ProblemReply> {
        let run = self.run(run).await?;
        let (id, named) = (run.id, ask.clone());
        let Some(view) = self.view(move |views| views.ask(id, &named)).await? else {
            return Ok(());
        };
        match view.state {
            // An answer that was offered may be refused, and then the ask is open again.
            AskPhase::Open | AskPhase::Offered => {}
            AskPhase::Answered | AskPhase::Closed => return Ok(()),
        }
        let (api, rule) = (self.clone(), rule.clone());
        let checked = move || {
            let asked = AskReply::read(view, &api);
            let spec = api.bus.logs().spec(id);
            // A run without a spec has no folder that a rule could speak of.
            let cwd = spec.map_or_else(|_| PathBuf::from("/"), |spec| spec.cwd);
            scopes::check(&asked, &rule, &cwd)
        };
        self.blocking(checked).await?
    }
}

impl From<ConfigErrors> for ProblemReply {
    fn from(errors: ConfigErrors) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "local_file_broken",
            errors.to_string(),
            "correct local.toml by hand, or take it away; nothing in it counts until then",
        )
    }
}

impl From<LocalError> for ProblemReply {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::Broken(errors) => errors.into(),
            LocalError::BadRule { .. } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "bad_rule",
                error.to_string(),
                "write the rule as it was offered",
            ),
            LocalError::Full { .. } => Self::new(
                StatusCode::CONFLICT,
                "too_many_grants",
                error.to_string(),
                "take some back, or write a wider rule into the project file",
            ),
            LocalError::Write { .. } => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "local_file_unwritten",
                error.to_string(),
                "see that the state directory can be written, and send it again",
            ),
        }
    }
}
