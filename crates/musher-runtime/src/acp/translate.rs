//! The translator: ACP messages in, signals and replies out. A pure state machine, apart from the process.

mod asks;
mod calls;
mod messages;
mod opening;
mod reason;
mod texts;
mod tools;
mod turns;

use std::collections::VecDeque;
use std::sync::Arc;

use musher_core::{
    ErrorInfo, EventKind, EventScope, Level, Lineage, PlanEntry, SessionId, SessionInfo,
};
use serde::Deserialize;
use serde_json::Value as Json;

use super::frame::{NoticeFrame, PlanFrame, PlanLine, SettingsUpdate};
use super::preset::AcpPreset;
use crate::conversation::asks::AgentAsks;
use crate::conversation::{
    AgentFailure, AgentFrame, ImageForm, ToolProcesses, Translate, Translation, read_message,
};
use crate::json::{self, JsonText, RawJson};
use crate::peer::Peer;
use crate::peer::json_rpc::{JsonRpc, RpcError, RpcParams};
use crate::process::OutputLine;
use crate::session::{BackendOrder, Signal};

/// What is said before the first prompt.
#[derive(Debug)]
pub(super) struct AcpOpening {
    pub(super) open_as: OpenAs,
    pub(super) cwd: String,
    /// Whether a server is reached over HTTP, and what is said of it.
    pub(super) servers: Vec<(bool, Json)>,
    pub(super) model: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) effort: Option<String>,
    /// What goes before the first prompt: the protocol has no place for it.
    pub(super) instructions: Option<String>,
    /// What was counted of the session before.
    pub(super) lineage: Lineage,
    pub(super) info: SessionInfo,
}

#[derive(Debug, Clone)]
pub(super) enum OpenAs {
    New,
    Resume(SessionId),
    Fork(SessionId),
}

/// What a request of ours was about.
#[derive(Debug)]
enum Subject {
    Initialize,
    Session,
    /// A setting with which the session is to begin.
    FirstSetting(Setting),
    Setting(Setting),
    Prompt,
}

/// What can be changed of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Setting {
    Model(String),
    Mode(String),
    Effort(String),
}

/// How far the conversation is.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    /// A session is opened; what comes before it is open repeats an earlier one.
    Opening,
    /// So many settings are not answered yet.
    Setting(usize),
    Open,
}

/// The state of one conversation with the program.
#[derive(Debug)]
pub(super) struct AcpTranslator {
    preset: Arc<AcpPreset>,
    peer: Peer<JsonRpc, Subject>,
    opening: AcpOpening,
    stage: Stage,
    powers: opening::AgentPowers,
    version: Option<String>,
    session: Option<String>,
    /// Prompts that wait for the session, or for the turn before them.
    held: VecDeque<turns::HeldPrompt>,
    turn: Option<turns::AcpTurn>,
    model: Option<String>,
    choices: opening::Choices,
    texts: texts::OpenTexts,
    tools: tools::OpenTools,
    asks: AgentAsks<asks::AcpShape>,
    calls: calls::PromptBook,
    failure: Option<AgentFailure>,
}

/// The parts of an update that say whose it is and what.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateFrame<'a> {
    #[serde(default, borrow)]
    session_id: Option<JsonText<'a>>,
    #[serde(borrow)]
    update: RawJson<'a>,
}

impl AcpTranslator {
    pub(super) fn new(preset: Arc<AcpPreset>, opening: AcpOpening) -> Self {
        Self {
            preset,
            peer: Peer::default(),
            stage: Stage::Greeting,
            powers: opening::AgentPowers::default(),
            version: None,
            session: None,
            held: VecDeque::new(),
            turn: None,
            model: opening.model.clone(),
            choices: opening::Choices::default(),
            texts: texts::OpenTexts::default(),
            tools: tools::OpenTools::default(),
            asks: AgentAsks::default(),
            calls: calls::PromptBook::resuming(&opening.lineage),
            failure: None,
            opening,
        }
    }

    fn updated(&mut self, frame: &mut AgentFrame<'_>, params: &RpcParams<'_>) -> Option<()> {
        let UpdateFrame { session_id, update } = params.read_here()?;
        // A session that is loaded tells its whole history first, which is in an earlier log.
        if self.stage == Stage::Opening {
            frame.signal(Signal::Alive);
            return Some(());
        }
        let scope = match session_id {
            Some(id) if self.session.as_deref().is_some_and(|own| own != &*id) => {
                EventScope::Subagent { agent: id.to_string(), parent_call: None, name: None }
            }
            Some(_) | None => EventScope::Main,
        };
        let update = update.as_raw_str();
        let kind = json::text_in(update, "sessionUpdate")?;
        match &*kind {
            "agent_message_chunk" => self.said(frame, scope, update, texts::Voice::Text),
            "agent_thought_chunk" => self.said(frame, scope, update, texts::Voice::Thought),
            "tool_call" | "tool_call_update" => self.tool_updated(frame, scope, update),
            "plan" => {
                let PlanFrame { entries } = json::read(update)?;
                let entry = |line: PlanLine| PlanEntry { text: line.content, status: line.status };
                let entries = entries.into_iter().map(entry).collect();
                frame.event_in(scope, EventKind::Plan { entries });
                Some(())
            }
            "usage_update" => self.usage_updated(frame, &scope, update),
            "current_mode_update" => {
                let SettingsUpdate { current_mode_id, .. } = json::read(update)?;
                frame.event(mode_info(current_mode_id?));
                Some(())
            }
            "config_option_update" => {
                let SettingsUpdate { config_options, .. } = json::read(update)?;
                self.choices.take_options(config_options);
                self.tell_choices(frame);
                Some(())
            }
            "notice" => {
                let NoticeFrame { severity, title } = json::read(update)?;
                let level = match severity.as_str() {
                    "error" => Level::Error,
                    "warning" => Level::Warning,
                    _ => Level::Info,
                };
                frame.notice(level, "agent_notice", title);
                Some(())
            }
            // What a person said is in the log already. Commands and titles are for a terminal.
            "user_message_chunk" | "available_commands_update" | "session_info_update" => {
                frame.signal(Signal::Alive);
                Some(())
            }
            _ => None,
        }
    }

    /// The program is of no use any more.
    fn fail(&mut self, frame: &mut AgentFrame<'_>, error: ErrorInfo) {
        frame.event(EventKind::Error { error: error.clone() });
        self.failure = Some(AgentFailure::fatal(error));
    }

    fn request(&mut self, method: &str, mut params: Json, about: Subject) -> bytes::Bytes {
        if let Some(session) = &self.session {
            params["sessionId"] = session.as_str().into();
        }
        self.peer.request(method, params, about)
    }
}

impl Translate for AcpTranslator {
    fn read(&mut self, line: &OutputLine, step: Translation) -> Translation {
        read_message(self, line, step)
    }

    fn order(&mut self, order: BackendOrder) -> Translation {
        match order {
            BackendOrder::Prompt { id, text, images } => {
                self.held.push_back(turns::HeldPrompt { id, text, images });
                self.next_prompt()
            }
            BackendOrder::Answer { ask, answer } => self.answer(&ask, answer),
            BackendOrder::Interrupt => self.cancel(),
            BackendOrder::SetModel { model } => self.change(Setting::Model(model)),
            BackendOrder::SetMode { mode } => self.change(Setting::Mode(mode)),
            // It is never told these: it cannot be steered, sends its own requests, and the conversation closes the input.
            BackendOrder::Steer { .. } | BackendOrder::Permission { .. } | BackendOrder::Close => {
                Translation::default()
            }
        }
    }

    fn images(&self) -> ImageForm {
        ImageForm::Bytes
    }

    fn is_ready(&self) -> bool {
        self.stage == Stage::Open || self.failure.is_some()
    }

    fn failure(&self) -> Option<&AgentFailure> {
        self.failure.as_ref()
    }
}

fn mode_info(mode: String) -> EventKind {
    let info = SessionInfo { permission_mode: Some(mode), ..SessionInfo::default() };
    EventKind::SessionInfo(Box::new(info))
}

#[cfg(test)]
mod tests;
