//! How a turn ended and what it cost, from the fields that tell the truth.
//!
//! `subtype` is not one of them: an API failure comes as `success`. The order of truth is `is_error`,
//! `terminal_reason`, `api_error_status`, then the last error that was heard.

use musher_core::{
    CostBasis, ErrorClass, ErrorInfo, EventKind, Spend, Tokens, TurnEnded, TurnOutcome, UsageOf,
    UsageReport, Usd,
};

use super::super::frame::{ModelUsage, ResultFrame};
use super::{Frame, Translator};
use crate::json;

/// What was heard of trouble in this turn.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    class: Option<ErrorClass>,
    pub(super) message: Option<String>,
    pub(super) limit_reached: bool,
    pub(super) refused: bool,
}

impl Trouble {
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

impl Translator {
    pub(super) fn result(&mut self, frame: &mut Frame<'_>) -> Option<()> {
        let result: ResultFrame<'_> = frame.read()?;
        if !self.spoke && self.is_unknown_session(&result) {
            let message = result.errors.first().cloned().unwrap_or_default();
            let error = ErrorInfo::new(ErrorClass::SessionNotFound, message)
                .with_hint("start a new session, or name one that this configuration knows");
            frame.event(EventKind::Error { error: error.clone() });
            self.unknown_session = Some(error);
            return Some(());
        }
        for report in usage(&result) {
            frame.event(EventKind::Usage(report));
        }
        let (outcome, error) = self.outcome(&result);
        self.turn_open = false;
        frame.event(EventKind::TurnEnded(Box::new(TurnEnded {
            outcome,
            native_reason: result.terminal_reason.or(result.startup_failure_reason),
            final_text: result.result.filter(|_| error.is_none()),
            structured: result.structured_output.as_ref().and_then(json::read_piece),
            error,
            prompts: Vec::new(),
            model_calls: 0,
            duration_ms: result.duration_ms,
            denials: result.permission_denials.into_iter().map(|denial| denial.tool_name).collect(),
            synthesised: false,
        })));
        self.trouble = Trouble::default();
        Some(())
    }

    /// Only its own words tell it apart from other failures to start.
    fn is_unknown_session(&self, result: &ResultFrame<'_>) -> bool {
        failed(result)
            && result.errors.iter().any(|error| {
                error.contains("No conversation found with session ID")
                    || error.contains("does not match any session")
            })
    }

    fn outcome(&self, result: &ResultFrame<'_>) -> (TurnOutcome, Option<ErrorInfo>) {
        let reason = result.terminal_reason.as_deref().unwrap_or_default();
        if reason.starts_with("aborted") {
            return (TurnOutcome::Interrupted, None);
        }
        if !failed(result) {
            return (TurnOutcome::Completed, None);
        }
        let heard = self.trouble.class;
        let status = result.api_error_status.and_then(by_status);
        let (outcome, class) = match reason {
            "max_turns" => (TurnOutcome::OutOfTurns, ErrorClass::MaxTurns),
            "budget_exhausted" => (TurnOutcome::OutOfBudget, ErrorClass::Budget),
            "prompt_too_long" => (TurnOutcome::Failed, ErrorClass::ContextOverflow),
            _ if self.trouble.refused => (TurnOutcome::Refused, ErrorClass::Refused),
            // A rate limit and a used-up subscription have the same status.
            _ => match (status, heard) {
                (Some(ErrorClass::RateLimit), Some(heard)) => (TurnOutcome::Failed, heard),
                (Some(status), _) => (TurnOutcome::Failed, status),
                (None, Some(ErrorClass::Server)) => (TurnOutcome::Failed, ErrorClass::Network),
                (None, Some(heard)) => (TurnOutcome::Failed, heard),
                (None, None) => (TurnOutcome::Failed, ErrorClass::Unknown),
            },
        };
        let message = result
            .result
            .clone()
            .filter(|text| !text.is_empty())
            .or_else(|| self.trouble.message.clone())
            .or_else(|| result.errors.first().cloned())
            .unwrap_or_else(|| "the agent reported an error without a word".into());
        let mut error = ErrorInfo::new(class, message).with_http(result.api_error_status);
        error.hint = hint(class).map(str::to_owned);
        (outcome, Some(error))
    }
}

/// Whether the turn failed; without a plain word the other fields tell.
fn failed(result: &ResultFrame<'_>) -> bool {
    let finished = matches!(result.terminal_reason.as_deref(), None | Some("completed"));
    result
        .is_error
        .unwrap_or(!finished || result.api_error_status.is_some_and(|status| status >= 400))
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
        ErrorClass::ModelNotFound => Some("name a model that this key may use, with --model"),
        ErrorClass::MaxTurns => Some("raise --max-turns, or resume the session"),
        ErrorClass::Budget => Some("raise --budget, or resume the session"),
        ErrorClass::Network => Some("check the network and ANTHROPIC_BASE_URL"),
        ErrorClass::MaxOutput
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

/// What the turn used, by model.
fn usage(result: &ResultFrame<'_>) -> Vec<UsageReport> {
    let (models, cumulative) = result.usage();
    models.iter().map(|(model, usage)| report(model, usage, cumulative)).collect()
}

fn report(model: &str, usage: &ModelUsage, cumulative: bool) -> UsageReport {
    let five_minutes = usage.cache_creation_ephemeral5m_input_tokens;
    let one_hour = usage.cache_creation_ephemeral1h_input_tokens;
    let tokens = Tokens {
        input: usage.input_tokens,
        cache_read: usage.cache_read_input_tokens,
        cache_write_5m: five_minutes,
        cache_write_1h: one_hour,
        cache_write_other: usage
            .cache_creation_input_tokens
            .saturating_sub(five_minutes)
            .saturating_sub(one_hour),
        output: usage.output_tokens,
        reasoning: usage.thinking_tokens,
    };
    // A price that was guessed is no price.
    let guessed = usage.cost_basis.as_deref() == Some("unknown");
    let cost_usd = usage.cost_usd.filter(|_| !guessed).map(Usd::from_dollars);
    UsageReport {
        of: if cumulative { UsageOf::Session } else { UsageOf::Turn },
        cumulative,
        cost_basis: if cost_usd.is_some() { CostBasis::Reported } else { CostBasis::Unknown },
        id: None,
        ..UsageReport::call("", Some(model.to_owned()), Spend::costing(tokens, cost_usd))
    }
}
