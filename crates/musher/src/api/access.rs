//! Who may speak to the server: Host, Origin and token are checked before a request is looked at any further.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use futures_util::{StreamExt, stream};
use musher_core::{Actor, Via, Who};
use tokio_util::sync::CancellationToken;

use super::problem::ProblemReply;
use super::serve::Standing;
use super::{Api, page, sse};
use crate::home::{AccessToken, Shown, TokenAccess, TokenStore};
use crate::watch::frames;

/// What may be reached without a token beside the pages; none of it holds data.
const OPEN: &[(Method, &str)] =
    &[(Method::GET, "/healthz"), (Method::HEAD, "/healthz"), (Method::POST, "/api/v1/token")];

/// What every reply says to a browser, whatever became of the request.
static SECURITY: [(HeaderName, &str); 7] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::CACHE_CONTROL, "no-store"),
    (RESOURCE_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// What the command line, the web UI and `musher mcp` say of themselves; each shows a token of its own.
const DOOR: HeaderName = HeaderName::from_static("musher-door");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The door that the scope `operator` opens.
const OPERATORS: &str = "/mcp";

/// The names by which the server may be called, the pages that may call it, and the tokens.
#[derive(Debug)]
pub struct Access {
    /// The one in the state directory, for whoever can read it.
    token: AccessToken,
    /// Those that were made for others.
    tokens: Arc<TokenStore>,
    hosts: Vec<String>,
    /// The server's own pages. A browser needs no leave to let them speak to it.
    own: Vec<String>,
    /// Pages from elsewhere that the project file names.
    guests: Vec<String>,
}

/// What becomes of a request that may pass.
enum Pass {
    On(Bearer),
    /// A browser asks whether a page may ask.
    Preflight,
}

/// Who makes a request.
#[derive(Debug, Clone)]
pub(super) enum Bearer {
    /// Nobody needs to be known for this.
    Anybody,
    /// Whoever can read the state directory.
    Owner,
    /// The holder of a token that can be taken back.
    Holder { id: String, revoked: CancellationToken },
}

/// Who makes a request, and through which door: the token tells who, and the client says which door it is.
pub(super) fn actor(request: &Request) -> Actor {
    // What an assistant asks for comes from inside, past the door.
    if let Some(actor) = request.extensions().get::<Actor>() {
        return actor.clone();
    }
    let via = match request.headers().get(DOOR).map(HeaderValue::as_bytes) {
        Some(b"assistant") => Via::Mcp,
        Some(b"cli") => Via::Cli,
        Some(b"web") => Via::Web,
        Some(_) | None => Via::Api,
    };
    let who = match request.extensions().get::<Bearer>() {
        Some(Bearer::Owner) => Who::Owner,
        Some(Bearer::Holder { id, .. }) => Who::Program { token: id.as_str().into() },
        Some(Bearer::Anybody) | None => Who::Unknown,
    };
    Actor { who, via }
}

impl Access {
    /// Access for a server on this port of the loopback interface, which `names` (host and port) also lead to.
    pub fn new(
        token: AccessToken,
        tokens: Arc<TokenStore>,
        port: u16,
        names: &[String],
        guests: &[String],
    ) -> Self {
        let loopback = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = loopback.iter().map(|host| format!("{host}:{port}")).collect();
        hosts.extend(names.iter().cloned());
        let own = hosts.iter().map(|host| format!("http://{host}")).collect();
        Self { token, tokens, hosts, own, guests: guests.to_vec() }
    }

    /// The owner's token, which stands in the state directory, to be hidden wherever it turns up.
    pub(super) fn owner_token(&self) -> &str {
        self.token.as_str()
    }

    pub(super) fn tokens(&self) -> &Arc<TokenStore> {
        &self.tokens
    }

    /// The page that asks, if it is a guest; it may then read the reply, whatever it is.
    fn check_caller(&self, request: &Request) -> Result<Option<HeaderValue>, ProblemReply> {
        self.check_host(request.uri(), request.headers())?;
        let guest = self.check_origin(request.headers())?;
        Ok(guest.and_then(|guest| HeaderValue::from_str(guest).ok()))
    }

    fn check_request(&self, request: &Request, guest: bool) -> Result<Pass, ProblemReply> {
        let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
        if guest
            && method == Method::OPTIONS
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        {
            return Ok(Pass::Preflight);
        }
        let open = page::is_open(method, path)
            || OPEN.iter().any(|(open, to)| open == method && *to == path);
        let bearer = match open {
            true => Bearer::Anybody,
            false => self.check_token(path, headers)?,
        };
        check_content_type(method, headers)?;
        Ok(Pass::On(bearer))
    }

    /// A page that made its own name lead to us still has to say that name.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ProblemReply> {
        let known = |given: &str| self.hosts.iter().any(|host| host.eq_ignore_ascii_case(given));
        let mut named = headers.get_all(header::HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok(),
            _ => None,
        };
        let line = uri.authority().is_none_or(|authority| known(authority.as_str()));
        match host.is_some_and(known) && line {
            true => Ok(()),
            false => Err(ProblemReply::new(
                StatusCode::MISDIRECTED_REQUEST,
                "foreign_host",
                "this server does not go by that name",
                "use the address that `musher serve` printed",
            )),
        }
    }

    /// The page that asks, if it is a guest. It is never compared with the Host, which the same page may have chosen.
    fn check_origin(&self, headers: &HeaderMap) -> Result<Option<&str>, ProblemReply> {
        let mut named = headers.get_all(header::ORIGIN).iter();
        let origin = match (named.next(), named.next()) {
            (None, _) => None,
            (Some(origin), None) => Some(origin.to_str().unwrap_or_default()),
            (Some(_), Some(_)) => Some(""),
        };
        let guest = origin.and_then(|given| self.guests.iter().find(|guest| *guest == given));
        if let Some(given) = origin
            && guest.is_none()
            && !self.own.iter().any(|own| own == given)
        {
            return Err(ProblemReply::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "pages from this origin may not use the server",
                "add the origin to `origins` under [server] in the project file",
            ));
        }
        let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
        match site {
            None | Some(b"same-origin" | b"none") => {}
            Some(_) if guest.is_some() => {}
            Some(_) => {
                return Err(ProblemReply::new(
                    StatusCode::FORBIDDEN,
                    "cross_site",
                    "a page from elsewhere made this request",
                    "open the address that `musher serve` printed by hand",
                ));
            }
        }
        Ok(guest.map(String::as_str))
    }

    fn check_token(&self, path: &str, headers: &HeaderMap) -> Result<Bearer, ProblemReply> {
        let mut named = headers.get_all(header::AUTHORIZATION).iter();
        let given = match (named.next(), named.next()) {
            (Some(given), None) => given.to_str().ok(),
            _ => None,
        };
        let token = given.and_then(|given| {
            let (scheme, token) = given.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let unknown = || {
            ProblemReply::new(
                StatusCode::UNAUTHORIZED,
                "no_token",
                "a token is needed, and none that is right was given",
                "send the content of the token file as `Authorization: Bearer …`",
            )
        };
        let token = token.ok_or_else(unknown)?;
        if self.token.is(token) {
            return Ok(Bearer::Owner);
        }
        let for_operators = path.strip_prefix(OPERATORS);
        let for_operators =
            for_operators.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match self.tokens.show(token) {
            Shown::Held { scope: TokenAccess::Operator, .. } if !for_operators => {
                Err(ProblemReply::new(
                    StatusCode::FORBIDDEN,
                    "wrong_scope",
                    format!("this token opens {OPERATORS} and nothing else"),
                    "make one of the scope `full` with `musher token add`",
                ))
            }
            Shown::Held { id, revoked, .. } => Ok(Bearer::Holder { id, revoked }),
            Shown::Revoked => Err(token_revoked()),
            Shown::Unknown => Err(unknown()),
        }
    }
}

fn token_revoked() -> ProblemReply {
    ProblemReply::new(
        StatusCode::UNAUTHORIZED,
        "token_revoked",
        "this token was revoked",
        "make a new one with `musher token add`, or open the address that `musher serve` printed",
    )
}

/// Only a script that may read our replies can send JSON; a form on a foreign page cannot.
fn check_content_type(method: &Method, headers: &HeaderMap) -> Result<(), ProblemReply> {
    let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let length = headers.get(header::CONTENT_LENGTH).map(HeaderValue::as_bytes);
    let body = headers.contains_key(header::TRANSFER_ENCODING)
        || length.is_some_and(|length| length != b"0");
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    match essence {
        _ if !changes || !body => Ok(()),
        Some(kind) if kind.eq_ignore_ascii_case("application/json") => Ok(()),
        Some(_) | None => Err(ProblemReply::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "wrong_content_type",
            "the body is not said to be JSON",
            "send `content-type: application/json`",
        )),
    }
}

/// Stands before everything else, the replies to unknown paths included.
pub(super) async fn guard(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let guest = match api.access.check_caller(&request) {
        Ok(guest) => guest,
        Err(problem) => return hardened(problem.into_response(), None),
    };
    let response = match api.access.check_request(&request, guest.is_some()) {
        Ok(Pass::On(bearer)) => match welcome(&request, &bearer) {
            Ok(()) => {
                api.note_use(&bearer);
                request.extensions_mut().insert(bearer.clone());
                until_revoked(next.run(request).await, bearer)
            }
            Err(problem) => parting(problem),
        },
        Ok(Pass::Preflight) => preflight(),
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => parting(problem),
        Err(problem) => problem.into_response(),
    };
    hardened(response, guest)
}

/// From now on the connection is one of those who have shown a token, if this request did.
fn welcome(request: &Request, bearer: &Bearer) -> Result<(), ProblemReply> {
    let standing = request.extensions().get::<Arc<Standing>>();
    match (bearer, standing) {
        (Bearer::Anybody, _) | (_, None) => Ok(()),
        (Bearer::Owner | Bearer::Holder { .. }, Some(standing)) => {
            let full = |_| ProblemReply::busy("too_many_connections", "too many are connected", 5);
            standing.is_known().map_err(full)
        }
    }
}

/// A reply after which the connection is closed: whoever shows no token keeps no place.
fn parting(problem: ProblemReply) -> Response {
    let mut response = problem.into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

impl Api {
    /// Notes when a token was last used. Nobody waits until that is on the disk.
    fn note_use(&self, bearer: &Bearer) {
        let Bearer::Holder { id, .. } = bearer else { return };
        let tokens = self.access.tokens();
        if tokens.used(id, (self.clock)()) {
            let tokens = Arc::clone(tokens);
            tokio::task::spawn_blocking(move || tokens.keep_uses());
        }
    }
}

/// A stream ends when the token that opened it is taken back, and says so.
fn until_revoked(response: Response, bearer: Bearer) -> Response {
    let Bearer::Holder { revoked, .. } = bearer else { return response };
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != sse::CONTENT_TYPE) {
        return response;
    }
    let last = {
        let revoked = revoked.clone();
        stream::once(async move {
            revoked.is_cancelled().then(|| {
                let mut out = Vec::new();
                frames::named(&mut out, "problem", &token_revoked().json());
                Ok(Bytes::from(out))
            })
        })
    };
    let (parts, body) = response.into_parts();
    let pieces = body.into_data_stream().take_until(revoked.cancelled_owned());
    let pieces = pieces.chain(last.filter_map(std::future::ready));
    Response::from_parts(parts, Body::from_stream(pieces))
}

fn hardened(mut response: Response, guest: Option<HeaderValue>) -> Response {
    let headers = response.headers_mut();
    for (name, value) in &SECURITY {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Some(guest) = guest {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, guest);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        let readable = HeaderValue::from_static("mcp-session-id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, readable);
        // The page is let in by name, so the reply is meant for it.
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    }
    response
}

fn preflight() -> Response {
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, PUT, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key, last-event-id, musher-door, \
             mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}
