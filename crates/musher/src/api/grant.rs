//! Grants that outlive a session: written down before the answer that gives them is offered.

use axum::http::StatusCode;
use musher_core::{Approval, Ask, AskId, Rule, RuleError, ToolRules, ToolUse, Verdict};

use super::Api;
use super::asks::AskNow;
use super::problem::Problem;
use crate::config::ConfigErrors;
use crate::config::local::{Grant, LocalError};
use crate::journal::AskPhase;
use crate::pool::RunName;

/// A tool rule that a client wrote.
pub(super) fn rule(text: &str) -> Result<Rule, Problem> {
    let bad = |error: RuleError| {
        let hint = "write the rule as it was offered";
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_rule", error.to_string(), hint)
    };
    text.parse().map_err(bad)
}

impl Api {
    /// Keeps a rule that answers an ask. An ask that is closed is left to the pool, which tells what won.
    pub(super) async fn grant(
        &self,
        run: &RunName,
        ask: &AskId,
        rule: &Rule,
    ) -> Result<(), Problem> {
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
            let asked = AskNow::read(view, &api);
            check_offered(&asked, &rule)?;
            let (agent, story, run) = (run.agent, Some(run.story), Some(id));
            api.settings.local().grant(Grant { agent, rule, story, run, at })?;
            Ok(())
        };
        self.blocking(kept).await?
    }
}

/// Nobody grants more than was asked for.
fn check_offered(asked: &AskNow, rule: &Rule) -> Result<(), Problem> {
    let Some(offered) = &asked.rule else {
        return Err(not_offered("no rule can safely be granted for this", "allow it once instead"));
    };
    let narrower = || match &asked.body {
        Some(Ask::Approval(approval)) => offered.covers(rule) && fits(rule, approval),
        Some(Ask::Question { .. } | Ask::Plan { .. } | Ask::Form { .. }) | None => false,
    };
    match rule == offered || narrower() {
        true => Ok(()),
        false => Err(not_offered(
            format!("`{rule}` is not what was asked for"),
            format!("grant `{offered}`, or a narrower rule that still fits what is asked"),
        )),
    }
}

/// Whether a rule fits by its text alone; what leads elsewhere on the disk is never narrowed.
fn fits(rule: &Rule, approval: &Approval) -> bool {
    let alone = ToolRules { granted: vec![rule.clone()], ..ToolRules::default() };
    let wanted = ToolUse {
        tool: &approval.tool,
        kind: approval.tool_kind,
        subject: approval.subject.as_deref(),
        resolved: None,
        texts: &[],
        cwd: "/",
        unseen: approval.shortened.is_some(),
    };
    matches!(alone.verdict(&wanted), Verdict::Allow(_))
}

fn not_offered(
    detail: impl Into<String>,
    hint: impl Into<std::borrow::Cow<'static, str>>,
) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "rule_not_offered", detail, hint)
}

impl From<ConfigErrors> for Problem {
    fn from(errors: ConfigErrors) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "local_file_broken",
            errors.to_string(),
            "correct local.toml by hand, or take it away; nothing in it counts until then",
        )
    }
}

impl From<LocalError> for Problem {
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
