//! What the document at `/openapi.json` says of the parts that many routes share.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Required,
    Response, ResponseBuilder,
};
use utoipa::{IntoParams, IntoResponses, PartialSchema, ToSchema};

use super::problem::{ProblemBody, ProblemReply};
use super::request::{OfAsk, OfEvent, OfQueued, OfRun, OfStory};

/// The headers that every command takes.
pub(super) struct CommandHeaders;

const TOKEN: &str = "token";

/// The document before the routes are in it.
pub(super) fn preamble() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Musher")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Stories, runs and asks of one project. Every failure is a problem as in RFC 9457. Commands take an \
             `Idempotency-Key`; times are Unix milliseconds.",
        ))
        .build();
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let mut components = Components::new();
    components.add_security_scheme(TOKEN, SecurityScheme::Http(scheme));
    let mut schemas = vec![(ProblemBody::name().into(), ProblemBody::schema())];
    ProblemBody::schemas(&mut schemas);
    components.schemas.extend(schemas);
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new(TOKEN, Vec::<String>::new())]))
        .build()
}

fn parameter(name: &str, of: ParameterIn, required: Required, about: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(of)
        .required(required)
        .description(Some(about))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

fn run() -> Parameter {
    let about = "A run's id (`r12`), or `STORY` or `STORY:AGENT` for the latest run there";
    parameter("run", ParameterIn::Path, Required::True, about)
}

impl IntoParams for OfStory {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameter("story", ParameterIn::Path, Required::True, "A story's id")]
    }
}

impl IntoParams for OfRun {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![run()]
    }
}

impl IntoParams for OfAsk {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![run(), parameter("ask", ParameterIn::Path, Required::True, "An ask's id")]
    }
}

impl IntoParams for OfEvent {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![run(), parameter("seq", ParameterIn::Path, Required::True, "The number of an event")]
    }
}

impl IntoParams for OfQueued {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![run(), parameter("id", ParameterIn::Path, Required::True, "The id of the message")]
    }
}

impl IntoParams for CommandHeaders {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let about = "A key of your own: sending the same request with it again does it once";
        let wait =
            "`wait=N`: reply after so many seconds at the latest (10 when left out, and at most)";
        vec![
            parameter("idempotency-key", ParameterIn::Header, Required::False, about),
            parameter("prefer", ParameterIn::Header, Required::False, wait),
        ]
    }
}

impl IntoResponses for ProblemReply {
    fn responses() -> std::collections::BTreeMap<String, RefOr<Response>> {
        let body =
            ContentBuilder::new().schema(Some(Ref::from_schema_name(ProblemBody::name()))).build();
        let response = ResponseBuilder::new()
            .description("What went wrong, and what to do about it")
            .content("application/problem+json", body)
            .build();
        [("default".to_owned(), response.into())].into()
    }
}

/// The document without values that a reader puts in the place of what is missing: a server tells every field.
pub(super) fn without_defaults(document: OpenApi) -> OpenApi {
    let told = |mut json: serde_json::Value| {
        let schemas = json.pointer_mut("/components/schemas")?.as_object_mut()?;
        for schema in schemas.values_mut() {
            let fields = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut);
            for field in fields.into_iter().flat_map(|fields| fields.values_mut()) {
                field.as_object_mut()?.remove("default");
            }
        }
        serde_json::from_value(json).ok()
    };
    serde_json::to_value(&document).ok().and_then(told).unwrap_or(document)
}
