//! Turns: a prompt begins one, and its reply ends it.

use musher_core::{
    ErrorClass, ErrorInfo, EventKind, HintCode, PromptId, Trigger, TurnEnded, TurnOutcome,
};
use serde_json::{Value as Json, json};

use super::{
    AcpTranslator, AgentFrame, RpcError, RpcParams, Signal, Stage, Subject, ToolProcesses,
    Translation, reason,
};
use crate::attachments::{self, PromptImage};
use crate::peer;
use crate::peer::json_rpc;

/// A prompt that waits for the session, or for the turn before it.
#[derive(Debug)]
pub(super) struct HeldPrompt {
    pub(super) id: PromptId,
    pub(super) text: String,
    pub(super) images: Vec<PromptImage>,
}

/// A turn under way.
#[derive(Debug, Default)]
pub(super) struct AcpTurn {
    /// The last whole message of the agent.
    pub(super) said: Option<String>,
    /// The model has answered something.
    pub(super) answered: bool,
}

impl AcpTranslator {
    /// Sends the next prompt, if the session is open and idle.
    pub(super) fn next_prompt(&mut self) -> Translation {
        let mut step = Translation::default();
        if self.stage != Stage::Open || self.turn.is_some() {
            return step;
        }
        let Some(HeldPrompt { id, text, images }) = self.held.pop_front() else { return step };
        let mut blocks: Vec<Json> = Vec::new();
        blocks.extend(self.opening.instructions.take().map(|text| block(&text)));
        if self.powers.images {
            blocks.extend(images.iter().filter_map(PromptImage::content).map(image));
        } else if !images.is_empty() {
            let why = format!("this version of {} takes no images", self.preset.name);
            step.signals.push(Signal::event(attachments::not_shown(&why)));
        }
        blocks.push(block(&text));
        let line = self.request("session/prompt", json!({ "prompt": blocks }), Subject::Prompt);
        step.replies.push(line);
        self.turn = Some(AcpTurn::default());
        let started = EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() };
        step.signals.push(Signal::Begun { prompt: id });
        step.signals.push(Signal::event(started));
        step.signals.extend(self.calls.prompted(self.model.as_deref()));
        // What lives now are tool servers. What comes after them are tools, which some leave running when they are cancelled.
        step.tools = ToolProcesses::Noted;
        step
    }

    /// Gives the turn up. Each request that is open must be answered, or the agent may wait for it.
    pub(super) fn cancel(&mut self) -> Translation {
        let mut step = Translation::default();
        let Some(session) = self.session.clone().filter(|_| self.turn.is_some()) else {
            return step;
        };
        let params = json!({ "sessionId": session });
        step.replies.push(peer::line(&json_rpc::notification("session/cancel", Some(params))));
        for (ask, (id, shape)) in self.asks.take_all() {
            step.replies.extend(self.peer.answer(&id, shape.cancelled()));
            step.signals.push(Signal::AskWithdrawn { ask });
        }
        step
    }

    pub(super) fn turn_over(
        &mut self,
        frame: &mut AgentFrame<'_>,
        result: &Result<RpcParams<'_>, RpcError>,
    ) -> Option<()> {
        let native = result.as_ref().ok().and_then(|told| told.text("stopReason"));
        let native = native.map(|reason| reason.to_string());
        let (outcome, error) = match result {
            Ok(_) => judge(native.as_deref()),
            Err(error) => {
                let error = reason::classified(&self.preset, error);
                let outcome = match error.class == ErrorClass::Refused {
                    true => TurnOutcome::Refused,
                    false => TurnOutcome::Failed,
                };
                (outcome, Some(error))
            }
        };
        let (outcome, error) = match outcome == TurnOutcome::Completed && self.used_nothing(result)
        {
            false => (outcome, error),
            // Some tell a request that was refused in words alone, and end the turn as if it were done.
            true => {
                (TurnOutcome::Failed, Some(reason::words_alone(&self.preset, self.last_words())))
            }
        };
        self.end_text(frame, outcome != TurnOutcome::Completed);
        self.close_tools(frame);
        self.asks.withdraw_all(frame, &mut self.peer);
        self.prompt_over(frame, result.as_ref().ok(), outcome, error.as_ref());
        let turn = self.turn.take();
        if outcome == TurnOutcome::Interrupted {
            frame.step.tools = ToolProcesses::Ended;
        }
        frame.event(EventKind::TurnEnded(Box::new(TurnEnded {
            outcome,
            native_reason: native.filter(|reason| reason != "end_turn"),
            final_text: turn
                .and_then(|turn| turn.said)
                .filter(|_| outcome == TurnOutcome::Completed),
            structured: None,
            error,
            prompts: Vec::new(),
            model_calls: 0,
            duration_ms: None,
            denials: Vec::new(),
            synthesised: false,
        })));
        let next = self.next_prompt();
        frame.add(next);
        Some(())
    }
}

fn image((media_type, data): (&str, &str)) -> Json {
    json!({ "type": "image", "mimeType": media_type, "data": data })
}

fn block(text: &str) -> Json {
    json!({ "type": "text", "text": text })
}

/// How a turn ended. A reason that nobody knows is a failure that names it.
fn judge(native: Option<&str>) -> (TurnOutcome, Option<ErrorInfo>) {
    match native {
        Some("end_turn") => (TurnOutcome::Completed, None),
        Some("cancelled") => (TurnOutcome::Interrupted, None),
        Some("refusal") => {
            let message = "the model refused to continue";
            (TurnOutcome::Refused, Some(ErrorInfo::new(ErrorClass::Refused, message)))
        }
        Some("max_tokens") => {
            let message = "the answer was cut off at the model's limit";
            (TurnOutcome::Failed, Some(ErrorInfo::new(ErrorClass::MaxOutput, message)))
        }
        Some("max_turn_requests") => {
            let message = "the agent reached its own limit of model calls in one turn";
            let error = ErrorInfo::new(ErrorClass::MaxTurns, message);
            (TurnOutcome::OutOfTurns, Some(error.hinting(HintCode::RaiseMaxTurns)))
        }
        Some(_) | None => {
            let native = native.unwrap_or("nothing");
            let message = format!(
                "the turn ended with `{}`, which Musher does not know",
                native.escape_debug()
            );
            (
                TurnOutcome::Failed,
                Some(ErrorInfo::new(ErrorClass::Protocol, message).with_code(native)),
            )
        }
    }
}
