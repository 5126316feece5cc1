//! The permission modes of our own agents: what they do without asking where no rule says anything.

use musher_core::{ErrorClass, ErrorInfo, ToolKind};

/// How free an agent is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// It looks around freely and asks before it changes or runs anything.
    #[default]
    Ask,
    /// It changes files freely and asks before it runs anything.
    Edit,
    /// It does everything that no rule forbids.
    Free,
}

impl Mode {
    pub(super) fn read(name: &str) -> Result<Self, ErrorInfo> {
        match name {
            "ask" => Ok(Self::Ask),
            "edit" => Ok(Self::Edit),
            "free" => Ok(Self::Free),
            other => {
                let message = format!("there is no permission mode `{}`", other.escape_debug());
                Err(ErrorInfo::new(ErrorClass::Config, message)
                    .with_hint("use one of ask, edit, free"))
            }
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edit => "edit",
            Self::Free => "free",
        }
    }

    /// Whether a call is made without asking when no rule settles it.
    pub(super) fn allows(self, kind: ToolKind) -> bool {
        match kind {
            ToolKind::Read
            | ToolKind::Search
            | ToolKind::Question
            | ToolKind::Plan
            | ToolKind::Other => true,
            ToolKind::Edit => self != Self::Ask,
            ToolKind::Execute | ToolKind::Fetch | ToolKind::Mcp | ToolKind::Subagent => {
                self == Self::Free
            }
        }
    }
}
