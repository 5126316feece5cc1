//! What goes wrong, in words that every wire format can put into its vendor's own.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    NoKey,
    WrongKey,
    Forbidden,
    NoModel(String),
    NoPath(String),
    TooLarge,
    NotJson,
    /// The request is wrong in a way that no vendor has words for.
    Invalid(String),
    ContextFull,
    /// The prompt itself is not allowed.
    Blocked,
    Credit,
    /// The plan's limit is reached, until this second of the wall clock.
    Limit {
        reset: u64,
        claim: String,
    },
    Rate,
    Overloaded,
    Status(u16),
}

/// A trouble, with what the server says about trying again.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) trouble: Trouble,
    /// Replaces the vendor's message.
    pub(super) say: Option<String>,
    pub(super) retry: Option<bool>,
    /// Seconds until another try is welcome.
    pub(super) after: Option<String>,
    pub(super) after_ms: Option<String>,
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        Self { trouble, say: None, retry: None, after: None, after_ms: None }
    }
}

impl Fault {
    /// The headers about trying again, with the vendor's own word on it unless the scenario has another.
    pub(super) fn retry_headers(&self, vendor: Option<bool>) -> Vec<(&'static str, String)> {
        let retry = self.retry.or(vendor).map(|retry| ("x-should-retry", retry.to_string()));
        let after = self.after.clone().map(|seconds| ("retry-after", seconds));
        let after_ms = self.after_ms.clone().map(|ms| ("retry-after-ms", ms));
        retry.into_iter().chain(after).chain(after_ms).collect()
    }

    pub(super) fn words(&self, vendor: impl Into<String>) -> String {
        self.say.clone().unwrap_or_else(|| vendor.into())
    }
}

/// An error answer, ready to be sent.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) body: Value,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Refusal {
    pub(super) fn response(&self) -> Response {
        let mut response = Response::new(Body::from(self.body.to_string()));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        set(&mut response, "content-type", "application/json");
        for (name, value) in &self.headers {
            set(&mut response, name, value);
        }
        response
    }
}

/// Sets a header; a value that HTTP cannot carry is left out.
pub(super) fn set(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}
