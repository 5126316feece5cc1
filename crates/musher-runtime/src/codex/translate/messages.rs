//! Which message is which: what the program tells, asks and answers.

use musher_core::{
    AskId, Channel, ErrorClass, ErrorInfo, EventKind, Level, ModelChange, SessionInfo,
};
use serde_json::Value as Json;

use super::{CodexTranslator, Subject, refused};
use crate::conversation::{AgentFrame, RpcHandler};
use crate::peer::json_rpc::{RpcError, RpcParams, name_of};
use crate::session::Signal;

impl RpcHandler for CodexTranslator {
    fn notified(
        &mut self,
        frame: &mut AgentFrame<'_>,
        method: &str,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let scope = self.scope(params);
        match method {
            "turn/started" => self.turn_started(frame, &scope, params),
            "turn/completed" => self.turn_completed(frame, &scope, params),
            "item/started" => self.item_started(frame, scope, params),
            "item/completed" => self.item_completed(frame, scope, params),
            "item/agentMessage/delta" | "item/plan/delta" => {
                self.text_delta(frame, scope, params, Channel::Text)
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.text_delta(frame, scope, params, Channel::Reasoning)
            }
            "item/commandExecution/outputDelta" => {
                self.text_delta(frame, scope, params, Channel::ToolOutput)
            }
            "turn/plan/updated" => Self::plan_updated(frame, scope, params),
            "thread/tokenUsage/updated" => self.tokens_used(frame, &scope, params),
            "thread/status/changed" => Self::status_changed(frame, &scope, params),
            "account/rateLimits/updated" => self.limits_changed(frame, params),
            "error" => self.failed(frame, &scope, params),
            "serverRequest/resolved" => {
                let ask = AskId::new(params.request_name()?);
                self.asks.withdraw(frame, &mut self.peer, ask);
                Some(())
            }
            "mcpServer/startupStatus/updated" => self.server_changed(frame, params),
            "warning" | "guardianWarning" | "configWarning" | "deprecationNotice" => {
                let text = ["message", "summary"].iter().find_map(|name| params.text(name))?;
                let level =
                    if method == "deprecationNotice" { Level::Info } else { Level::Warning };
                frame.notice(level, method, text.to_string());
                Some(())
            }
            "model/rerouted" => {
                let to = params.text("toModel")?.to_string();
                let from = params.text("fromModel").map(|from| from.to_string());
                self.model = Some(to.clone());
                self.calls.model_changed();
                frame.event(EventKind::ModelChanged { from, to, why: ModelChange::Refusal });
                Some(())
            }
            // What they tell is told by others, or is nobody's business here.
            "thread/started"
            | "thread/goal/cleared"
            | "thread/name/updated"
            | "thread/readState/changed"
            | "thread/settings/updated"
            | "remoteControl/status/changed"
            | "skills/changed"
            | "item/reasoning/summaryPartAdded"
            | "item/mcpToolCall/progress" => {
                frame.signal(Signal::Alive);
                Some(())
            }
            _ => None,
        }
    }

    fn asked(
        &mut self,
        frame: &mut AgentFrame<'_>,
        id: &Json,
        method: &str,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let scope = self.scope(params);
        let wanted = self.wanted(frame, method, params)?;
        let request = (AskId::new(name_of(id)), self.peer.opened(id.clone()));
        self.asks.open(frame, scope, request, wanted);
        Some(())
    }

    fn answered(
        &mut self,
        frame: &mut AgentFrame<'_>,
        id: &Json,
        result: Result<RpcParams<'_>, RpcError>,
    ) -> Option<()> {
        match (self.peer.answered(id)?, result) {
            (Subject::Initialize, Ok(told)) => self.initialized(frame, &told),
            (Subject::Login, Ok(_)) => self.open_thread(frame),
            (Subject::Thread, Ok(told)) => return self.thread_opened(frame, &told),
            (Subject::Thread, Err(error)) => self.no_thread(frame, &error),
            (Subject::Initialize, Err(error)) => {
                self.fail(frame, ErrorInfo::new(ErrorClass::Protocol, error.message));
            }
            (Subject::Login, Err(error)) => {
                self.fail(frame, ErrorInfo::new(ErrorClass::Auth, error.message));
            }
            (Subject::Turn, Err(error)) => self.turn_refused(frame, &error),
            (Subject::Steer(prompt), Err(error)) => {
                frame.signal(Signal::NotTaken { prompt });
                let text = format!("the agent did not take the message: {}", error.message);
                frame.notice(Level::Warning, "not_taken", text);
            }
            (Subject::SetModel(model), Ok(_)) => {
                let from = self.model.replace(model.clone());
                self.calls.model_changed();
                let why = ModelChange::Person;
                frame.event(EventKind::ModelChanged { from, to: model, why });
            }
            (Subject::SetMode(mode), Ok(_)) => {
                let info = SessionInfo { permission_mode: Some(mode), ..SessionInfo::default() };
                frame.event(EventKind::SessionInfo(Box::new(info)));
            }
            (Subject::Interrupt, Err(error)) => refused(frame, "interrupt", &error),
            (Subject::SetModel(_), Err(error)) => refused(frame, "set_model", &error),
            (Subject::SetMode(_), Err(error)) => refused(frame, "set_mode", &error),
            (Subject::Aside, Err(error)) => refused(frame, "request", &error),
            (Subject::Turn | Subject::Steer(_) | Subject::Interrupt | Subject::Aside, Ok(_)) => {
                frame.signal(Signal::Alive);
            }
        }
        Some(())
    }

    fn takes_as_end(&mut self, edges: &str) -> bool {
        edges.contains(r#""method":"turn/completed""#) && self.turn.take().is_some()
    }
}
