//! What a client is told when a request fails: one shape (RFC 9457) for everything.

use std::borrow::Cow;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use musher_client::api::ApiAsk;
use musher_core::pool::{Refusal, RefusalClass};
use musher_core::{IdError, StoryId};
use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::asks::AskReply;
use crate::journal::JournalError;
use crate::pool::RunName;
use crate::watch::WatchError;
use musher_log::LogError;

/// A request that was not done. Nothing has changed.
#[derive(Debug, Clone)]
pub struct ProblemReply {
    status: StatusCode,
    code: &'static str,
    detail: String,
    hint: Cow<'static, str>,
    retry_after: Option<u16>,
    ask: Option<Json>,
}

/// Why a request was not done, for the log.
#[derive(Debug, Clone)]
pub(super) struct Reason {
    pub(super) code: &'static str,
    pub(super) detail: String,
}

/// A problem as clients read it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ProblemBody<'a> {
    /// The kind of the problem as a URI.
    #[serde(rename = "type")]
    kind: String,
    /// The kind in a few words; the same every time.
    title: String,
    status: u16,
    /// What went wrong this time.
    detail: &'a str,
    /// The kind as a word for programs; it never changes.
    code: &'a str,
    /// What the person can do about it.
    hint: &'a str,
    /// The ask as it is now, if the problem is about one.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<&'a Json>,
}

impl ProblemReply {
    pub(super) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            hint: hint.into(),
            retry_after: None,
            ask: None,
        }
    }

    /// The server cannot do it now; the client may try again after some seconds.
    pub(super) fn busy(code: &'static str, detail: impl Into<String>, seconds: u16) -> Self {
        let hint = format!("try again in {seconds} seconds");
        let retry_after = Some(seconds);
        Self { retry_after, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail, hint) }
    }

    /// Something that the client can do nothing about. What it was is not told.
    pub(super) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the server failed at this request",
            "look at the server's log, and report it",
        )
    }

    pub(super) fn no_such_run(name: &RunName) -> Self {
        let (detail, hint) = match name {
            RunName::Id(run) => {
                (format!("there is no run {run}"), "list runs with `musher ps --all`")
            }
            RunName::Latest { story, agent: None } => {
                (format!("story {story} has no run yet"), "start one with `musher start STORY`")
            }
            RunName::Latest { story, agent: Some(agent) } => (
                format!("story {story} has no run of agent {agent}"),
                "start one with `musher start STORY --agent AGENT`",
            ),
        };
        Self::new(StatusCode::NOT_FOUND, "no_such_run", detail, hint)
    }

    /// A run was named by a story that does not exist.
    pub(super) fn no_such_run_or_story(story: &StoryId) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "no_such_run",
            format!("there is no story {story}"),
            "list the stories with `musher story list`, or name a run by its id, such as r12",
        )
    }

    /// A name in the path that nothing can have.
    pub(super) fn bad_id(error: &IdError) -> Self {
        Self::new(StatusCode::NOT_FOUND, "bad_id", error.to_string(), error.rule())
    }

    /// The problem as clients read it.
    pub(super) fn json(&self) -> Vec<u8> {
        let mut title = self.code.replace('_', " ");
        if let Some(first) = title.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let body = ProblemBody {
            kind: format!("urn:musher:problem:{}", self.code),
            title,
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            hint: &self.hint,
            ask: self.ask.as_ref(),
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }

    /// The same problem with the ask that it is about, which tells who was first.
    pub(super) fn about(mut self, ask: &AskReply) -> Self {
        if let Some(lost) = ask.lost_to() {
            self.detail = lost;
        }
        // A view is plain data, which can always be written as JSON.
        self.ask = serde_json::to_value(ApiAsk::from(ask.clone())).ok();
        self
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn code(&self) -> &'static str {
        self.code
    }
}

impl From<Refusal> for ProblemReply {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.class() {
            RefusalClass::NotFound => StatusCode::NOT_FOUND,
            RefusalClass::Conflict => StatusCode::CONFLICT,
            RefusalClass::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            RefusalClass::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
            RefusalClass::Unseen => StatusCode::PRECONDITION_REQUIRED,
        };
        Self::new(status, refusal.code(), refusal.to_string(), refusal.hint())
    }
}

impl From<&LogError> for ProblemReply {
    fn from(error: &LogError) -> Self {
        match error {
            LogError::Missing { .. } => Self::new(
                StatusCode::NOT_FOUND,
                "no_log",
                "this run has no log",
                "wait until the run has begun; the log of an old run may have been cleaned away",
            ),
            LogError::Newer { .. }
            | LogError::Damaged { .. }
            | LogError::RawDamaged { .. }
            | LogError::Exists { .. }
            | LogError::Shortened { .. }
            | LogError::Full { .. }
            | LogError::Gap { .. }
            | LogError::Encode { .. }
            | LogError::Io { .. }
            | LogError::Poisoned { .. } => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "log_unreadable",
                error.to_string(),
                "look at the run's folder in the state directory",
            ),
        }
    }
}

impl From<JournalError> for ProblemReply {
    fn from(error: JournalError) -> Self {
        let hint = "look at the state directory, and start the server again";
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(status, "journal_unreadable", error.to_string(), hint)
    }
}

impl From<WatchError> for ProblemReply {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Journal(error) => error.into(),
            WatchError::Log(error) => Self::from(&error),
            WatchError::Pool(error) => error.into(),
            WatchError::CutShort => Self::internal(),
        }
    }
}

impl IntoResponse for ProblemReply {
    fn into_response(self) -> Response {
        let kind = HeaderValue::from_static("application/problem+json");
        let reply = (self.status, [(header::CONTENT_TYPE, kind)], self.json());
        let mut response = reply.into_response();
        response.extensions_mut().insert(Reason { code: self.code, detail: self.detail });
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
