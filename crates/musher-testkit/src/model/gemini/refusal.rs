//! Error answers in Google's format.

use serde_json::{Value, json};

use crate::model::trouble::{Fault, Refusal, Trouble};

const TYPES: &str = "type.googleapis.com/google.rpc";

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    of(400, &message.into(), vec![])
}

fn of(status: u16, message: &str, details: Vec<Value>) -> Refusal {
    let mut error = json!({"code": status, "message": message, "status": name(status)});
    if !details.is_empty() {
        error["details"] = Value::Array(details);
    }
    Refusal { status, body: json!({"error": error}), headers: vec![] }
}

pub(super) fn refuse(fault: &Fault) -> Refusal {
    let (status, words) = words(&fault.trouble);
    let mut refusal = of(status, &fault.words(words), details(fault));
    refusal.headers = fault.retry_headers(None);
    // This vendor says in the body when to try again, not in a header.
    refusal.headers.retain(|(name, _)| !name.starts_with("retry-after"));
    refusal
}

fn details(fault: &Fault) -> Vec<Value> {
    let mut details = Vec::new();
    match &fault.trouble {
        Trouble::WrongKey => details.push(json!({
            "@type": format!("{TYPES}.ErrorInfo"),
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        })),
        Trouble::Rate | Trouble::Limit { .. } | Trouble::Credit => {
            let per = if fault.trouble == Trouble::Rate { "PerMinute" } else { "PerDay" };
            details.push(json!({
                "@type": format!("{TYPES}.QuotaFailure"),
                "violations": [{
                    "quotaMetric": "generativelanguage.googleapis.com/generate_content_requests",
                    "quotaId": format!("GenerateRequests{per}PerProjectPerModel"),
                    "quotaDimensions": {"location": "global"},
                    "quotaValue": "5",
                }],
            }));
        }
        Trouble::NoKey
        | Trouble::Forbidden
        | Trouble::NoModel(_)
        | Trouble::NoPath(_)
        | Trouble::TooLarge
        | Trouble::NotJson
        | Trouble::Invalid(_)
        | Trouble::ContextFull
        | Trouble::Blocked
        | Trouble::Overloaded
        | Trouble::Status(_) => {}
    }
    if let Some(delay) = delay(fault) {
        details.push(json!({"@type": format!("{TYPES}.RetryInfo"), "retryDelay": delay}));
    }
    details
}

/// When to try again, as a number of seconds with an `s` behind it.
fn delay(fault: &Fault) -> Option<String> {
    let ms = fault.after_ms.as_deref().and_then(|ms| ms.parse::<u64>().ok());
    let fine = ms.map(|ms| format!("{}.{:03}s", ms / 1000, ms % 1000));
    let coarse = fault.after.as_deref().map(|seconds| format!("{seconds}s"));
    let vendor = (fault.trouble == Trouble::Rate).then(|| "17s".to_owned());
    fine.or(coarse).or(vendor)
}

fn words(trouble: &Trouble) -> (u16, String) {
    let (status, words) = match trouble {
        Trouble::NoKey => (
            403,
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
        ),
        Trouble::WrongKey => (400, "API key not valid. Please pass a valid API key."),
        Trouble::Forbidden => (403, "The caller does not have permission"),
        Trouble::NoModel(model) => {
            let words = format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."
            );
            return (404, words);
        }
        Trouble::NoPath(path) => return (404, format!("Requested entity was not found: {path}")),
        Trouble::TooLarge => (400, "Request payload size exceeds the limit: 20971520 bytes."),
        Trouble::NotJson => (400, "Invalid JSON payload received. Unexpected token."),
        Trouble::Invalid(words) => return (400, words.clone()),
        Trouble::ContextFull => (
            400,
            "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        ),
        Trouble::Blocked => (400, "The prompt was blocked."),
        Trouble::Credit | Trouble::Limit { .. } | Trouble::Rate | Trouble::Status(429) => {
            (429, "You exceeded your current quota, please check your plan and billing details.")
        }
        Trouble::Overloaded | Trouble::Status(503) => {
            (503, "The model is overloaded. Please try again later.")
        }
        Trouble::Status(504) => (504, "Deadline expired before operation could complete."),
        Trouble::Status(status) => (
            *status,
            "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
        ),
    };
    (status, words.to_owned())
}

fn name(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}
