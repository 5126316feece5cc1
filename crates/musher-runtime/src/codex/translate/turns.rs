//! Turns: their beginning, their end and how it is to be told, and the state of the thread.

use musher_core::{
    Activity, ErrorClass, ErrorInfo, EventKind, EventScope, RateLimit, Trigger, TurnEnded,
    TurnOutcome,
};
use serde_json::{Value as Json, json};

use super::super::frame::{ErrorNotice, LimitWindow, RateLimitNotice, TurnNotice};
use super::reason;
use super::{AgentFrame, CodexTranslator, RpcError, RpcParams, Signal, Subject, ToolProcesses};

/// A turn under way.
#[derive(Debug)]
pub(super) struct OpenTurn {
    pub(super) id: String,
    /// The last whole message of the agent.
    pub(super) said: Option<String>,
    /// What went wrong in it so far.
    pub(super) error: Option<ErrorInfo>,
}

impl CodexTranslator {
    pub(super) fn turn_started(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let TurnNotice { turn } = params.read()?;
        if !scope.is_main() {
            self.calls.begin(frame, scope, self.model.as_deref());
            return Some(());
        }
        self.turn = Some(OpenTurn { id: turn.id, said: None, error: None });
        frame.event(EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() });
        // What lives now are tool servers. What comes after them are tools, which it leaves running when it is interrupted.
        frame.step.tools = ToolProcesses::Noted;
        self.calls.begin(frame, scope, self.model.as_deref());
        Some(())
    }

    pub(super) fn turn_completed(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let TurnNotice { turn } = params.read()?;
        let open = if scope.is_main() { self.turn.take() } else { None };
        let before = open.as_ref().and_then(|open| open.error.as_ref());
        let (outcome, error) = reason::judge(&turn, before);
        self.close_items(frame, scope);
        self.calls.turn_ended(frame, scope, outcome, error.as_ref(), self.model.as_deref());
        if !scope.is_main() {
            return Some(());
        }
        if outcome == TurnOutcome::Interrupted {
            self.end_tools(frame);
        }
        let native_reason = Some(turn.status).filter(|status| status != "completed");
        frame.event(EventKind::TurnEnded(Box::new(TurnEnded {
            outcome,
            native_reason,
            final_text: open.and_then(|open| open.said).filter(|_| error.is_none()),
            structured: None,
            error,
            prompts: Vec::new(),
            model_calls: 0,
            duration_ms: turn.duration_ms,
            denials: Vec::new(),
            synthesised: false,
        })));
        Some(())
    }

    /// Ends the commands of a turn that was given up: the program leaves them running.
    fn end_tools(&mut self, frame: &mut AgentFrame<'_>) {
        let line = self.on_thread("thread/backgroundTerminals/clean", json!({}), Subject::Aside);
        frame.reply(line);
        frame.step.tools = ToolProcesses::Ended;
    }

    /// A turn that was asked for and will not begin.
    pub(super) fn turn_refused(&mut self, frame: &mut AgentFrame<'_>, refused: &RpcError) {
        let error = ErrorInfo::new(ErrorClass::InvalidRequest, refused.message.clone())
            .with_code(refused.code.to_string());
        if self.turn.is_none() {
            frame.event(EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() });
        }
        self.turn = None;
        let ended = TurnEnded::synthesised(TurnOutcome::Failed, Some(error));
        frame.event(EventKind::TurnEnded(Box::new(ended)));
    }

    pub(super) fn status_changed(
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let told: Json = params.read()?;
        let status = &told["status"];
        let waits = status["activeFlags"].as_array().is_some_and(|flags| !flags.is_empty());
        let state = match status["type"].as_str()? {
            "active" if waits => Activity::NeedsYou,
            "active" => Activity::Running,
            "idle" | "systemError" | "notLoaded" => Activity::Idle,
            _ => return None,
        };
        match scope {
            EventScope::Main => frame.event(EventKind::SessionState { state }),
            EventScope::Subagent { .. } => frame.signal(Signal::Alive),
        }
        Some(())
    }

    pub(super) fn failed(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let ErrorNotice { error, will_retry } = params.read()?;
        let cause = reason::classified(&error);
        if will_retry {
            // A stream that broke off has cost something, and what came of it is worth nothing.
            if cause.http.is_none() {
                self.close_items(frame, scope);
                self.calls.cut(frame, scope, self.model.as_deref());
                self.calls.begin(frame, scope, self.model.as_deref());
            }
            let (attempt, max) = reason::attempts(&error.message);
            frame.event_in(scope.clone(), EventKind::Retry { attempt, max, delay_ms: None, cause });
            return Some(());
        }
        if let Some(turn) = self.turn.as_mut().filter(|_| scope.is_main()) {
            turn.error = Some(cause.clone());
        }
        frame.event_in(scope.clone(), EventKind::Error { error: cause });
        Some(())
    }

    /// Limits of a subscription. What a notice leaves out has not changed.
    pub(super) fn limits_changed(
        &mut self,
        frame: &mut AgentFrame<'_>,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let RateLimitNotice { rate_limits: told } = params.read()?;
        let reached = told.rate_limit_reached_type;
        let mut fresh = false;
        for (known, now) in self.limits.iter_mut().zip([told.primary, told.secondary]) {
            if let Some(now) = now.filter(|now| Some(*now) != *known) {
                *known = Some(now);
                fresh = true;
            }
        }
        let windows = self.limits.iter().flatten();
        let tightest = windows.max_by(|a, b| a.used_percent.total_cmp(&b.used_percent));
        match tightest.filter(|_| fresh || reached.is_some()) {
            Some(window) => {
                frame.event(EventKind::RateLimit(Box::new(limit(window, reached))));
            }
            None => frame.signal(Signal::Alive),
        }
        Some(())
    }
}

fn limit(window: &LimitWindow, reached: Option<String>) -> RateLimit {
    let exhausted = reached.is_some() || window.used_percent >= 100.0;
    let hours = window.window_duration_mins.map(|minutes| match minutes {
        0..60 => format!("{minutes} minutes"),
        60..1440 => format!("{} hours", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    });
    RateLimit {
        exhausted,
        status: reached.unwrap_or_else(|| if exhausted { "rejected" } else { "allowed" }.into()),
        window: hours,
        resets_at: window.resets_at.map(|seconds| seconds.saturating_mul(1000)),
        used: Some(window.used_percent / 100.0),
        error: None,
    }
}
