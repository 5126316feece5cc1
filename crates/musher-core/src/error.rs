//! What can go wrong in an agent's work, sorted by what a person would do about it.

use serde::{Deserialize, Serialize};

/// The kind of a failure; the same words for every runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The key or login was refused.
    Auth,
    /// The account has no credit left.
    Billing,
    /// Too many requests; waiting helps.
    RateLimit,
    /// A subscription's window is used up until it resets.
    UsageLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The conversation no longer fits the model.
    ContextOverflow,
    /// The answer was cut at the model's output limit.
    MaxOutput,
    /// The limit on model calls was reached.
    MaxTurns,
    /// The limit on cost was reached.
    Budget,
    /// The model does not exist or may not be used.
    ModelNotFound,
    /// The session to resume is not known.
    SessionNotFound,
    /// The provider refused the request as malformed.
    InvalidRequest,
    /// The model declined.
    Refused,
    /// A rule or the permission mode forbids it.
    Policy,
    /// The provider could not be reached or broke off.
    Network,
    /// The provider failed.
    Server,
    /// What was asked for is wrong and must be corrected.
    Config,
    /// A program that is needed is not there.
    Unavailable,
    /// The program ended before it spoke.
    Startup,
    /// The program spoke something that cannot be understood.
    Protocol,
    /// The program ended without finishing its turn.
    ProcessExit,
    /// Nothing was heard for too long.
    Stalled,
    /// Our own fault.
    Internal,
    /// None of the above fits.
    Unknown,
}

/// One failure as the person is told about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorInfo {
    pub class: ErrorClass,
    pub message: String,
    /// What the person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The HTTP status that the provider gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<u16>,
    /// The provider's own word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ErrorInfo {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            hint: None,
            http: None,
            code: None,
            request_id: None,
        }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn with_http(mut self, status: Option<u16>) -> Self {
        self.http = status;
        self
    }

    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

impl std::fmt::Display for ErrorInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if let Some(status) = self.http {
            write!(f, " (HTTP {status})")?;
        }
        Ok(())
    }
}
