//! A request as it came in: what the wire formats read, and what a test may look at afterwards.

use std::collections::BTreeMap;

use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Uri};
use bytes::Bytes;
use serde_json::Value;

use super::image::{self, Image};

/// Keys that begin like this are refused by every wire format.
const WRONG_KEY: &str = "wrong";

/// A model request as the server received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which line of the ledger it is; old requests are forgotten, their lines are not.
    pub call: usize,
    pub path: String,
    /// What stood after the question mark, without it.
    pub query: String,
    /// By lower-case name; the last of several values counts.
    pub headers: BTreeMap<String, String>,
    pub body: Bytes,
}

impl Request {
    /// The body as JSON, or null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The images in it, in the order in which they stand there, whatever the wire format.
    pub fn images(&self) -> Vec<Image> {
        let mut found = Vec::new();
        image::gather(&self.json(), &mut found);
        found
    }

    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A request on its way to an answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    /// An object; null when the body could not be read as one.
    pub(super) body: Value,
    pub(super) state: BodyState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyState {
    Read,
    TooLarge,
    NotJson,
}

impl Asked {
    /// Reads a request; what is wrong with its body is told in the vendor's words later.
    pub(super) fn new(
        uri: &Uri,
        headers: HeaderMap,
        body: Result<Bytes, BytesRejection>,
    ) -> (Self, Request) {
        let (bytes, state) = match body {
            Ok(bytes) => (bytes, BodyState::NotJson),
            Err(_) => (Bytes::new(), BodyState::TooLarge),
        };
        let (body, state) = match serde_json::from_slice(&bytes) {
            Ok(body @ Value::Object(_)) => (body, BodyState::Read),
            Ok(_) | Err(_) => (Value::Null, state),
        };
        let path = uri.path().to_owned();
        let query = uri.query().unwrap_or_default().to_owned();
        let seen = headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let kept = Request {
            call: 0,
            path: path.clone(),
            query: query.clone(),
            headers: seen.collect(),
            body: bytes,
        };
        (Self { path, query, headers, body, state }, kept)
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(super) fn bearer(&self) -> &str {
        self.header("authorization").strip_prefix("Bearer ").unwrap_or_default()
    }

    /// Whether the client wants an answer without any call.
    pub(super) fn forbids_calls(&self) -> bool {
        let choice = &self.body["tool_choice"];
        choice == "none"
            || choice["type"] == "none"
            || self.body["toolConfig"]["functionCallingConfig"]["mode"] == "NONE"
    }

    /// The value of a query parameter; the few that are used need no decoding.
    pub(super) fn parameter(&self, name: &str) -> &str {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }
}

/// What a key is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Missing,
    Wrong,
    Good,
}

impl Key {
    /// Any key is good, save one that says itself that it is wrong.
    pub(super) fn judge(key: &str) -> Self {
        match key.trim() {
            "" => Self::Missing,
            key if key.starts_with(WRONG_KEY) => Self::Wrong,
            _ => Self::Good,
        }
    }
}

/// The entries of a JSON array; none for anything else.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
