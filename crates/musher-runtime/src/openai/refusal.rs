//! What this vendor's errors mean; both of its formats share them, and so do the services that imitate it.

use musher_core::ErrorClass;
use serde_json::Value as Json;

use crate::model::refusal::{HttpRefusal, RequestFailure, RetryAdvice};

pub(super) fn refusal(refused: &HttpRefusal<'_>) -> RequestFailure {
    let json = refused.json();
    let error = &json["error"];
    // Some services say `{"error":"text"}`, some `{"message":"text"}` or `{"detail":"text"}`.
    let message = error["message"]
        .as_str()
        .or(error.as_str())
        .or(json["message"].as_str())
        .or(json["detail"].as_str());
    let code = text(&error["code"]).or(text(&error["type"]));
    let mut refusal = refused.plain(message, code.as_deref());
    if refused.status == 404 && !json.is_object() {
        refusal.error.class = ErrorClass::Config;
        refusal.error.hint =
            Some("look at the base address; for most services it ends with /v1".into());
    }
    let no_tools = ["not support tool", "not support function", "tools are not supported"];
    if refused.status == 400 && refusal.names(&no_tools) {
        refusal.error.hint = Some("an agent needs a model that can call tools; name one".into());
    }
    classify(&mut refusal);
    refusal
}

/// Services that imitate the vendor use numbers for codes.
fn text(code: &Json) -> Option<String> {
    match code {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// What the words of an error mean beyond its status.
pub(super) fn classify(refusal: &mut RequestFailure) {
    let overflow =
        ["context_length", "maximum context", "context length", "context window", "context size"];
    let (class, again) = match refusal.error.code.as_deref() {
        Some("insufficient_quota" | "billing_hard_limit_reached") => {
            (ErrorClass::Billing, Some(RetryAdvice::Never))
        }
        Some("invalid_api_key") => (ErrorClass::Auth, Some(RetryAdvice::Never)),
        Some("model_not_found") => (ErrorClass::ModelNotFound, Some(RetryAdvice::Never)),
        Some("context_length_exceeded") => (ErrorClass::ContextOverflow, Some(RetryAdvice::Never)),
        Some("rate_limit_exceeded") => (ErrorClass::RateLimit, None),
        Some("server_is_overloaded" | "service_unavailable_error") => {
            (ErrorClass::Overloaded, None)
        }
        Some("invalid_prompt") => (ErrorClass::Refused, Some(RetryAdvice::Never)),
        Some("server_error") if refusal.names(&["overloaded"]) => (ErrorClass::Overloaded, None),
        Some(_) | None
            if refusal.error.http.is_none_or(|status| status < 500) && refusal.names(&overflow) =>
        {
            (ErrorClass::ContextOverflow, Some(RetryAdvice::Never))
        }
        Some(_) | None => return,
    };
    refusal.error.class = class;
    if let Some(again) = again {
        refusal.again = again;
    }
}
