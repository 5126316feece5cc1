//! The translator: frames of Codex's app server in, signals and replies out. A pure state machine, apart from the process.

mod asks;
mod calls;
mod edits;
mod items;
mod messages;
mod reason;
mod turns;

use std::collections::HashSet;

use musher_core::{
    ErrorClass, ErrorInfo, EventKind, EventScope, Level, Lineage, McpState, PromptId, SessionId,
    SessionInfo,
};
use serde_json::{Value as Json, json};

use super::frame::{CodexHello, LimitWindow, ServerState, ThreadOpened};
use super::launch::{self, CodexMode, OwnSandbox, PLAN};
use crate::PromptImage;
use crate::conversation::asks::AgentAsks;
use crate::conversation::{
    AgentFailure, AgentFrame, ToolProcesses, Translate, Translation, read_message,
};
use crate::peer::json_rpc::{self, JsonRpc, RpcError, RpcParams};
use crate::peer::{self, Peer};
use crate::process::OutputLine;
use crate::session::{BackendOrder, Signal};

/// What is said before the first prompt.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) kind: OpeningKind,
    /// What is asked of the thread.
    pub(super) thread: Json,
    pub(super) mode: &'static CodexMode,
    pub(super) own_sandbox: OwnSandbox,
    pub(super) plan: bool,
    pub(super) effort: Option<String>,
    pub(super) login: Login,
    /// What was counted of the session before.
    pub(super) lineage: Lineage,
    pub(super) info: SessionInfo,
}

#[derive(Debug, Clone)]
pub(super) enum OpeningKind {
    Start,
    Resume(SessionId),
    Fork(SessionId),
}

/// Whether it must be given a key first.
#[derive(Debug)]
pub(super) enum Login {
    Done,
    WithKey(String),
}

/// What a request of ours was about.
#[derive(Debug)]
enum Subject {
    Initialize,
    Login,
    Thread,
    Turn,
    Steer(PromptId),
    Interrupt,
    SetModel(String),
    SetMode(String),
    /// Its reply says nothing that anybody needs.
    Aside,
}

/// The state of one conversation with the program.
#[derive(Debug)]
pub(super) struct CodexTranslator {
    peer: Peer<JsonRpc, Subject>,
    opening: Opening,
    version: Option<String>,
    /// The thread of the session, once there is one. Helpers have threads of their own.
    thread: Option<String>,
    turn: Option<turns::OpenTurn>,
    /// Prompts that wait for the thread.
    held: Vec<(PromptId, Json)>,
    own_prompts: HashSet<String>,
    model: Option<String>,
    items: items::OpenItems,
    asks: AgentAsks<asks::CodexShape>,
    calls: calls::CallBook,
    servers: Vec<McpState>,
    limits: [Option<LimitWindow>; 2],
    failure: Option<AgentFailure>,
}

impl CodexTranslator {
    pub(super) fn new(opening: Opening) -> Self {
        Self {
            peer: Peer::default(),
            model: opening.info.model.clone(),
            opening,
            version: None,
            thread: None,
            turn: None,
            held: Vec::new(),
            own_prompts: HashSet::new(),
            items: items::OpenItems::default(),
            asks: AgentAsks::default(),
            calls: calls::CallBook::default(),
            servers: Vec::new(),
            limits: [None, None],
            failure: None,
        }
    }

    /// The first thing to say.
    pub(super) fn hello(&mut self) -> Translation {
        let params = json!({
            "clientInfo": { "name": "musher", "title": "Musher", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": { "experimentalApi": true },
        });
        let line = self.peer.request("initialize", params, Subject::Initialize);
        let info = Box::new(self.opening.info.clone());
        Translation {
            replies: vec![line],
            signals: vec![Signal::event(EventKind::SessionInfo(info))],
            ..Translation::default()
        }
    }

    /// Whose frame it is, by its thread.
    fn scope(&self, params: &RpcParams<'_>) -> EventScope {
        match params.text("threadId") {
            Some(thread) if self.thread.as_deref().is_some_and(|own| own != &*thread) => {
                EventScope::Subagent { agent: thread.to_string(), parent_call: None, name: None }
            }
            Some(_) | None => EventScope::Main,
        }
    }

    fn initialized(&mut self, frame: &mut AgentFrame<'_>, told: &RpcParams<'_>) {
        let told: CodexHello = told.read().unwrap_or_default();
        // `musher/0.166.0 (Debian …) …`
        let version = told.user_agent.split(['/', ' ']).nth(1).filter(|word| !word.is_empty());
        self.version = version.map(str::to_owned);
        frame.step.replies.push(peer::line(&json_rpc::notification("initialized", None)));
        match std::mem::replace(&mut self.opening.login, Login::Done) {
            Login::Done => self.open_thread(frame),
            Login::WithKey(key) => {
                let params = json!({ "type": "apiKey", "apiKey": key });
                let line = self.peer.request("account/login/start", params, Subject::Login);
                frame.step.replies.push(line);
                frame.signal(Signal::Alive);
            }
        }
    }

    fn open_thread(&mut self, frame: &mut AgentFrame<'_>) {
        let mut params = std::mem::take(&mut self.opening.thread);
        let method = match &self.opening.kind {
            OpeningKind::Start => "thread/start",
            OpeningKind::Resume(session) => {
                params["threadId"] = session.as_str().into();
                params["excludeTurns"] = true.into();
                "thread/resume"
            }
            OpeningKind::Fork(session) => {
                params["threadId"] = session.as_str().into();
                params["excludeTurns"] = true.into();
                "thread/fork"
            }
        };
        let line = self.peer.request(method, params, Subject::Thread);
        frame.step.replies.push(line);
        frame.signal(Signal::Alive);
    }

    fn thread_opened(&mut self, frame: &mut AgentFrame<'_>, told: &RpcParams<'_>) -> Option<()> {
        let opened: ThreadOpened = told.read()?;
        self.model = opened.model.or(self.model.take());
        self.calls = calls::CallBook::resuming(&self.opening.lineage, self.model.as_deref());
        frame.event(EventKind::SessionInfo(Box::new(SessionInfo {
            session: Some(SessionId::new(opened.thread.id.clone())),
            model: self.model.clone(),
            cwd: opened.thread.cwd,
            agent_version: opened.thread.cli_version.or(self.version.take()),
            permission_mode: opened.approval_policy,
            ..SessionInfo::default()
        })));
        self.thread = Some(opened.thread.id);
        for (id, input) in std::mem::take(&mut self.held) {
            let line = self.begin_turn(&id, &input);
            frame.reply(line);
        }
        Some(())
    }

    fn no_thread(&mut self, frame: &mut AgentFrame<'_>, error: &RpcError) {
        let unknown = match &self.opening.kind {
            OpeningKind::Start => false,
            // There is no code for it, only words.
            OpeningKind::Resume(_) | OpeningKind::Fork(_) => {
                ["no rollout found", "invalid session id", "thread not found"]
                    .iter()
                    .any(|words| error.message.contains(words))
            }
        };
        if !unknown {
            return self.fail(frame, ErrorInfo::new(ErrorClass::Startup, error.message.clone()));
        }
        let error = ErrorInfo::new(ErrorClass::SessionNotFound, error.message.clone())
            .with_hint("start a new session, or name one that this agent began");
        frame.event(EventKind::Error { error: error.clone() });
        self.failure = Some(AgentFailure::unknown_session(error));
    }

    /// The program is of no use any more.
    fn fail(&mut self, frame: &mut AgentFrame<'_>, error: ErrorInfo) {
        frame.event(EventKind::Error { error: error.clone() });
        self.failure = Some(AgentFailure::fatal(error));
    }

    fn server_changed(&mut self, frame: &mut AgentFrame<'_>, params: &RpcParams<'_>) -> Option<()> {
        let ServerState { name, status, error } = params.read()?;
        let status = status.unwrap_or_default();
        self.servers.retain(|server| server.name != name);
        if let Some(error) = error {
            let text = format!("the tool server {name} is {status}: {error}");
            frame.notice(Level::Warning, "tool_server", text);
        }
        self.servers.push(McpState { name, status });
        let info = SessionInfo { mcp: Some(self.servers.clone()), ..SessionInfo::default() };
        frame.event(EventKind::SessionInfo(Box::new(info)));
        Some(())
    }

    fn begin_turn(&mut self, id: &PromptId, input: &Json) -> Option<bytes::Bytes> {
        self.own_prompts.insert(id.as_str().to_owned());
        let thread = self.thread.clone()?;
        let mut params = json!({
            "threadId": thread,
            "clientUserMessageId": id,
            "input": input,
            "sandboxPolicy": self.opening.mode.sandbox_policy(self.opening.own_sandbox),
        });
        if let Some(effort) = &self.opening.effort {
            params["effort"] = effort.clone().into();
        }
        if self.opening.plan {
            params["collaborationMode"] = self.collaboration(PLAN);
        }
        Some(self.peer.request("turn/start", params, Subject::Turn))
    }

    fn collaboration(&self, mode: &str) -> Json {
        let settings = json!({
            "model": self.model, "reasoning_effort": self.opening.effort, "developer_instructions": null,
        });
        json!({ "mode": mode, "settings": settings })
    }

    /// A request that only works on the thread, and in a turn where `with` says so.
    fn on_thread(&mut self, method: &str, more: Json, about: Subject) -> Option<bytes::Bytes> {
        let mut params = more;
        params["threadId"] = self.thread.clone()?.into();
        Some(self.peer.request(method, params, about))
    }

    /// A mode that it does not have is told as refused, in its own words.
    fn set_mode(&mut self, name: String) -> Option<bytes::Bytes> {
        let planned = std::mem::replace(&mut self.opening.plan, name == PLAN);
        let mut more = match launch::mode(&name) {
            Some(mode) => {
                self.opening.mode = mode;
                let sandbox = mode.sandbox_policy(self.opening.own_sandbox);
                json!({ "approvalPolicy": mode.policy, "sandboxPolicy": sandbox })
            }
            None if name == PLAN => json!({}),
            None => json!({ "approvalPolicy": name }),
        };
        if name == PLAN || planned {
            more["collaborationMode"] =
                self.collaboration(if name == PLAN { PLAN } else { "default" });
        }
        self.on_thread("thread/settings/update", more, Subject::SetMode(name))
    }
}

impl Translate for CodexTranslator {
    fn read(&mut self, line: &OutputLine, step: Translation) -> Translation {
        read_message(self, line, step)
    }

    fn order(&mut self, order: BackendOrder) -> Translation {
        let mut step = Translation::default();
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        let line = match order {
            BackendOrder::Prompt { id, text, images } => {
                let input = prompt_input(&text, &images);
                match self.thread {
                    Some(_) => self.begin_turn(&id, &input),
                    None => {
                        self.held.push((id, input));
                        None
                    }
                }
            }
            BackendOrder::Steer { id, text } => {
                self.own_prompts.insert(id.as_str().to_owned());
                let more = json!({
                    "expectedTurnId": turn,
                    "clientUserMessageId": id,
                    "input": [{ "type": "text", "text": text }],
                });
                self.on_thread("turn/steer", more, Subject::Steer(id))
            }
            BackendOrder::Answer { ask, answer } => self.answer(&ask, answer),
            BackendOrder::Interrupt => {
                self.on_thread("turn/interrupt", json!({ "turnId": turn }), Subject::Interrupt)
            }
            BackendOrder::SetModel { model } => {
                let more = json!({ "model": model });
                self.on_thread("thread/settings/update", more, Subject::SetModel(model))
            }
            BackendOrder::SetMode { mode } => self.set_mode(mode),
            // Codex sends its own approval requests, and the conversation closes the input.
            BackendOrder::Permission { .. } | BackendOrder::Close => None,
        };
        step.replies.extend(line);
        step
    }

    fn is_ready(&self) -> bool {
        self.thread.is_some() || self.failure.is_some()
    }

    fn failure(&self) -> Option<&AgentFailure> {
        self.failure.as_ref()
    }
}

/// A prompt as the program takes it. It reads images itself: bytes that it is sent it would print again.
fn prompt_input(text: &str, images: &[PromptImage]) -> Json {
    let image = |image: &PromptImage| json!({ "type": "localImage", "path": image.path });
    let text = json!({ "type": "text", "text": text });
    images.iter().map(image).chain([text]).collect()
}

fn refused(frame: &mut AgentFrame<'_>, what: &str, error: &RpcError) {
    let text = format!("the agent refused `{what}`: {}", error.message);
    frame.notice(Level::Warning, &format!("{what}_refused"), text);
}

#[cfg(test)]
mod tests;
