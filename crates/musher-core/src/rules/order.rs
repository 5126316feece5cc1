//! Which of two rules is more specific: the one whose uses are all among those of the other.
//!
//! Only what the texts of both rules prove counts. Rules of which neither contains the other are not ordered, and then
//! the more careful one wins.

use super::wildcard::{self, Star};
use super::{Rule, ToolUse, command, path};
use crate::ToolKind;

/// Every kind of tool, as rules name them.
pub(super) const KINDS: [ToolKind; 10] = [
    ToolKind::Read,
    ToolKind::Edit,
    ToolKind::Search,
    ToolKind::Execute,
    ToolKind::Fetch,
    ToolKind::Mcp,
    ToolKind::Subagent,
    ToolKind::Question,
    ToolKind::Plan,
    ToolKind::Other,
];

impl Rule {
    /// Whether all that `narrow` fits is fitted by this rule too, as far as their texts tell.
    pub fn covers(&self, narrow: &Self) -> bool {
        let kind = narrow.kind().or(self.kind());
        self.covers_tool(narrow, None) && self.covers_pattern(narrow, kind)
    }

    /// Whether this rule is strictly narrower than another one, as far as this use goes.
    pub(super) fn is_more_specific(&self, wide: &Self, tool_use: &ToolUse<'_>) -> bool {
        let covers = |wide: &Self, narrow: &Self| {
            wide.covers_tool(narrow, Some(tool_use))
                && wide.covers_pattern(narrow, Some(tool_use.kind))
        };
        covers(wide, self) && !covers(self, wide)
    }

    /// The kind of tool that the rule names, if it names one.
    pub(super) fn kind(&self) -> Option<ToolKind> {
        KINDS.into_iter().find(|kind| self.tool.eq_ignore_ascii_case(kind.as_str()))
    }

    /// A tool's own name is narrower than its kind, which only a use can tell; both are narrower than `*`.
    fn covers_tool(&self, narrow: &Self, tool_use: Option<&ToolUse<'_>>) -> bool {
        let (wide, named) = (self.tool.to_lowercase(), narrow.tool.to_lowercase());
        if wide == "*" || wide == named {
            return true;
        }
        if narrow.kind().is_some() {
            return false;
        }
        match (self.kind(), tool_use) {
            (Some(kind), Some(tool_use)) => {
                kind == tool_use.kind && named == tool_use.tool.to_lowercase()
            }
            (Some(_), None) => false,
            (None, _) => {
                begins_like(&wide, &named)
                    || (is_literal(&named) && wildcard::matches(&wide, &named, Star::Any))
            }
        }
    }

    fn covers_pattern(&self, narrow: &Self, kind: Option<ToolKind>) -> bool {
        let (wide, narrow) = match (self.own_pattern(kind), narrow.own_pattern(kind)) {
            (None, _) => return true,
            (Some(_), None) => return false,
            (Some(wide), Some(narrow)) => (wide, narrow),
        };
        wide == narrow
            || match kind {
                Some(ToolKind::Execute) => command::covers(wide, narrow),
                Some(ToolKind::Read | ToolKind::Edit | ToolKind::Search) => {
                    path::covers(wide, narrow)
                }
                Some(_) => {
                    begins_like(wide, narrow)
                        || (is_literal(narrow) && wildcard::matches(wide, narrow, Star::Any))
                }
                // What a pattern is compared with depends on the kind, so nothing is known here.
                None => false,
            }
    }

    /// The pattern, unless it fits everything that the rule could be about.
    fn own_pattern(&self, kind: Option<ToolKind>) -> Option<&str> {
        let everything = match kind {
            Some(ToolKind::Read | ToolKind::Edit | ToolKind::Search) => "/**",
            Some(_) => "*",
            None => "",
        };
        self.pattern.as_deref().filter(|pattern| *pattern != everything)
    }
}

/// Whether a pattern that ends with its only star fits whatever another one fits.
pub(super) fn begins_like(wide: &str, narrow: &str) -> bool {
    let prefix = wide.strip_suffix('*').filter(|prefix| is_literal(prefix));
    prefix.is_some_and(|prefix| narrow.starts_with(prefix))
}

/// Whether a pattern means only itself.
pub(super) fn is_literal(text: &str) -> bool {
    !text.contains(['*', '?'])
}
