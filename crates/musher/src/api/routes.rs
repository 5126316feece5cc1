//! The one table of routes, from which the router and its document both come.

use std::any::Any;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::bounds::{Bounds, REQUESTS, bounded};
use super::problem::Problem;
use super::request::LONGEST_BODY;
use super::{Api, Context, access};
use super::{
    add, agents, answer, archive, asks, diff, document, done, edit, events, feed, fork, health,
    interrupt, kill, merge, project, prompt, raw, reopen, resume, retry, runs, start, steer, stop,
    stories, stream, token, usage, welcome,
};

/// A request has this long, streams aside.
const WITHIN: Duration = Duration::from_secs(30);
/// How many diffs are made at once, and how long each may take.
const HEAVY: usize = 8;
const HEAVY_WITHIN: Duration = Duration::from_secs(120);

/// What is replied at once, or within a bounded time.
fn brief() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(stories::stories, add::add))
        .routes(routes!(stories::story, edit::edit))
        .routes(routes!(done::done))
        .routes(routes!(reopen::reopen))
        .routes(routes!(archive::archive))
        .routes(routes!(merge::merge))
        .routes(routes!(start::start))
        .routes(routes!(runs::runs))
        .routes(routes!(runs::run))
        .routes(routes!(prompt::prompt))
        .routes(routes!(steer::steer))
        .routes(routes!(interrupt::interrupt))
        .routes(routes!(stop::stop))
        .routes(routes!(kill::kill))
        .routes(routes!(retry::retry))
        .routes(routes!(resume::resume))
        .routes(routes!(fork::fork))
        .routes(routes!(events::events))
        .routes(routes!(raw::raw_output))
        .routes(routes!(asks::asks))
        .routes(routes!(answer::answer))
        .routes(routes!(agents::agents))
        .routes(routes!(usage::usage))
        .routes(routes!(project::project))
        .routes(routes!(token::token))
}

/// What starts programs, of which only a few may run at once.
fn heavy() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(diff::diff))
}

/// What lasts as long as its client does.
fn lasting() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(stream::stream)).routes(routes!(feed::feed))
}

/// What stands outside of the API.
fn outside() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(welcome::welcome))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(openapi_json))
}

/// All routes.
fn table() -> OpenApiRouter<Api> {
    let requests = Bounds::new(REQUESTS, WITHIN);
    let within = |bounds: &Bounds| from_fn_with_state(bounds.clone(), bounded);
    let heavy = heavy().route_layer(within(&Bounds::new(HEAVY, HEAVY_WITHIN)));
    OpenApiRouter::with_openapi(document::preamble())
        .nest("/api/v1", brief().route_layer(within(&requests)).merge(heavy).merge(lasting()))
        .merge(outside().route_layer(within(&requests)))
}

/// The document that describes every route.
pub fn openapi() -> OpenApi {
    table().into_openapi()
}

/// The door, ready to be served.
pub fn router(context: Context) -> Router {
    let api = Api::new(context);
    let (routes, _) = table().split_for_parts();
    routes
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(api.clone(), access::guard))
        .with_state(api)
}

#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "health",
    operation_id = "openapi",
    summary = "This document",
    responses((status = 200, content_type = "application/json", body = Object), Problem)
)]
async fn openapi_json() -> Result<Response, Problem> {
    let text = openapi().to_json().map_err(|_| Problem::internal())?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

async fn no_such_path(uri: Uri) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no_such_path",
        format!("there is nothing at {}", uri.path()),
        "see /openapi.json for the paths that there are",
    )
}

async fn no_such_method(method: Method, uri: Uri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "no_such_method",
        format!("{} cannot be asked with {method}", uri.path()),
        "see /openapi.json for the methods that each path takes",
    )
}

/// A bug. What it said is for the server's own output, not for the client.
fn panicked(_why: Box<dyn Any + Send>) -> Response {
    Problem::internal().into_response()
}
