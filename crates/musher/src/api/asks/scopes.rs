//! The rules that can be granted in answer to an ask, and whether a rule that a person wrote is one of them.

use std::path::Path;

use axum::http::StatusCode;
use musher_client::api::ApiScope;
use musher_core::{Approval, Ask, Rule, RuleScope, ToolKind, ToolRules, ToolUse, Verdict};

use crate::api::asks::AskReply;
use crate::api::problem::ProblemReply;

/// Any folder will do: what is offered for a path is already seen from the working folder, or from the top of the disk.
const FOLDER: &str = "/worktree/of/the/run";

/// From the exact rule to the widest; nothing where no rule is safe.
pub(in crate::api) fn of(body: Option<&Ask>, offered: Option<&Rule>) -> Vec<ApiScope> {
    let (Some(Ask::Approval(approval)), Some(offered)) = (body, offered) else {
        return Vec::new();
    };
    let mut scopes = Rule::scopes(&wanted(approval, offered, FOLDER));
    if scopes.iter().all(|scope| scope.rule != *offered) {
        scopes.insert(0, RuleScope { rule: offered.clone(), label: format!("`{offered}`") });
    }
    let now = |RuleScope { rule, label }| ApiScope { rule, label };
    scopes.into_iter().map(now).collect()
}

/// A person may grant any rule that covers what is asked, as long as something can be granted for it at all.
pub(in crate::api) fn check(asked: &AskReply, rule: &Rule, cwd: &Path) -> Result<(), ProblemReply> {
    let (Some(offered), Some(Ask::Approval(approval))) = (&asked.rule, &asked.body) else {
        return Err(refused("no rule can safely be granted for this", "allow it once instead"));
    };
    if rule == offered {
        return Ok(());
    }
    if rule.names_every_tool() {
        return Err(refused(
            format!("`{rule}` would allow every tool, and this ask is about one"),
            format!("grant `{offered}`, or write the wider rule into the project file"),
        ));
    }
    let alone = ToolRules { granted: vec![rule.clone()], ..ToolRules::default() };
    match alone.verdict(&wanted(approval, offered, &cwd.to_string_lossy())) {
        Verdict::Allow(_) => Ok(()),
        Verdict::Deny(_) | Verdict::Ask(_) | Verdict::Unsettled => Err(refused(
            format!("`{rule}` does not cover what is asked"),
            format!("grant `{offered}`, or a rule that fits `{}`", subject(approval, offered)),
        )),
    }
}

/// The call that is asked about, as rules see it. Where a path leads was found out when the ask was opened.
fn wanted<'a>(approval: &'a Approval, offered: &'a Rule, cwd: &'a str) -> ToolUse<'a> {
    ToolUse {
        tool: &approval.tool,
        kind: approval.tool_kind,
        subject: match approval.tool_kind {
            ToolKind::Read | ToolKind::Edit | ToolKind::Search => offered.pattern(),
            ToolKind::Execute
            | ToolKind::Fetch
            | ToolKind::Mcp
            | ToolKind::Subagent
            | ToolKind::Question
            | ToolKind::Plan
            | ToolKind::Other => approval.subject.as_deref(),
        },
        resolved: None,
        texts: &[],
        cwd,
        unseen: approval.shortened.is_some(),
    }
}

fn subject(approval: &Approval, offered: &Rule) -> String {
    let subject = approval.subject.clone();
    subject.unwrap_or_else(|| offered.pattern().unwrap_or(&approval.tool).to_owned())
}

fn refused(
    detail: impl Into<String>,
    hint: impl Into<std::borrow::Cow<'static, str>>,
) -> ProblemReply {
    ProblemReply::new(StatusCode::UNPROCESSABLE_ENTITY, "rule_not_offered", detail, hint)
}
