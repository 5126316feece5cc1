//! What the rules say to an approval.

use musher_core::{Approval, Edit, ToolKind, ToolRules, Verdict};

use super::{SessionAsks, Wanted};

impl SessionAsks {
    pub(super) fn judge(&self, approval: &Approval, rules: &ToolRules) -> Verdict {
        let several = approval.subject.is_none() && approval.tool_kind == ToolKind::Edit;
        if !several || approval.edits.is_empty() {
            return self.with_use(approval.into(), |wanted| rules.verdict(wanted));
        }
        // One act on several files: what is denied for one is denied, and what is allowed is allowed for each.
        let of = |edit: &Edit| {
            let wanted = Wanted { subject: Some(&edit.path), ..Wanted::from(approval) };
            self.with_use(wanted, |wanted| rules.verdict(wanted))
        };
        let strictest = |one: Verdict, other: Verdict| match (&one, &other) {
            (Verdict::Deny(_), _) => one,
            (_, Verdict::Deny(_)) => other,
            (Verdict::Ask(_), _) => one,
            (_, Verdict::Ask(_)) => other,
            (Verdict::Unsettled, _) => one,
            (Verdict::Allow(_), _) => other,
        };
        approval.edits.iter().map(of).reduce(strictest).unwrap_or(Verdict::Unsettled)
    }
}
