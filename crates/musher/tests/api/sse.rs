//! A reader of server-sent events, as strict as a browser.

use std::time::Duration;

use axum::body::Body;
use axum::http::request::Builder;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value as Json;
use tower::ServiceExt;

use crate::rig::{HOST, Rig, ask};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// The last id that was heard, as a browser keeps it.
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: String,
}

impl Message {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) struct Sse {
    body: Body,
    buffer: String,
    pub(crate) id: String,
    /// Comments, which are heartbeats, and blocks that only move the place.
    pub(crate) quiet: usize,
}

impl Sse {
    pub(crate) async fn open(rig: &Rig, path: &str, last: Option<&str>) -> Self {
        let mut request = ask(Method::GET, path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        Self::of(rig, path, request, last).await
    }

    /// A stream that somebody else opens.
    pub(crate) async fn with_token(rig: &Rig, path: &str, token: &str) -> Self {
        let request = Request::get(path).header(header::HOST, HOST);
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        Self::of(rig, path, request, None).await
    }

    async fn of(rig: &Rig, path: &str, request: Builder, last: Option<&str>) -> Self {
        let request = request.body(Body::empty()).unwrap();
        let response = rig.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let id = last.unwrap_or_default().to_owned();
        Self { body: response.into_body(), buffer: String::new(), id, quiet: 0 }
    }

    /// The stream as it comes.
    pub(crate) fn into_body(self) -> Body {
        self.body
    }

    /// The next message; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            while let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.buffer = rest;
                match self.read(&block) {
                    Some(message) => return Some(message),
                    None => self.quiet += 1,
                }
            }
            let frame = tokio::time::timeout(Duration::from_secs(60), self.body.frame());
            let frame = frame.await.unwrap_or_else(|_| panic!("nothing came"))?;
            let bytes = frame.unwrap().into_data().unwrap();
            self.buffer.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    fn read(&mut self, block: &str) -> Option<Message> {
        let (mut event, mut data) = ("message".to_owned(), None);
        for line in block.lines().filter(|line| !line.starts_with(':')) {
            let (field, value) = line.split_once(": ").unwrap();
            match field {
                "id" => self.id = value.to_owned(),
                "event" => event = value.to_owned(),
                "data" => assert_eq!(data.replace(value.to_owned()), None, "{block}"),
                other => panic!("{other} in {block}"),
            }
        }
        data.map(|data| Message { id: self.id.clone(), event, data })
    }

    /// The next message of one kind; others are passed over.
    pub(crate) async fn until(&mut self, event: &str) -> Message {
        loop {
            let message = self.next().await.unwrap_or_else(|| panic!("no {event} came"));
            if message.event == event {
                return message;
            }
        }
    }
}
