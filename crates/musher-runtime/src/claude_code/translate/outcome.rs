//! The end of a turn: how it ended and what it cost.

use musher_core::{
    CostBasis, ErrorClass, ErrorInfo, EventKind, Spend, Tokens, TurnEnded, TurnOutcome, UsageOf,
    UsageReport, Usd,
};

use super::super::frame::{ModelUsage, ResultFrame};
use super::reason::{TurnTrouble, judge};
use super::{AgentFailure, AgentFrame, Translator};
use crate::json;

impl Translator {
    pub(super) fn result(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let result: ResultFrame<'_> = frame.read()?;
        if !self.spoke && self.is_unknown_session(&result) {
            let message = result.errors.first().cloned().unwrap_or_default();
            let error = ErrorInfo::new(ErrorClass::SessionNotFound, message)
                .with_hint("start a new session, or name one that this configuration knows");
            frame.event(EventKind::Error { error: error.clone() });
            self.failure = Some(AgentFailure::unknown_session(error));
            return Some(());
        }
        let reports = usage(&result);
        let (outcome, error) = judge(&result, &self.trouble);
        self.calls.turn_ended(frame, outcome == TurnOutcome::Interrupted, &reports);
        for report in reports {
            frame.event(EventKind::Usage(report));
        }
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
        self.trouble = TurnTrouble::default();
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

/// What the turn used, by model. The increment is truer where it is told; the total beside it tells what was never counted.
fn usage(result: &ResultFrame<'_>) -> Vec<UsageReport> {
    let (increments, mut totals) = (result.increments(), result.totals());
    let Some(increments) = increments else {
        let totals = totals.unwrap_or_default();
        let report = |(model, usage): (String, ModelUsage)| UsageReport {
            of: UsageOf::Session,
            cumulative: true,
            ..report(result, model, &usage)
        };
        return totals.into_iter().map(report).collect();
    };
    let report = |(model, usage): (String, ModelUsage)| {
        let total = totals.as_mut().and_then(|totals| totals.remove(&model));
        let total = total.map(|total| Box::new(spend(&total)));
        UsageReport { of: UsageOf::Turn, total, ..report(result, model, &usage) }
    };
    increments.into_iter().map(report).collect()
}

fn report(result: &ResultFrame<'_>, model: String, usage: &ModelUsage) -> UsageReport {
    let spend = spend(usage);
    let known = spend.cost_usd.is_some();
    UsageReport {
        cost_basis: if known { CostBasis::Reported } else { CostBasis::Unknown },
        id: result.uuid.clone(),
        ..UsageReport::call("", Some(model), spend)
    }
}

fn spend(usage: &ModelUsage) -> Spend {
    let count = |told: Option<u64>| told.unwrap_or(0);
    let five_minutes = count(usage.cache_creation_ephemeral5m_input_tokens);
    let one_hour = count(usage.cache_creation_ephemeral1h_input_tokens);
    let tokens = Tokens {
        input: count(usage.input_tokens),
        cache_read: count(usage.cache_read_input_tokens),
        cache_write_5m: five_minutes,
        cache_write_1h: one_hour,
        cache_write_other: count(usage.cache_creation_input_tokens)
            .saturating_sub(five_minutes)
            .saturating_sub(one_hour),
        output: count(usage.output_tokens),
        reasoning: count(usage.thinking_tokens),
    };
    // A price that was guessed is no price, and neither is a figure that is no amount of money.
    let guessed = usage.cost_basis.as_deref() == Some("unknown");
    let cost_usd = usage.cost_usd.filter(|_| !guessed).and_then(Usd::told);
    let spend = Spend::costing(tokens, cost_usd);
    // What is absent was not told to be nothing.
    let all = [usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens];
    if all.contains(&None) { spend.as_estimate() } else { spend }
}
