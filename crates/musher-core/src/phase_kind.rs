//! The phase of a run in a word, as journals, the API and the command line write it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a run is, without what belongs to it there. A run that is over has no other phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPhaseKind {
    /// It waits for a place.
    #[default]
    Queued,
    /// Its worktree is being made.
    Preparing,
    /// Its runner is being started.
    Starting,
    /// Its runner is up.
    Live,
    /// Its runner is gone without an outcome.
    Closing,
    /// It has ended, and what it left is being committed.
    Finishing,
    Over,
    /// Something that only a newer build says.
    #[serde(other)]
    Unknown,
}

impl RunPhaseKind {
    /// The word, which never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Preparing => "preparing",
            Self::Starting => "starting",
            Self::Live => "live",
            Self::Closing => "closing",
            Self::Finishing => "finishing",
            Self::Over => "over",
            Self::Unknown => "unknown",
        }
    }

    pub fn is_over(self) -> bool {
        self == Self::Over
    }
}

impl fmt::Display for RunPhaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_read_as_it_is_written_and_a_new_one_is_unknown() {
        use RunPhaseKind::*;
        for kind in [Queued, Preparing, Starting, Live, Closing, Finishing, Over] {
            let json = serde_json::to_string(&kind).unwrap_or_default();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<RunPhaseKind>(&json).ok(), Some(kind));
        }
        assert_eq!(serde_json::from_str::<RunPhaseKind>("\"parked_until\"").ok(), Some(Unknown));
    }
}
