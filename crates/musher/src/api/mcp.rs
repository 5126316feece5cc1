//! `/mcp`: the operator's tools over streamable HTTP, for assistants.

mod sessions;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::Router;
use http_body_util::BodyExt;
use musher_core::{Actor, Via, Who};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value as Json;
use tokio::sync::watch;
use tower::ServiceExt;

use super::access::Bearer;
use super::problem::ProblemReply;
use super::request::MAX_BODY_BYTES;
use super::{Api, bounds};
use crate::mcp::api_client::{ApiClient, ApiRefused, ApiRequest, ChangeNotice, Replying};
use crate::mcp::operator::{INSTRUCTIONS, Operator};
use crate::mcp::{CALLER_OF_TOOL, Caller, ToolServer};
use sessions::{CALLER, McpSessions, OF_ONE};

/// What names a session of the older generation; the newer one has none.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The operator's door, as the routes hold it.
#[derive(Clone)]
pub(super) struct Operators {
    service: StreamableHttpService<ToolServer, McpSessions>,
    sessions: Arc<McpSessions>,
}

impl Operators {
    /// A door whose tools ask the router itself.
    pub(super) fn new(api: &Api, inside: Router) -> Self {
        let office = Inside { router: inside, facts: api.pool.facts() };
        let door = ToolServer::new(Operator::new(office), INSTRUCTIONS);
        let sessions = Arc::new(McpSessions::new());
        // Host and Origin were checked before, against the names of this very server.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(api.closing.child_token());
        let service =
            StreamableHttpService::new(move || Ok(door.clone()), Arc::clone(&sessions), config);
        Self { service, sessions }
    }
}

#[utoipa::path(
    post,
    path = "/mcp",
    tag = "mcp",
    operation_id = "mcp_post",
    summary = "One message of an MCP client",
    description = "Streamable HTTP of the Model Context Protocol, 2025-11-25 with sessions and 2026-07-28 without.",
    request_body = Object,
    responses((status = 200, content_type = "text/event-stream", body = String), ProblemReply)
)]
pub(super) async fn post(
    State(api): State<Api>,
    Extension(operators): Extension<Operators>,
    request: Request,
) -> Result<Response, ProblemReply> {
    serve(&api, operators, request).await
}

#[utoipa::path(
    get,
    path = "/mcp",
    tag = "mcp",
    operation_id = "mcp_get",
    summary = "What an MCP session of the older generation is told beside its replies",
    responses((status = 200, content_type = "text/event-stream", body = String), ProblemReply)
)]
pub(super) async fn get(
    State(api): State<Api>,
    Extension(operators): Extension<Operators>,
    request: Request,
) -> Result<Response, ProblemReply> {
    serve(&api, operators, request).await
}

#[utoipa::path(
    delete,
    path = "/mcp",
    tag = "mcp",
    operation_id = "mcp_delete",
    summary = "End an MCP session of the older generation",
    responses((status = 202), ProblemReply)
)]
pub(super) async fn delete(
    State(api): State<Api>,
    Extension(operators): Extension<Operators>,
    request: Request,
) -> Result<Response, ProblemReply> {
    serve(&api, operators, request).await
}

/// A reply may last as long as its client does, so it has the place of a stream.
async fn serve(
    api: &Api,
    operators: Operators,
    mut request: Request,
) -> Result<Response, ProblemReply> {
    let place = bounds::place(&api.streams)?;
    let caller = match request.extensions().get::<Bearer>() {
        Some(Bearer::Holder { id, .. }) => Caller(id.clone()),
        Some(Bearer::Owner | Bearer::Anybody) | None => Caller::default(),
    };
    let session = request.headers().get(SESSION).and_then(|id| id.to_str().ok());
    let open = match session {
        None => None,
        Some(id) => Some(operators.sessions.open(id, &caller).ok_or_else(no_such_session)?),
    };
    request.extensions_mut().insert(caller.clone());
    let response = CALLER.scope(caller, operators.service.handle(request)).await;
    Ok(response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _held = (&place, &open);
            frame
        }))
    }))
}

fn no_such_session() -> ProblemReply {
    ProblemReply::new(
        StatusCode::NOT_FOUND,
        "no_such_session",
        format!(
            "there is no such session; a token has {OF_ONE} of them, and the idlest makes room"
        ),
        "initialise a new session",
    )
}

/// The server, asked from inside: through the same routes, past no check but the one at the door.
#[derive(Debug)]
struct Inside {
    router: Router,
    facts: watch::Receiver<u64>,
}

/// The assistant whose tool is at work.
fn assistant() -> Actor {
    let caller = CALLER_OF_TOOL.try_with(Clone::clone).unwrap_or_default();
    let who = match caller {
        Caller(token) if token.is_empty() => Who::Owner,
        Caller(token) => Who::Program { token: token.into() },
    };
    Actor { who, via: Via::Mcp }
}

impl ApiClient for Inside {
    fn ask(&self, wanted: ApiRequest) -> Replying<'_> {
        let router = self.router.clone();
        Box::pin(async move {
            let failed = |detail: String| ApiRefused { detail, hint: None };
            let method = match wanted.body {
                None => Method::GET,
                Some(_) => Method::POST,
            };
            let body = wanted.body.as_ref().map(Json::to_string).unwrap_or_default();
            let request = Request::builder()
                .method(method)
                .uri(wanted.uri())
                .header(header::CONTENT_TYPE, "application/json")
                .extension(assistant())
                .body(Body::from(body))
                .map_err(|error| failed(error.to_string()))?;
            let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
            let status = response.status();
            let body = response.into_body().collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
            match status.is_success() {
                true => serde_json::from_slice(&body).map_err(|error| failed(error.to_string())),
                false => Err(ApiRefused::read(status.as_u16(), &body)),
            }
        })
    }

    fn news(&self) -> ChangeNotice {
        Box::pin(futures_util::stream::unfold(self.facts.clone(), |mut facts| async {
            facts.changed().await.ok().map(|()| ((), facts))
        }))
    }
}
