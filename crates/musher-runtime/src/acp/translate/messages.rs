//! Which message is which: what the program tells, asks and answers.

use musher_core::{AskId, EventScope, Level};
use serde_json::Value as Json;

use super::{AcpTranslator, Subject, reason};
use crate::conversation::{AgentFrame, RpcHandler};
use crate::peer::json_rpc::{RpcError, RpcParams, name_of};
use crate::session::Signal;

impl RpcHandler for AcpTranslator {
    fn notified(
        &mut self,
        frame: &mut AgentFrame<'_>,
        method: &str,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        match method {
            "session/update" => self.updated(frame, params),
            "$/cancel_request" => {
                let ask = AskId::new(params.request_name()?);
                self.asks.withdraw(frame, &mut self.peer, ask);
                Some(())
            }
            // What the vendor adds under its own name is nobody's business here.
            "elicitation/complete" => {
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
        let wanted = match method {
            "session/request_permission" => self.permission(frame, params)?,
            "elicitation/create" => self.form(params)?,
            _ => return None,
        };
        let request = (AskId::new(name_of(id)), self.peer.opened(id.clone()));
        self.asks.open(frame, EventScope::Main, request, wanted);
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
            (Subject::Initialize, Err(error)) => {
                let error = reason::startup(&self.preset, &error);
                self.fail(frame, error);
                Some(())
            }
            (Subject::Session, Ok(told)) => self.session_opened(frame, &told),
            (Subject::Session, Err(error)) => {
                self.no_session(frame, &error);
                Some(())
            }
            (Subject::FirstSetting(setting), Ok(_)) => {
                self.changed(frame, setting);
                self.one_setting_less(frame);
                Some(())
            }
            (Subject::FirstSetting(setting), Err(error)) => {
                let error = reason::setting(&self.preset, &setting, &error);
                self.fail(frame, error);
                Some(())
            }
            (Subject::Setting(setting), Ok(_)) => {
                self.changed(frame, setting);
                Some(())
            }
            (Subject::Setting(setting), Err(error)) => {
                let text = format!("the agent refused {}: {}", setting.words(), error.message);
                frame.notice(Level::Warning, "setting_refused", text);
                Some(())
            }
            (Subject::Prompt, result) => self.turn_over(frame, &result),
        }
    }

    fn takes_as_end(&mut self, edges: &str) -> bool {
        edges.contains(r#""stopReason""#) && self.turn.take().is_some()
    }
}
