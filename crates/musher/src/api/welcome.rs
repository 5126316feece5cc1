//! `GET /`: a page without data that says what this is.

use axum::http::header;
use axum::response::{IntoResponse, Response};

const PAGE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Musher</title>
<h1>Musher</h1>
<p>This is the server of Musher. Use it with the <code>musher</code> command, beginning with
<code>musher --help</code>.</p>
<p>Programs find what it can do at <code>/openapi.json</code>.</p>
";

#[utoipa::path(
    get,
    path = "/",
    tag = "health",
    operation_id = "welcome",
    summary = "A page that says what this is",
    security(()),
    responses((status = 200, content_type = "text/html", body = String))
)]
pub(super) async fn welcome() -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], PAGE).into_response()
}
