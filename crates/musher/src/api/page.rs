//! `GET /` and the addresses below it that are pages: the web UI, which holds no data until it has a token.

use std::borrow::Cow;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use musher_web::File;

use super::Api;
use super::problem::ProblemReply;

/// The first word of every address that shows a page. The page itself finds out what to show.
pub const PAGES: &[&str] =
    &["inbox", "board", "stories", "runs", "agents", "costs", "settings", "first"];

/// What the page may do: load its own files, speak to its own server, and nothing else. Text never becomes script: the one
/// policy that may make elements of text is the cleaner's.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types dompurify";
/// A file whose name holds its hash never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const NO_PERMISSION: HeaderName = HeaderName::from_static("permissions-policy");

/// What an address leads to, as far as the web UI goes.
enum Place<'a> {
    Page,
    Asset(&'a str),
}

/// Whether an address is part of the web UI, which anybody may load.
pub(super) fn is_open(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD) && place(path).is_some()
}

fn place(path: &str) -> Option<Place<'_>> {
    if path == "/" {
        return Some(Place::Page);
    }
    let path = path.strip_prefix('/')?;
    match path.split_once('/') {
        Some(("assets", name)) => Some(Place::Asset(name)),
        Some((first, _)) => PAGES.contains(&first).then_some(Place::Page),
        None => PAGES.contains(&path).then_some(Place::Page),
    }
}

#[utoipa::path(
    get,
    path = "/",
    tag = "health",
    operation_id = "page",
    summary = "The web UI; the addresses of its pages and of its files lead here too",
    security(()),
    responses((status = 200, content_type = "text/html", body = String))
)]
pub(super) async fn page(State(api): State<Api>, request: Request) -> Response {
    sent(&api, &request, "/")
}

/// Whatever no route knows: a page, a file of one, or nothing.
pub(super) async fn page_or_nothing(State(api): State<Api>, request: Request) -> Response {
    let path = request.uri().path();
    match is_open(request.method(), path) {
        true => sent(&api, &request, path),
        false => no_such_path(path).into_response(),
    }
}

fn sent(api: &Api, request: &Request, path: &str) -> Response {
    let text =
        |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let accepted = text(header::ACCEPT_ENCODING).unwrap_or_default();
    let (file, cached, policy) = match place(path) {
        Some(Place::Page) => (api.site.page(accepted), "no-cache", Some(POLICY)),
        Some(Place::Asset(name)) => (api.site.asset(name, accepted), FOR_EVER, None),
        None => (None, "no-store", None),
    };
    let Some(file) = file else { return no_such_path(path).into_response() };
    let known = text(header::IF_NONE_MATCH).is_some_and(|known| same(known, &file.etag));
    let mut response = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => body(&file),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cached));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(etag) = HeaderValue::from_str(&file.etag)
        && !file.etag.is_empty()
    {
        headers.insert(header::ETAG, etag);
    }
    if let Some(policy) = policy {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        let none = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
        headers.insert(NO_PERMISSION, HeaderValue::from_static(none));
    }
    response
}

fn body(file: &File) -> Response {
    let bytes = match &file.bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes.clone()),
    };
    let mut response = ([(header::CONTENT_TYPE, file.kind)], bytes).into_response();
    if let Some(encoding) = file.encoding {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// Whether a client has this already.
fn same(known: &str, etag: &str) -> bool {
    let bare = |tag: &'_ str| tag.trim().trim_start_matches("W/").to_owned();
    !etag.is_empty() && known.split(',').any(|tag| bare(tag) == etag)
}

fn no_such_path(path: &str) -> ProblemReply {
    ProblemReply::new(
        StatusCode::NOT_FOUND,
        "no_such_path",
        format!("there is nothing at {path}"),
        "see /openapi.json for the paths that there are",
    )
}
