//! How requests are read: whatever is wrong with one becomes a problem that says where.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use musher_core::{Actor, AgentName, AskId, IdError, RunId, StoryId};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::access;
use super::problem::ProblemReply;
use crate::pool::{Idempotency, RunName};

/// The longest body that is read.
pub(super) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long the sender of a command waits for the last word on it, at most.
const COMMAND_REPLY_TIMEOUT: Duration = Duration::from_secs(10);

const PREFER: HeaderName = HeaderName::from_static("prefer");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request that wants something changed.
#[derive(Debug)]
pub(super) struct ChangeRequest<T> {
    pub(super) body: T,
    pub(super) terms: Terms,
}

/// How a command is to be done.
#[derive(Debug)]
pub(super) struct Terms {
    /// Who wants it.
    pub(super) by: Actor,
    /// The key by which it is done only once.
    pub(super) once: Option<Idempotency>,
    /// How long its sender waits for the last word on it.
    pub(super) patience: Duration,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for ChangeRequest<T> {
    type Rejection = ProblemReply;

    async fn from_request(request: Request, state: &S) -> Result<Self, ProblemReply> {
        let key = key(&request)?;
        let (by, patience) = (access::actor(&request), patience(&request));
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let bytes = Bytes::from_request(request, state).await.map_err(|error| unread(&error))?;
        let once = key.map(|key| {
            // Lengths stand before the parts, so that no two requests give the same bytes.
            let mut hash = Sha256::new();
            for part in [method.as_str().as_bytes(), path.as_bytes(), &bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            let request_hash = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            Idempotency { key, request_hash }
        });
        // A body in which everything may be left out may be left out itself.
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let body = serde_json::from_slice(text).map_err(|error| misread(&error))?;
        // A list would do where fields have no names.
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err(wrong_body("it is not an object"));
        }
        Ok(Self { body, terms: Terms { by, once, patience } })
    }
}

fn key(request: &Request) -> Result<Option<String>, ProblemReply> {
    let mut given = request.headers().get_all(IDEMPOTENCY_KEY).iter();
    let key = match (given.next(), given.next()) {
        (None, _) => return Ok(None),
        (Some(key), None) => key.as_bytes(),
        (Some(_), Some(_)) => b"",
    };
    let fits = (1..=128).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
    match std::str::from_utf8(key) {
        Ok(key) if fits => Ok(Some(key.to_owned())),
        _ => Err(ProblemReply::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_key",
            "the Idempotency-Key cannot be one",
            "send one key of 1 to 128 visible ASCII characters without spaces",
        )),
    }
}

/// What the sender prefers (RFC 7240), as far as it is less than what everybody is given.
fn patience(request: &Request) -> Duration {
    let given = request.headers().get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let seconds = given
        .flat_map(|value| value.split(','))
        .find_map(|preference| preference.trim().strip_prefix("wait=")?.parse().ok());
    seconds.map_or(COMMAND_REPLY_TIMEOUT, |seconds| {
        Duration::from_secs(seconds).min(COMMAND_REPLY_TIMEOUT)
    })
}

fn unread(error: &BytesRejection) -> ProblemReply {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => body_too_large(MAX_BODY_BYTES),
        _ => body_unread(),
    }
}

pub(super) fn body_too_large(longest: usize) -> ProblemReply {
    ProblemReply::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        format!("the body is longer than {longest} bytes"),
        "send less",
    )
}

pub(super) fn body_unread() -> ProblemReply {
    ProblemReply::new(
        StatusCode::BAD_REQUEST,
        "body_unread",
        "the body ended before its end",
        "send the request again",
    )
}

fn misread(error: &serde_json::Error) -> ProblemReply {
    use serde_json::error::Category;
    match error.classify() {
        Category::Data => wrong_body(&error.to_string()),
        Category::Syntax | Category::Eof | Category::Io => ProblemReply::new(
            StatusCode::BAD_REQUEST,
            "malformed_json",
            format!("the body is not JSON: {error}"),
            "correct the body at that line and column",
        ),
    }
}

fn wrong_body(why: &str) -> ProblemReply {
    ProblemReply::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "wrong_body",
        format!("the body does not say what is needed: {why}"),
        "see /openapi.json for what this path takes",
    )
}

/// The parameters after the `?`.
#[derive(Debug)]
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ProblemReply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemReply> {
        let read: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, state).await;
        read.map(|Query(params)| Self(params)).map_err(|error| bad_query(&error.body_text()))
    }
}

/// A parameter that cannot be used.
pub(super) fn bad_query(detail: &str) -> ProblemReply {
    ProblemReply::new(
        StatusCode::BAD_REQUEST,
        "bad_query",
        detail,
        "see /openapi.json for the parameters that this path takes",
    )
}

/// The story in a path.
#[derive(Debug)]
pub(super) struct OfStory(pub(super) StoryId);

impl<S: Send + Sync> FromRequestParts<S> for OfStory {
    type Rejection = ProblemReply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemReply> {
        let story: String = segments(parts, state).await?;
        StoryId::parse(&story).map(Self).map_err(|error| ProblemReply::bad_id(&error))
    }
}

/// The run in a path.
#[derive(Debug)]
pub(super) struct OfRun(pub(super) RunName);

impl<S: Send + Sync> FromRequestParts<S> for OfRun {
    type Rejection = ProblemReply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemReply> {
        let run: String = segments(parts, state).await?;
        run_name(&run).map(Self).map_err(|error| ProblemReply::bad_id(&error))
    }
}

/// The ask in a path, and its run.
#[derive(Debug)]
pub(super) struct OfAsk(pub(super) RunName, pub(super) AskId);

impl<S: Send + Sync> FromRequestParts<S> for OfAsk {
    type Rejection = ProblemReply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemReply> {
        let (run, ask): (String, String) = segments(parts, state).await?;
        let run = run_name(&run).map_err(|error| ProblemReply::bad_id(&error))?;
        Ok(Self(run, ask.into()))
    }
}

/// The token in a path, by its id.
#[derive(Debug)]
pub(super) struct OfToken(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for OfToken {
    type Rejection = ProblemReply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemReply> {
        Ok(Self(segments(parts, state).await?))
    }
}

/// The number of an event in a path, and its run.
#[derive(Debug)]
pub(super) struct OfEvent(pub(super) RunName, pub(super) u64);

impl<S: Send + Sync> FromRequestParts<S> for OfEvent {
    type Rejection = ProblemReply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemReply> {
        let (run, seq): (String, u64) = segments(parts, state).await?;
        let run = run_name(&run).map_err(|error| ProblemReply::bad_id(&error))?;
        Ok(Self(run, seq))
    }
}

/// A run as a person names it: `r12`, or `STORY` or `STORY:AGENT` for the latest.
fn run_name(text: &str) -> Result<RunName, IdError> {
    if let Ok(run) = RunId::parse(text) {
        return Ok(RunName::Id(run));
    }
    let (story, agent) = match text.split_once(':') {
        Some((story, agent)) => (story, Some(AgentName::parse(agent)?)),
        None => (text, None),
    };
    Ok(RunName::Latest { story: StoryId::parse(story)?, agent })
}

/// A message that waits in a run, of those that the path names.
#[derive(Debug)]
pub(super) struct OfQueued(pub(super) RunName, pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for OfQueued {
    type Rejection = ProblemReply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemReply> {
        let (run, id): (String, String) = segments(parts, state).await?;
        let run = run_name(&run).map_err(|error| ProblemReply::bad_id(&error))?;
        Ok(Self(run, id))
    }
}

async fn segments<T, S>(parts: &mut Parts, state: &S) -> Result<T, ProblemReply>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    let read: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
    read.map(|Path(value)| value).map_err(|error| {
        let hint = "write the path in UTF-8";
        ProblemReply::new(StatusCode::BAD_REQUEST, "bad_path", error.body_text(), hint)
    })
}
