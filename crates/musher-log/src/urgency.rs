//! How soon an event must be on the disk.

use musher_core::EventKind;

/// How soon what was appended must be synced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Within a second.
    #[default]
    Soon,
    /// Before anything else is done.
    Now,
}

impl Urgency {
    /// What people and programs act on is synced at once. Syncing everything at once would eat the machine that hosts
    /// a thousand runs.
    pub fn of(kind: &EventKind) -> Self {
        match kind {
            EventKind::SessionInfo(_)
            | EventKind::SessionState { .. }
            | EventKind::SessionEnded(_)
            | EventKind::TurnStarted { .. }
            | EventKind::TurnEnded(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithdrawn { .. }
            | EventKind::AskOpened { .. }
            | EventKind::AskClosed { .. }
            | EventKind::GateEnded(_) => Self::Now,
            // A partial report is for display and is not billed.
            EventKind::Usage(report) if report.partial => Self::Soon,
            EventKind::Usage(_) => Self::Now,
            EventKind::ModelChanged { .. }
            | EventKind::ItemDone { .. }
            | EventKind::ItemsRetracted { .. }
            | EventKind::Tool(_)
            | EventKind::Plan { .. }
            | EventKind::RateLimit(_)
            | EventKind::Retry { .. }
            | EventKind::Compaction { .. }
            | EventKind::Task(_)
            | EventKind::Notice { .. }
            | EventKind::Network(_)
            | EventKind::Error { .. }
            | EventKind::Native { .. }
            | EventKind::Unparsed { .. } => Self::Soon,
        }
    }
}
