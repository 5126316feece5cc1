//! The one table of routes, from which the router and its document both come.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::{self, Bodies};
use super::bounds::{REQUESTS, RequestRoom, bounded};
use super::problem::ProblemReply;
use super::request::MAX_BODY_BYTES;
use super::{Api, ApiContext, access, request_log};
use super::{
    agents, asks, checks, document, feed, health, link, local, mcp, notices, page, project, runs,
    stories, token, tokens, usage,
};

/// A request has this long, streams aside.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How many of those who bring the one-time code are heard at once.
const ENTRY: usize = 64;
/// How many of the heavy ones are at work at once, and how long each may take.
const HEAVY: usize = 8;
const HEAVY_WITHIN: Duration = Duration::from_secs(120);

/// What is read at once.
fn views() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(stories::stories))
        .routes(routes!(stories::story))
        .routes(routes!(runs::runs))
        .routes(routes!(runs::run))
        .routes(routes!(runs::events::events))
        .routes(routes!(runs::raw::raw_output))
        .routes(routes!(runs::change::event_change))
        .routes(routes!(asks::asks))
        .routes(routes!(agents::agents))
        .routes(routes!(checks::checks))
        .routes(routes!(usage::usage))
        .routes(routes!(project::project))
        .routes(routes!(project::file::project_file))
        .routes(routes!(local::local))
        .routes(routes!(notices::notices))
        .routes(routes!(tokens::list::tokens))
}

/// What waits for the pool, and some of it for a runner.
fn commands() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(stories::add::add))
        .routes(routes!(stories::put::put_stories))
        .routes(routes!(stories::edit::edit))
        .routes(routes!(stories::done::done))
        .routes(routes!(stories::reopen::reopen))
        .routes(routes!(stories::archive::archive))
        .routes(routes!(stories::merge::merge))
        .routes(routes!(stories::start::start))
        .routes(routes!(runs::prompt::prompt))
        .routes(routes!(runs::steer::steer))
        .routes(routes!(runs::take_back::take_back))
        .routes(routes!(runs::interrupt::interrupt))
        .routes(routes!(runs::model::model))
        .routes(routes!(runs::mode::mode))
        .routes(routes!(runs::stop::stop))
        .routes(routes!(runs::kill::kill))
        .routes(routes!(runs::retry::retry))
        .routes(routes!(runs::resume::resume))
        .routes(routes!(runs::fork::fork))
        .routes(routes!(asks::answer::answer))
        .routes(routes!(local::grants::revoke))
        .routes(routes!(local::caps::cap))
        .routes(routes!(project::reload::reload))
        .routes(routes!(link::link))
        .routes(routes!(notices::acknowledge))
        .routes(routes!(tokens::add::add_token))
        .routes(routes!(tokens::revoke::revoke_token))
}

/// What anybody may send. It waits for nobody, so a few places are enough.
fn entry() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(token::token))
}

/// What starts programs or reads much, of which only a few may be at work at once.
fn heavy() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(runs::diff::diff))
        .routes(routes!(project::files::project_files))
        .routes(routes!(runs::search::search))
        .routes(routes!(runs::outline::outline))
        .routes(routes!(runs::network::network))
}

/// What lasts as long as its client does.
fn lasting() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(runs::stream::stream))
        .routes(routes!(feed::feed))
        .routes(routes!(runs::export::export))
}

/// What assistants speak through; a reply may last.
fn assistants() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(mcp::post, mcp::get, mcp::delete))
}

/// What stands outside of the API.
fn outside() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(page::page))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(openapi_json))
}

/// All routes. Each kind has its own places, so that those who wait do not keep others from looking.
fn table() -> OpenApiRouter<Api> {
    let within = |places, time| from_fn_with_state(RequestRoom::new(places, time), bounded);
    let api = views()
        .route_layer(within(REQUESTS, REQUEST_TIMEOUT))
        .merge(commands().route_layer(within(REQUESTS, REQUEST_TIMEOUT)))
        .merge(entry().route_layer(within(ENTRY, REQUEST_TIMEOUT)))
        .merge(heavy().route_layer(within(HEAVY, HEAVY_WITHIN)))
        .merge(lasting());
    OpenApiRouter::with_openapi(document::preamble())
        .nest("/api/v1", api)
        .merge(outside().route_layer(within(REQUESTS, REQUEST_TIMEOUT)))
        .merge(assistants())
}

/// The document that describes every route.
pub fn openapi() -> OpenApi {
    document::without_defaults(table().into_openapi())
}

/// The door, ready to be served.
pub fn router(context: ApiContext) -> Router {
    let (routes, document) = table().split_for_parts();
    // A document of plain data can always be written.
    let api = Api::new(context, document::without_defaults(document).to_json().unwrap_or_default());
    let routes = routes
        .fallback(page::page_or_nothing)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn(caught));
    let operators = mcp::Operators::new(&api, routes.clone().with_state(api.clone()));
    routes
        .layer(Extension(operators))
        .layer(from_fn_with_state(Bodies::default(), body::whole))
        .layer(from_fn_with_state(api.clone(), access::guard))
        .layer(from_fn(request_log::logged))
        .with_state(api)
}

#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "health",
    operation_id = "openapi",
    summary = "This document",
    responses((status = 200, content_type = "application/json", body = Object), ProblemReply)
)]
async fn openapi_json(State(api): State<Api>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], api.document.clone()).into_response()
}

async fn no_such_method(method: Method, uri: Uri) -> ProblemReply {
    ProblemReply::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "no_such_method",
        format!("{} cannot be asked with {method}", uri.path()),
        "see /openapi.json for the methods that each path takes",
    )
}

/// A bug becomes a reply; what it said is for the server's own output, not for the client. The reply is handed on as it
/// is: a body in another one would be asked through it for each event that a stream carries.
async fn caught(request: Request, next: Next) -> Response {
    let reply = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    reply.unwrap_or_else(|_bug| ProblemReply::internal().into_response())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_bug_becomes_a_problem_that_tells_nothing_of_its_inside() {
        async fn bug() -> &'static str {
            panic!("a path and a password")
        }
        let router: Router = Router::new().route("/", get(bug)).layer(from_fn(caught));
        let reply = router.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(reply.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("\"code\":\"internal\"") && !text.contains("password"), "{text}");
    }

    #[tokio::test]
    async fn one_request_more_than_there_are_places_is_refused_at_once() {
        let release = tokio_util::sync::CancellationToken::new();
        let held = release.clone();
        let slow = async move || {
            held.cancelled().await;
            "done"
        };
        let bounds = RequestRoom::new(2, REQUEST_TIMEOUT);
        let router: Router =
            Router::new().route("/", get(slow)).route_layer(from_fn_with_state(bounds, bounded));
        let ask = || router.clone().oneshot(Request::get("/").body(Body::empty()).unwrap());
        let first = async {
            let busy = ask().await.unwrap();
            assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert!(busy.headers().contains_key(header::RETRY_AFTER));
            release.cancel();
        };
        let (one, two, ()) = tokio::join!(ask(), ask(), first);
        assert_eq!(
            (one.unwrap().status(), two.unwrap().status()),
            (StatusCode::OK, StatusCode::OK)
        );
        assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_takes_too_long_is_given_up() {
        let bounds = RequestRoom::new(1, REQUEST_TIMEOUT);
        let router: Router = Router::new()
            .route("/", get(std::future::pending::<&'static str>))
            .route_layer(from_fn_with_state(bounds, bounded));
        let reply = router.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
