//! One thing that was looked at.

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiagnosticVerdict {
    Ok,
    /// It works, with a weaker guarantee.
    Warn,
    /// It does not work.
    Bad,
}

impl DiagnosticVerdict {
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
pub(crate) struct Diagnostic {
    pub(crate) name: &'static str,
    pub(crate) verdict: DiagnosticVerdict,
    pub(crate) says: String,
    pub(crate) fix: Option<String>,
}

impl Diagnostic {
    pub(crate) fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, verdict: DiagnosticVerdict::Ok, says: says.into(), fix: None }
    }

    pub(crate) fn warn(
        name: &'static str,
        says: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { name, verdict: DiagnosticVerdict::Warn, says: says.into(), fix: Some(fix.into()) }
    }

    pub(crate) fn bad(name: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, verdict: DiagnosticVerdict::Bad, says: says.into(), fix: Some(fix.into()) }
    }
}
