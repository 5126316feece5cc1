//! Why a turn ended, from all the fields that tell, in words that no vendor owns.
//!
//! A turn is done only if the agent says so and nothing in its last frame says otherwise: an API failure comes as
//! `success`, and some failures come without `is_error`. A reason that is not known here is a failure that names it.

use musher_core::{ErrorClass, ErrorInfo, HintCode, TurnOutcome};

use super::super::frame::ResultFrame;

/// What was heard of trouble in this turn.
#[derive(Debug, Default)]
pub(super) struct TurnTrouble {
    class: Option<ErrorClass>,
    pub(super) message: Option<String>,
    pub(super) limit_reached: bool,
    pub(super) refused: bool,
}

impl TurnTrouble {
    /// Takes in the code of an error message and classes it.
    pub(super) fn heard(&mut self, code: &str, api_error: Option<&str>) -> ErrorClass {
        self.limit_reached |= api_error == Some("usage_limit_reached");
        let class = self.class_of(code);
        self.class = Some(class);
        class
    }

    /// The cause of a retry.
    pub(super) fn retry(&self, code: &str, status: Option<u16>) -> ErrorInfo {
        let class = status.and_then(by_status).unwrap_or_else(|| self.class_of(code));
        let message = if code.is_empty() { "the request failed" } else { code };
        ErrorInfo::new(class, message).with_http(status).with_code(code)
    }

    fn class_of(&self, code: &str) -> ErrorClass {
        match code {
            "authentication_failed" => ErrorClass::Auth,
            "billing_error" => ErrorClass::Billing,
            "rate_limit" if self.limit_reached => ErrorClass::UsageLimit,
            "rate_limit" => ErrorClass::RateLimit,
            "overloaded" => ErrorClass::Overloaded,
            "model_not_found" => ErrorClass::ModelNotFound,
            "max_output_tokens" => ErrorClass::MaxOutput,
            "invalid_request" if self.refused => ErrorClass::Refused,
            "invalid_request" => ErrorClass::InvalidRequest,
            "server_error" => ErrorClass::Server,
            _ => ErrorClass::Unknown,
        }
    }
}

fn by_status(status: u16) -> Option<ErrorClass> {
    Some(match status {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Billing,
        404 => ErrorClass::ModelNotFound,
        413 => ErrorClass::ContextOverflow,
        429 => ErrorClass::RateLimit,
        529 => ErrorClass::Overloaded,
        500..=599 => ErrorClass::Server,
        _ => return None,
    })
}

/// How the turn ended, and what went wrong if something did.
pub(super) fn judge(
    result: &ResultFrame<'_>,
    trouble: &TurnTrouble,
) -> (TurnOutcome, Option<ErrorInfo>) {
    let reason = result.terminal_reason.as_deref();
    if reason.is_some_and(|reason| reason.starts_with("aborted_")) {
        return (TurnOutcome::Interrupted, None);
    }
    let subtype = result.subtype.as_deref();
    let named = [reason, subtype].into_iter().flatten().find(|name| !is_plain_end(name));
    let stopped = result.stop_reason.as_deref().and_then(by_stop_reason);
    let refused = result.api_error_status.is_some_and(|status| status >= 400);
    let said_so = result.is_error.is_some() || reason.is_some() || subtype.is_some();
    let failed = result.is_error == Some(true) || named.is_some() || stopped.is_some() || refused;
    if said_so && !failed {
        return (TurnOutcome::Completed, None);
    }
    let known = named.and_then(|_| [reason, subtype].into_iter().flatten().find_map(by_reason));
    let (outcome, class) = match (known, stopped) {
        (Some(known), _) => known,
        (None, _) if trouble.refused => (TurnOutcome::Refused, ErrorClass::Refused),
        (None, Some(stopped)) if trouble.class.is_none() => stopped,
        (None, _) => (TurnOutcome::Failed, by_trouble(result, trouble)),
    };
    // Its own words tell enough of a reason that is known.
    let unknown = named.filter(|_| known.is_none());
    let mut error = ErrorInfo::new(class, message(result, trouble, named, unknown));
    error.http = result.api_error_status;
    error.hint = hint(class).map(str::to_owned);
    if let Some(code) = hint_code(class) {
        error = error.hinting(code);
    }
    // That a request failed is no reason of its own.
    error.code = named.filter(|named| *named != "api_error").map(str::to_owned);
    (outcome, Some(error))
}

/// Words for an end without a failure. Work that goes on in the background has not failed.
fn is_plain_end(name: &str) -> bool {
    matches!(name, "success" | "completed" | "background_requested")
}

/// Every reason that the agent documents, by either of its names.
fn by_reason(name: &str) -> Option<(TurnOutcome, ErrorClass)> {
    Some(match name {
        "max_turns" | "error_max_turns" => (TurnOutcome::OutOfTurns, ErrorClass::MaxTurns),
        "budget_exhausted" | "error_max_budget_usd" => {
            (TurnOutcome::OutOfBudget, ErrorClass::Budget)
        }
        "prompt_too_long" | "blocking_limit" | "rapid_refill_breaker" => {
            (TurnOutcome::Failed, ErrorClass::ContextOverflow)
        }
        "image_error" => (TurnOutcome::Failed, ErrorClass::InvalidRequest),
        "model_error" | "malformed_tool_use_exhausted" => (TurnOutcome::Failed, ErrorClass::Server),
        "stop_hook_prevented" | "hook_stopped" => (TurnOutcome::Failed, ErrorClass::Policy),
        "structured_output_retry_exhausted"
        | "error_max_structured_output_retries"
        | "tool_deferred"
        | "tool_deferred_unavailable"
        | "turn_setup_failed" => (TurnOutcome::Failed, ErrorClass::Unknown),
        // What is behind these two is told by other fields.
        "api_error" | "error_during_execution" => return None,
        _ => return None,
    })
}

/// Words of the model itself for an answer that is not whole.
fn by_stop_reason(reason: &str) -> Option<(TurnOutcome, ErrorClass)> {
    Some(match reason {
        "refusal" => (TurnOutcome::Refused, ErrorClass::Refused),
        "max_tokens" => (TurnOutcome::Failed, ErrorClass::MaxOutput),
        "model_context_window_exceeded" => (TurnOutcome::Failed, ErrorClass::ContextOverflow),
        _ => return None,
    })
}

/// The class of a failed request.
fn by_trouble(result: &ResultFrame<'_>, trouble: &TurnTrouble) -> ErrorClass {
    let status = result.api_error_status.and_then(by_status);
    match (status, trouble.class) {
        // A rate limit and a used-up subscription have the same status.
        (Some(ErrorClass::RateLimit), Some(heard)) => heard,
        (Some(status), _) => status,
        (None, Some(ErrorClass::Server)) => ErrorClass::Network,
        (None, Some(heard)) => heard,
        (None, None) => ErrorClass::Unknown,
    }
}

/// What went wrong, in the agent's own words where it has any; they name the reason.
fn message(
    result: &ResultFrame<'_>,
    trouble: &TurnTrouble,
    named: Option<&str>,
    unknown: Option<&str>,
) -> String {
    // Without `is_error` the text is an answer, and not what went wrong.
    let text = result.result.clone().filter(|_| result.is_error == Some(true));
    let words = text
        .filter(|text| !text.is_empty())
        .or_else(|| trouble.message.clone())
        .or_else(|| result.errors.first().cloned());
    let own = |name: &&str| !matches!(*name, "api_error" | "error_during_execution");
    match (words, named.filter(own)) {
        (Some(words), _) => match unknown.filter(own).filter(|name| !words.contains(*name)) {
            Some(name) => format!("{words} ({name})"),
            None => words,
        },
        (None, Some(named)) => format!("the agent ended its turn with `{named}`"),
        (None, None) => match result.stop_reason.as_deref() {
            Some(stopped) if by_stop_reason(stopped).is_some() => {
                format!("the model stopped with `{stopped}`")
            }
            _ => "the agent reported an error without a word".into(),
        },
    }
}

/// What a person can do about it, where the host has words for it.
#[expect(clippy::wildcard_enum_match_arm, reason = "few classes have words of the host")]
fn hint_code(class: ErrorClass) -> Option<HintCode> {
    match class {
        ErrorClass::ModelNotFound => Some(HintCode::NameModel),
        ErrorClass::MaxTurns => Some(HintCode::RaiseMaxTurns),
        ErrorClass::Budget => Some(HintCode::RaiseBudget),
        _ => None,
    }
}

/// What a person can do about it.
fn hint(class: ErrorClass) -> Option<&'static str> {
    match class {
        ErrorClass::Auth => Some("check ANTHROPIC_API_KEY, or run `claude` once and log in"),
        ErrorClass::Billing => Some("add credit to the account, or use another key"),
        ErrorClass::UsageLimit => Some("wait for the reset, then resume the session"),
        ErrorClass::RateLimit | ErrorClass::Overloaded => {
            Some("wait a little, then resume the session")
        }
        ErrorClass::ContextOverflow => Some("start a fresh session with a smaller task"),
        ErrorClass::Network => Some("check the network and ANTHROPIC_BASE_URL"),
        ErrorClass::MaxOutput
        | ErrorClass::ModelNotFound
        | ErrorClass::MaxTurns
        | ErrorClass::Budget
        | ErrorClass::SessionNotFound
        | ErrorClass::InvalidRequest
        | ErrorClass::Refused
        | ErrorClass::Policy
        | ErrorClass::Server
        | ErrorClass::Config
        | ErrorClass::Unavailable
        | ErrorClass::Startup
        | ErrorClass::Protocol
        | ErrorClass::ProcessExit
        | ErrorClass::Stalled
        | ErrorClass::Internal
        | ErrorClass::Unknown => None,
    }
}
