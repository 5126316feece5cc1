//! The first words: what the agent can do, the session, and the settings with which it is to begin.

use musher_core::{ErrorClass, ErrorInfo, EventKind, Level, ModelChange, SessionId, SessionInfo};
use serde_json::{Value as Json, json};

use super::super::frame::{AgentHello, ConfigOption, SessionOpened};
use super::{
    AcpTranslator, AgentFailure, AgentFrame, OpenAs, RpcError, RpcParams, Setting, Signal, Stage,
    Subject, Translation, mode_info, reason,
};

/// What the agent says that it can do.
#[derive(Debug, Default)]
pub(super) struct AgentPowers {
    load: bool,
    resume: bool,
    fork: bool,
    http_servers: bool,
    pub(super) images: bool,
}

/// What can be chosen in the session, and what is chosen.
#[derive(Debug, Default)]
pub(super) struct Choices {
    modes: bool,
    mode: Option<String>,
    /// Models in a place of their own, which the protocol does not know.
    models: bool,
    model: Option<String>,
    options: Vec<ConfigOption>,
}

/// The version of the protocol that is spoken here.
const PROTOCOL: u64 = 1;

impl Choices {
    pub(super) fn take_options(&mut self, options: Vec<ConfigOption>) {
        for option in &options {
            match option.category.as_str() {
                "model" => self.model.clone_from(&option.current_value),
                "mode" => self.mode.clone_from(&option.current_value),
                _ => {}
            }
        }
        self.options = options;
    }

    /// The option by which a setting is changed, if it is one.
    fn option(&self, setting: &Setting) -> Option<&str> {
        let wanted = match setting {
            Setting::Model(_) => "model",
            Setting::Mode(_) => "mode",
            Setting::Effort(_) => "thought_level",
        };
        let found = self.options.iter().find(|option| option.category == wanted);
        found.map(|option| option.id.as_str())
    }
}

impl Setting {
    /// What is changed, in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Model(model) => format!("the model `{}`", model.escape_debug()),
            Self::Mode(mode) => format!("the mode `{}`", mode.escape_debug()),
            Self::Effort(effort) => format!("the effort `{}`", effort.escape_debug()),
        }
    }
}

impl AcpTranslator {
    /// The first thing to say. Files and terminals of a client are not offered: an agent uses its own, where rules see it.
    pub(crate) fn hello(&mut self) -> Translation {
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "clientInfo": { "name": "musher", "title": "Musher", "version": env!("CARGO_PKG_VERSION") },
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
                "elicitation": { "form": {}, "url": {} },
            },
        });
        let line = self.peer.request("initialize", hello, Subject::Initialize);
        let info = Box::new(self.opening.info.clone());
        Translation {
            replies: vec![line],
            signals: vec![Signal::event(EventKind::SessionInfo(info))],
            ..Translation::default()
        }
    }

    pub(super) fn initialized(
        &mut self,
        frame: &mut AgentFrame<'_>,
        told: &RpcParams<'_>,
    ) -> Option<()> {
        let told: AgentHello = told.read()?;
        if told.protocol_version != PROTOCOL {
            let message = format!(
                "the agent speaks version {} of the protocol, and Musher speaks version {PROTOCOL}",
                told.protocol_version
            );
            self.fail(frame, ErrorInfo::new(ErrorClass::Protocol, message));
            return Some(());
        }
        let can = &told.agent_capabilities;
        self.powers = AgentPowers {
            load: can.load_session,
            resume: can.session_capabilities.resume.is_some(),
            fork: can.session_capabilities.fork.is_some(),
            http_servers: can.mcp_capabilities.http,
            images: can.prompt_capabilities.image,
        };
        self.version = told.agent_info.version;
        self.open_session(frame);
        Some(())
    }

    fn open_session(&mut self, frame: &mut AgentFrame<'_>) {
        let servers = self.reachable_servers(frame);
        let mut params = json!({ "cwd": self.opening.cwd, "mcpServers": servers });
        let (method, earlier) = match &self.opening.open_as {
            OpenAs::New => ("session/new", None),
            OpenAs::Resume(id) if self.powers.resume => ("session/resume", Some(id)),
            OpenAs::Resume(id) if self.powers.load => ("session/load", Some(id)),
            OpenAs::Fork(id) if self.powers.fork => ("session/fork", Some(id)),
            OpenAs::Resume(_) => return self.cannot(frame, "resume"),
            OpenAs::Fork(_) => return self.cannot(frame, "fork"),
        };
        if let Some(id) = earlier {
            params["sessionId"] = id.as_str().into();
        }
        self.stage = Stage::Opening;
        let line = self.peer.request(method, params, Subject::Session);
        frame.reply(Some(line));
        frame.signal(Signal::Alive);
    }

    /// It lacks what its preset says that it has: another version, or a program that no preset describes.
    fn cannot(&mut self, frame: &mut AgentFrame<'_>, what: &str) {
        let name = &self.preset.name;
        let message = format!("this version of {name} cannot {what} a session");
        let error =
            ErrorInfo::new(ErrorClass::SessionNotFound, message).with_hint("start a new session");
        frame.event(EventKind::Error { error: error.clone() });
        self.failure = Some(AgentFailure::unknown_session(error));
    }

    fn reachable_servers(&self, frame: &mut AgentFrame<'_>) -> Vec<Json> {
        let mut servers = Vec::new();
        for (http, server) in &self.opening.servers {
            if *http && !self.powers.http_servers {
                let name = server["name"].as_str().unwrap_or_default();
                let text = format!("the agent cannot reach the tool server {name} over HTTP");
                frame.notice(Level::Warning, "tool_server", text);
                continue;
            }
            servers.push(server.clone());
        }
        servers
    }

    pub(super) fn session_opened(
        &mut self,
        frame: &mut AgentFrame<'_>,
        told: &RpcParams<'_>,
    ) -> Option<()> {
        let told: SessionOpened = told.read()?;
        let id = match &self.opening.open_as {
            OpenAs::New | OpenAs::Fork(_) => told.session_id?,
            OpenAs::Resume(id) => id.as_str().to_owned(),
        };
        self.choices.modes = told.modes.is_some();
        self.choices.mode = told.modes.map(|modes| modes.current_mode_id);
        self.choices.take_options(told.config_options);
        if let Some(models) = told.models {
            self.choices.models = true;
            self.choices.model = Some(models.current_model_id);
        }
        self.session = Some(id.clone());
        self.model = self.choices.model.clone().or(self.model.take());
        frame.event(EventKind::SessionInfo(Box::new(SessionInfo {
            session: Some(SessionId::new(id)),
            model: self.model.clone(),
            agent_version: self.version.take(),
            permission_mode: self.choices.mode.clone(),
            ..SessionInfo::default()
        })));
        self.first_settings(frame);
        Some(())
    }

    fn first_settings(&mut self, frame: &mut AgentFrame<'_>) {
        let wanted = [
            self.opening.mode.take().map(Setting::Mode),
            self.opening.model.take().map(Setting::Model),
            self.opening.effort.take().map(Setting::Effort),
        ];
        let mut sent = 0;
        for setting in wanted.into_iter().flatten() {
            let already = match &setting {
                Setting::Mode(mode) => self.choices.mode.as_ref() == Some(mode),
                Setting::Model(model) => self.choices.model.as_ref() == Some(model),
                Setting::Effort(_) => false,
            };
            if already {
                continue;
            }
            match self.setting_request(&setting) {
                Some((method, params)) => {
                    let line = self.request(method, params, Subject::FirstSetting(setting));
                    frame.reply(Some(line));
                    sent += 1;
                }
                None => {
                    let error = reason::no_setting(&self.preset, &setting);
                    return self.fail(frame, error);
                }
            }
        }
        self.stage = Stage::Setting(sent + 1);
        self.one_setting_less(frame);
    }

    /// How a setting is changed in this session; nothing if it has no such choice.
    fn setting_request(&self, setting: &Setting) -> Option<(&'static str, Json)> {
        if let Some(option) = self.choices.option(setting) {
            let value = match setting {
                Setting::Model(value) | Setting::Mode(value) | Setting::Effort(value) => value,
            };
            let params = json!({ "configId": option, "value": value });
            return Some(("session/set_config_option", params));
        }
        match setting {
            Setting::Mode(mode) if self.choices.modes => {
                Some(("session/set_mode", json!({ "modeId": mode })))
            }
            Setting::Model(model) if self.choices.models => {
                Some(("session/set_model", json!({ "modelId": model })))
            }
            Setting::Mode(_) | Setting::Model(_) | Setting::Effort(_) => None,
        }
    }

    /// Another of the first settings is answered; after the last one the prompts go out.
    pub(super) fn one_setting_less(&mut self, frame: &mut AgentFrame<'_>) {
        let Stage::Setting(left) = self.stage else { return };
        self.stage = if left > 1 { Stage::Setting(left - 1) } else { Stage::Open };
        let next = self.next_prompt();
        frame.add(next);
    }

    /// A person changes a setting of the live session.
    pub(super) fn change(&mut self, setting: Setting) -> Translation {
        let mut step = Translation::default();
        match self.setting_request(&setting).filter(|_| self.session.is_some()) {
            Some((method, params)) => {
                let line = self.request(method, params, Subject::Setting(setting));
                step.replies.push(line);
            }
            None => {
                let text = format!("the agent has no choice of {}", setting.words());
                let code = Some("setting_refused".to_owned());
                let notice = EventKind::Notice { level: Level::Warning, code, text };
                step.signals.push(Signal::event(notice));
            }
        }
        step
    }

    pub(super) fn changed(&mut self, frame: &mut AgentFrame<'_>, setting: Setting) {
        match setting {
            Setting::Model(to) => {
                let from = self.model.replace(to.clone());
                self.choices.model = Some(to.clone());
                let why = ModelChange::Person;
                frame.event(EventKind::ModelChanged { from, to, why });
            }
            Setting::Mode(mode) => {
                self.choices.mode = Some(mode.clone());
                frame.event(mode_info(mode));
            }
            Setting::Effort(_) => frame.signal(Signal::Alive),
        }
    }

    /// The options have changed: what is chosen now.
    pub(super) fn tell_choices(&mut self, frame: &mut AgentFrame<'_>) {
        if self.choices.model.is_some() {
            self.model.clone_from(&self.choices.model);
        }
        frame.event(EventKind::SessionInfo(Box::new(SessionInfo {
            model: self.model.clone(),
            permission_mode: self.choices.mode.clone(),
            ..SessionInfo::default()
        })));
    }

    pub(super) fn no_session(&mut self, frame: &mut AgentFrame<'_>, error: &RpcError) {
        let earlier = !matches!(self.opening.open_as, OpenAs::New);
        if !earlier || !reason::names_no_session(error) {
            let error = reason::startup(&self.preset, error);
            return self.fail(frame, error);
        }
        let error = ErrorInfo::new(ErrorClass::SessionNotFound, error.words())
            .with_hint("start a new session, or name one that this agent began");
        frame.event(EventKind::Error { error: error.clone() });
        self.failure = Some(AgentFailure::unknown_session(error));
    }
}
