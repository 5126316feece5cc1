//! Why a request came to nothing.

use serde::Deserialize;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("`{url}` is not the address of a server: {why}")]
    BadUrl { url: String, why: String },
    #[error("the token holds characters that no token has")]
    BadToken,
    #[error("the server at {url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    /// There is no server at the moment.
    #[error("{0}")]
    Away(String),
    /// The server understood, and said no.
    #[error("{0}")]
    Refused(Box<ApiProblem>),
    #[error("the server's reply cannot be understood: {0}; it may be of another version")]
    Garbled(String),
}

impl ClientError {
    /// Whether the same request may well succeed in a moment: the server is away, or has too much to do.
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Away(_) => true,
            Self::Refused(problem) => matches!(problem.status, 429 | 502..=504),
            Self::BadUrl { .. } | Self::BadToken | Self::Garbled(_) => false,
        }
    }
}

/// What the server says when it says no (RFC 9457).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ApiProblem {
    pub status: u16,
    pub title: String,
    pub detail: Option<String>,
    /// A word for programs.
    pub code: Option<String>,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl ApiProblem {
    /// The problem in a response. What is not ours to read is still told by its status.
    pub fn read(status: u16, body: &[u8]) -> Self {
        let mut problem: Self = serde_json::from_slice(body).unwrap_or_default();
        problem.status = status;
        if problem.title.is_empty() {
            problem.title = format!("the server answered with status {status}");
        }
        problem
    }
}

impl std::fmt::Display for ApiProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.detail.as_deref().unwrap_or(&self.title))
    }
}

/// The innermost cause, which is the one that people understand.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it does not answer".into();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_whatever_its_body_is() {
        let body = br#"{"type":"x","title":"Conflict","status":1,"detail":"story s1 is done","code":"story_done","hint":"reopen it"}"#;
        let problem = ApiProblem::read(409, body);
        assert_eq!(problem.to_string(), "story s1 is done");
        assert_eq!((problem.status, problem.hint.as_deref()), (409, Some("reopen it")));
        for body in [&b""[..], b"<html>", b"[]", b"{\"detail\":3}"] {
            assert!(ApiProblem::read(502, body).to_string().contains("502"));
        }
    }

    #[test]
    fn only_what_can_pass_is_tried_again() {
        let refused = |status| ClientError::Refused(Box::new(ApiProblem::read(status, b"")));
        assert!(refused(503).passes());
        assert!(!refused(401).passes() && !refused(404).passes() && !refused(500).passes());
    }
}
