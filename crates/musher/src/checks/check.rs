//! One thing that was looked at.

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckVerdict {
    Ok,
    /// It works, with a weaker guarantee.
    Warn,
    /// It does not work.
    Bad,
}

impl CheckVerdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// One thing that was looked at, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) verdict: CheckVerdict,
    pub(crate) says: String,
    pub(crate) fix: Option<String>,
}

impl Check {
    pub(crate) fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, verdict: CheckVerdict::Ok, says: says.into(), fix: None }
    }

    pub(crate) fn warn(
        name: &'static str,
        says: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { name, verdict: CheckVerdict::Warn, says: says.into(), fix: Some(fix.into()) }
    }

    pub(crate) fn bad(name: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, verdict: CheckVerdict::Bad, says: says.into(), fix: Some(fix.into()) }
    }
}
