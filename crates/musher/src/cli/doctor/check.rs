//! One thing that was looked at.

use super::super::table::Tone;

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    /// It works, with a weaker guarantee.
    Warn,
    /// It does not work.
    Bad,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }

    pub(super) fn tone(self) -> Tone {
        match self {
            Self::Ok => Tone::Good,
            Self::Warn => Tone::Heed,
            Self::Bad => Tone::Bad,
        }
    }
}

/// One thing that was looked at, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) says: String,
    pub(super) fix: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, says: says.into(), fix: None }
    }

    pub(super) fn warn(
        name: &'static str,
        says: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { name, verdict: Verdict::Warn, says: says.into(), fix: Some(fix.into()) }
    }

    pub(super) fn bad(name: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Bad, says: says.into(), fix: Some(fix.into()) }
    }
}
