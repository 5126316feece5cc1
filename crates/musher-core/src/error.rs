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

/// What a person can do about a failure, where the host has words of its own for it: a flag, a command, a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HintCode {
    /// Raise the limit on model calls, or resume the session.
    RaiseMaxTurns,
    /// Raise the limit on cost, or resume the session.
    RaiseBudget,
    /// Raise the limit on the time that a run takes.
    RaiseTimeout,
    /// Raise the limit on silence, or switch it off.
    RaiseInactivity,
    /// Start without the session that is not known.
    StartFresh,
    /// Use the version of the agent's program that was tested, or do without rules that it cannot keep.
    DropRules,
    /// Name a model that can be used.
    NameModel,
    /// Install the agent's program, or say where it is.
    NameProgram,
    /// Repair the commands that prepare the folder.
    FixSetup,
    /// A code of a later version.
    #[serde(other)]
    Unknown,
}

impl HintCode {
    /// What to do, for hosts that have no better words.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::RaiseMaxTurns => Some("raise the limit on model calls, or resume the session"),
            Self::RaiseBudget => Some("raise the budget, or resume the session"),
            Self::RaiseTimeout => Some("raise the limit, or give it a smaller piece of work"),
            Self::RaiseInactivity => {
                Some("raise the limit if its tools are slow and silent, or switch it off")
            }
            Self::StartFresh => Some("start a new session"),
            Self::DropRules => Some("use the tested version, or drop the deny and ask rules"),
            Self::NameModel => Some("name a model that this key may use"),
            Self::NameProgram => Some("install the program, or name it"),
            Self::FixSetup => Some("fix the setup command, or install what it needs"),
            Self::Unknown => None,
        }
    }
}

/// One failure as the person is told about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorInfo {
    pub class: ErrorClass,
    pub message: String,
    /// What the person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The same for programs, where a host words it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_code: Option<HintCode>,
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
            hint_code: None,
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

    /// A hint that the host words; a text that was given before stays.
    #[must_use]
    pub fn hinting(mut self, code: HintCode) -> Self {
        self.hint = self.hint.or_else(|| code.words().map(str::to_owned));
        self.hint_code = Some(code);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_of_an_older_and_of_a_newer_version_is_read() {
        let older = r#"{"class":"budget","message":"m","hint":"raise it"}"#;
        let read: ErrorInfo = serde_json::from_str(older).unwrap();
        assert_eq!((read.hint.as_deref(), read.hint_code), (Some("raise it"), None));
        assert_eq!(serde_json::to_string(&read).unwrap(), older);
        let newer = r#"{"class":"budget","message":"m","hint":"h","hint_code":"pay_by_card"}"#;
        let read: ErrorInfo = serde_json::from_str(newer).unwrap();
        assert_eq!((read.hint.as_deref(), read.hint_code), (Some("h"), Some(HintCode::Unknown)));
    }

    #[test]
    fn a_text_that_was_given_stays_and_a_code_alone_has_words() {
        let plain = ErrorInfo::new(ErrorClass::Budget, "m").hinting(HintCode::RaiseBudget);
        assert_eq!(plain.hint.as_deref(), HintCode::RaiseBudget.words());
        let own = ErrorInfo::new(ErrorClass::Unavailable, "m").with_hint("install it");
        assert_eq!(own.hinting(HintCode::NameProgram).hint.as_deref(), Some("install it"));
    }
}
