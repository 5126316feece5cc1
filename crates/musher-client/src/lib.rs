//! The client of our own HTTP API: one request, one reply, one clear error.

pub mod api;
mod error;
mod follow;
mod sse;

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

pub use error::{ApiProblem, ClientError};
pub use follow::{StreamFollower, StreamUpdate};
pub use sse::{Parser, SseMessage, Stream, TooLong};

/// How long the server may take to take a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a reply may take; the server itself gives up on a command after 10 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// Speaks to one server. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    /// Through which door commands come.
    door: &'static str,
}

/// Says which TLS the HTTP clients of this process use. Ours needs none, but no client can be built before that is settled.
pub fn prepare() {
    // Whoever was first has settled it.
    let _settled = rustls::crypto::ring::default_provider().install_default();
}

impl Client {
    /// A client of the server at this address, such as `http://127.0.0.1:7070`.
    pub fn new(url: &str, token: &str) -> Result<Self, ClientError> {
        let bad = |why: &str| ClientError::BadUrl { url: url.to_owned(), why: why.to_owned() };
        let base = Url::parse(url.trim()).map_err(|error| bad(&error.to_string()))?;
        if base.scheme() != "http" || base.host_str().is_none() {
            return Err(bad("it must begin with http:// and name a host"));
        }
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ClientError::BadToken)?;
        bearer.set_sensitive(true);
        prepare();
        let http = reqwest::Client::builder()
            // The token must not travel through a proxy, nor to where a redirect leads.
            .no_proxy()
            // The server speaks plain HTTP; a machine without certificates can speak to it as well.
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
            .build()
            .map_err(|error| bad(&error.to_string()))?;
        Ok(Self { http, base, door: "cli" })
    }

    /// The same client for an assistant, so that the server can tell who has answered.
    #[must_use]
    pub fn of_assistant(self) -> Self {
        Self { door: "assistant", ..self }
    }

    /// The address, for people.
    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Reads something below `/api/v1`.
    pub async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Document, ClientError> {
        let mut url = self.address(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.http.get(url).header(ACCEPT, "application/json").timeout(REPLY_TIMEOUT);
        self.document(request.send().await).await
    }

    /// Reads something below `/api/v1` in a shape of ours.
    pub async fn read<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ClientError> {
        self.get(path, query).await?.read()
    }

    /// Sends a command. It is named, so that sending it again after a broken connection does it once.
    pub async fn post(&self, path: &[&str], body: &Json) -> Result<Document, ClientError> {
        self.command(Method::POST, path, body).await
    }

    /// Changes something.
    pub async fn patch(&self, path: &[&str], body: &Json) -> Result<Document, ClientError> {
        self.command(Method::PATCH, path, body).await
    }

    /// Sets something.
    pub async fn put(&self, path: &[&str], body: &Json) -> Result<Document, ClientError> {
        self.command(Method::PUT, path, body).await
    }

    /// Takes something away.
    pub async fn delete(&self, path: &[&str], body: &Json) -> Result<Document, ClientError> {
        self.command(Method::DELETE, path, body).await
    }

    async fn command(
        &self,
        method: Method,
        path: &[&str],
        body: &Json,
    ) -> Result<Document, ClientError> {
        let url = self.address(path)?;
        let key = uuid::Uuid::now_v7().to_string();
        let send = || {
            let request = self.http.request(method.clone(), url.clone());
            request
                .header("musher-door", self.door)
                .header("idempotency-key", &key)
                .header(ACCEPT, "application/json")
                .header(CONTENT_TYPE, "application/json")
                .timeout(REPLY_TIMEOUT)
                .body(body.to_string())
                .send()
        };
        let sent = match send().await {
            // The connection broke in the middle, so nobody knows whether it was done; its name makes it safe to ask.
            Err(error) if !error.is_connect() && !error.is_timeout() => send().await,
            sent => sent,
        };
        self.document(sent).await
    }

    /// Opens a stream of server-sent events, after the last id that was seen.
    pub async fn stream(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        last: Option<&str>,
    ) -> Result<Stream, ClientError> {
        let mut url = self.address(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.http.get(url).header(ACCEPT, "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let opened = tokio::time::timeout(REPLY_TIMEOUT, request.send()).await;
        let response = opened.map_err(|_| self.unreachable("it does not answer"))?;
        let response = self.accepted(response).await?;
        Ok(Stream::new(response))
    }

    /// The address of something; each step is escaped, so that no name can leave its place.
    fn address(&self, path: &[&str]) -> Result<Url, ClientError> {
        let mut url = self.base.clone();
        let steps = url.path_segments_mut();
        let mut steps = steps.map_err(|()| self.unreachable("its address has no path"))?;
        steps.pop_if_empty().extend(["api", "v1"]).extend(path);
        drop(steps);
        Ok(url)
    }

    fn unreachable(&self, why: &str) -> ClientError {
        ClientError::Unreachable { url: self.url().to_owned(), why: why.to_owned() }
    }

    /// The response, if it tells of success.
    async fn accepted(
        &self,
        sent: Result<Response, reqwest::Error>,
    ) -> Result<Response, ClientError> {
        let response = sent.map_err(|error| self.unreachable(&error::cause(&error)))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let body = response.bytes().await.unwrap_or_default();
        Err(ClientError::Refused(Box::new(ApiProblem::read(status, &body))))
    }

    async fn document(
        &self,
        sent: Result<Response, reqwest::Error>,
    ) -> Result<Document, ClientError> {
        let response = self.accepted(sent).await?;
        let body = response.bytes().await;
        body.map(Document).map_err(|error| self.unreachable(&error::cause(&error)))
    }
}

/// A reply as the server wrote it.
#[derive(Debug, Clone, Default)]
pub struct Document(Bytes);

impl Document {
    /// The JSON itself.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The reply in a shape of ours.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.0).map_err(|error| ClientError::Garbled(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_outside_cannot_leave_its_place_in_the_address() {
        let client = Client::new("http://127.0.0.1:1/", "t").unwrap();
        let url = client.address(&["runs", "../x?y#z /", "stop"]).unwrap();
        assert_eq!(url.path(), "/api/v1/runs/..%2Fx%3Fy%23z%20%2F/stop");
        assert_eq!((url.query(), url.fragment()), (None, None));
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_its_reason() {
        for url in ["", "127.0.0.1:80", "https://127.0.0.1", "file:///x", "http://"] {
            let error = Client::new(url, "t").unwrap_err();
            assert!(matches!(error, ClientError::BadUrl { .. }), "{url}: {error}");
        }
        assert!(matches!(Client::new("http://h", "a\nb"), Err(ClientError::BadToken)));
    }

    #[test]
    fn the_token_is_not_shown_by_accident() {
        let client = Client::new("http://127.0.0.1:1", "hunter22").unwrap();
        assert!(!format!("{client:?}").contains("hunter22"));
    }
}
