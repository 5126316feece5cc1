//! Grants that outlive a session: written down before the answer that gives them is offered.

use std::path::PathBuf;

use axum::http::StatusCode;
use musher_core::{AskId, Rule, RuleError};

use crate::api::Api;
use crate::api::asks::AskReply;
use crate::api::asks::scopes;
use crate::api::problem::ProblemReply;
use crate::config::ConfigErrors;
use crate::config::local::{LocalError, LocalGrant};
use crate::journal::AskPhase;
use crate::pool::RunName;
use crate::runner::spec::RunSpec;

/// A tool rule that a client wrote.
pub(in crate::api) fn rule(text: &str) -> Result<Rule, ProblemReply> {
    let bad = |error: RuleError| {
        let hint = "write the rule as it was offered";
        ProblemReply::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_rule", error.to_string(), hint)
    };
    text.parse().map_err(bad)
}

impl Api {
    /// Keeps a rule that answers an ask. An ask that is closed is left to the pool, which tells what won.
    pub(in crate::api) async fn grant(
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
            AskPhase::Open => {}
            AskPhase::Offered | AskPhase::Answered | AskPhase::Closed => return Ok(()),
        }
        let (api, rule) = (self.clone(), rule.clone());
        let at = Some((self.clock)());
        let kept = move || {
            let asked = AskReply::read(view, &api);
            let spec = RunSpec::read(&api.bus.folder(id));
            // A run without a spec has no folder that a rule could speak of.
            let cwd = spec.map_or_else(|_| PathBuf::from("/"), |spec| spec.cwd);
            scopes::check(&asked, &rule, &cwd)?;
            let (agent, story, run) = (run.agent, Some(run.story), Some(id));
            api.settings.local().grant(LocalGrant { agent, rule, story, run, at })?;
            Ok(())
        };
        self.blocking(kept).await?
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
