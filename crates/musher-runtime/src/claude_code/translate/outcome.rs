//! The end of a turn: how it ended and what it cost.

use musher_core::{
    CostBasis, ErrorClass, ErrorInfo, EventKind, Spend, Tokens, TurnEnded, UsageOf, UsageReport,
    Usd,
};

use super::super::frame::{ModelUsage, ResultFrame};
use super::reason::{Trouble, judge};
use super::{Frame, Translator};
use crate::json;

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
        let (outcome, error) = judge(&result, &self.trouble);
        self.turn_open = false;
        frame.event(EventKind::TurnEnded(Box::new(TurnEnded {
            outcome,
            native_reason: native_reason(&result),
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
        result.is_error != Some(false)
            && result.errors.iter().any(|error| {
                error.contains("No conversation found with session ID")
                    || error.contains("does not match any session")
            })
    }
}

/// The agent's own word for how it ended.
fn native_reason(result: &ResultFrame<'_>) -> Option<String> {
    let named = result.subtype.clone().filter(|subtype| subtype != "success");
    result.terminal_reason.clone().or_else(|| result.startup_failure_reason.clone()).or(named)
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
