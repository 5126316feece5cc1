//! Why a turn ended: Codex's words for it, sorted by what a person would do about it.

use musher_core::{ErrorClass, ErrorInfo, HintCode, TurnOutcome};
use serde_json::Value as Json;

use super::super::frame::{ErrorFrame, TurnFrame};

/// How a turn ended, in which this went wrong before. A status that nobody knows is a failure that names it.
pub(super) fn judge(
    turn: &TurnFrame,
    before: Option<&ErrorInfo>,
) -> (TurnOutcome, Option<ErrorInfo>) {
    let told = turn.error.as_ref().map(classified);
    match turn.status.as_str() {
        "completed" if told.is_none() => (TurnOutcome::Completed, None),
        "interrupted" => (TurnOutcome::Interrupted, told),
        "completed" | "failed" => {
            let error = told.or_else(|| before.cloned()).unwrap_or_else(|| {
                ErrorInfo::new(ErrorClass::Unknown, "the turn failed and codex gave no reason")
            });
            (outcome_of(error.class), Some(error))
        }
        status => {
            let message = format!("the turn ended as `{status}`, which Musher does not know");
            let error = ErrorInfo::new(ErrorClass::Protocol, message).with_code(status);
            (TurnOutcome::Failed, Some(told.unwrap_or(error)))
        }
    }
}

fn outcome_of(class: ErrorClass) -> TurnOutcome {
    if class == ErrorClass::Refused {
        TurnOutcome::Refused
    } else if class == ErrorClass::Budget {
        TurnOutcome::OutOfBudget
    } else {
        TurnOutcome::Failed
    }
}

/// One error in the words that all runtimes share.
pub(super) fn classified(error: &ErrorFrame) -> ErrorInfo {
    let (mut code, http) = code_of(&error.codex_error_info);
    let mut class = class_of(code.as_deref(), http);
    let mut message = match &error.additional_details {
        Some(details) if !error.message.contains(details.as_str()) => {
            format!("{}: {details}", error.message)
        }
        Some(_) | None => error.message.clone(),
    };
    // What it has no word for is the service's own body.
    if class == ErrorClass::Unknown
        && let Ok(body) = serde_json::from_str::<Json>(&error.message)
        && let Some(inner) = body["error"]["code"].as_str()
    {
        class = class_of_service(inner);
        code = Some(inner.to_owned());
        message = body["error"]["message"].as_str().map_or(message, str::to_owned);
    }
    let mut info = ErrorInfo::new(class, message);
    info.http = http;
    info.code = code;
    if class == ErrorClass::Auth {
        info = info.with_hint("sign in with `codex login`, or set OPENAI_API_KEY");
    } else if class == ErrorClass::ModelNotFound {
        info = info.hinting(HintCode::NameModel);
    }
    info
}

/// The word, and the status of the service where one stands inside.
fn code_of(info: &Json) -> (Option<String>, Option<u16>) {
    match info {
        Json::String(word) => (Some(word.clone()), None),
        Json::Object(fields) => {
            let Some((word, inside)) = fields.iter().next() else { return (None, None) };
            let http = inside["httpStatusCode"].as_u64().and_then(|status| status.try_into().ok());
            (Some(word.clone()), http)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => (None, None),
    }
}

fn class_of(code: Option<&str>, http: Option<u16>) -> ErrorClass {
    match (code, http) {
        (_, Some(401 | 403)) | (Some("unauthorized"), _) => ErrorClass::Auth,
        (_, Some(402)) => ErrorClass::Billing,
        (_, Some(404)) | (Some("modelNotFound"), _) => ErrorClass::ModelNotFound,
        (_, Some(429)) | (Some("rateLimitExceeded" | "flexUnavailable"), _) => {
            ErrorClass::RateLimit
        }
        (_, Some(503 | 529)) | (Some("serverOverloaded" | "policyCapacityUnavailable"), _) => {
            ErrorClass::Overloaded
        }
        (_, Some(400 | 422)) | (Some("badRequest"), _) => ErrorClass::InvalidRequest,
        (_, Some(500..)) | (Some("internalServerError"), _) => ErrorClass::Server,
        (Some("contextWindowExceeded"), _) => ErrorClass::ContextOverflow,
        (Some("usageLimitExceeded"), _) => ErrorClass::UsageLimit,
        (Some("sessionBudgetExceeded"), _) => ErrorClass::Budget,
        (Some("cyberPolicy" | "misalignmentPolicyViolation"), _) => ErrorClass::Refused,
        (Some("tooManyDenials" | "sandboxError"), _) => ErrorClass::Policy,
        (
            Some(
                "httpConnectionFailed"
                | "responseStreamConnectionFailed"
                | "responseStreamDisconnected"
                | "responseTooManyFailedAttempts",
            ),
            _,
        ) => ErrorClass::Network,
        _ => ErrorClass::Unknown,
    }
}

/// The service's own words.
fn class_of_service(code: &str) -> ErrorClass {
    match code {
        "context_length_exceeded" => ErrorClass::ContextOverflow,
        "insufficient_quota" => ErrorClass::Billing,
        "invalid_api_key" => ErrorClass::Auth,
        "model_not_found" => ErrorClass::ModelNotFound,
        "rate_limit_exceeded" => ErrorClass::RateLimit,
        _ => ErrorClass::InvalidRequest,
    }
}

/// `Reconnecting... 2/3`: which attempt this is, and how many there are.
pub(super) fn attempts(message: &str) -> (u32, Option<u32>) {
    let pair = message.split_whitespace().find_map(|word| {
        let (attempt, max) = word.split_once('/')?;
        Some((
            attempt.parse().ok()?,
            max.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok(),
        ))
    });
    pair.unwrap_or((1, None))
}
