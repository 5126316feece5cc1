//! Error answers in Anthropic's format.

use serde_json::json;

use crate::model::mint;
use crate::model::trouble::{Fault, Refusal, Trouble};

pub(super) fn of(status: u16, message: impl Into<String>) -> Refusal {
    let id = format!("req_{}", mint::unique());
    let body = json!({
        "type": "error",
        "error": {"type": kind(status), "message": message.into()},
        "request_id": id,
    });
    Refusal { status, body, headers: vec![("request-id", id)] }
}

pub(super) fn refuse(fault: &Fault) -> Refusal {
    let (status, words) = words(&fault.trouble);
    let mut refusal = of(status, fault.words(words));
    let vendor = match &fault.trouble {
        Trouble::NoKey | Trouble::WrongKey | Trouble::Limit { .. } => Some(false),
        Trouble::Forbidden
        | Trouble::NoModel(_)
        | Trouble::NoPath(_)
        | Trouble::TooLarge
        | Trouble::NotJson
        | Trouble::Invalid(_)
        | Trouble::ContextFull
        | Trouble::Blocked
        | Trouble::Credit
        | Trouble::Rate
        | Trouble::Overloaded
        | Trouble::Status(_) => None,
    };
    refusal.headers.extend(fault.retry_headers(vendor));
    if let Trouble::Limit { reset, claim } = &fault.trouble {
        refusal.headers.extend([
            ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
            ("anthropic-ratelimit-unified-reset", reset.to_string()),
            ("anthropic-ratelimit-unified-representative-claim", claim.clone()),
        ]);
    }
    if fault.trouble == Trouble::Rate {
        refusal.headers.extend([
            ("anthropic-ratelimit-requests-limit", "50".to_owned()),
            ("anthropic-ratelimit-requests-remaining", "0".to_owned()),
        ]);
    }
    refusal
}

fn words(trouble: &Trouble) -> (u16, String) {
    let (status, words) = match trouble {
        Trouble::NoKey => (401, "x-api-key header is required"),
        Trouble::WrongKey => (401, "invalid x-api-key"),
        Trouble::Forbidden => {
            (403, "Your API key does not have permission to use the specified resource.")
        }
        Trouble::NoModel(model) => return (404, format!("model: {model}")),
        Trouble::NoPath(path) => return (404, format!("Not found: {path}")),
        Trouble::TooLarge => (413, "Request exceeds the maximum size"),
        Trouble::NotJson => (400, "The request body is not valid JSON"),
        Trouble::Invalid(words) => return (400, words.clone()),
        Trouble::ContextFull => (400, "prompt is too long: 1000001 tokens > 1000000 maximum"),
        Trouble::Blocked => (400, "Output blocked by content filtering policy"),
        Trouble::Credit => (
            400,
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
        ),
        Trouble::Limit { .. } => {
            (429, "This request would exceed your account's rate limit. Please try again later.")
        }
        Trouble::Rate | Trouble::Status(429) => (429, "This request would exceed your rate limit."),
        Trouble::Overloaded | Trouble::Status(529) => (529, "Overloaded"),
        Trouble::Status(503) => (503, "Service unavailable"),
        Trouble::Status(status) => (*status, "Internal server error"),
    };
    (status, words.to_owned())
}

fn kind(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        405..=499 => "invalid_request_error",
        _ => "api_error",
    }
}
