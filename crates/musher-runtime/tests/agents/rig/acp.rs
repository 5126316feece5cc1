//! The real agents that speak ACP, each against a scripted model.

use std::fs;

use musher_runtime::acp::{Acp, presets};
use musher_runtime::{Environment, SessionSpec};
use musher_testkit::model::ModelServer;
use musher_testkit::real::RealProgram;
use serde_json::json;

use super::Place;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcpAgent {
    GeminiCli,
    OpenCode,
    CodexAcp,
    Copilot,
    Qwen,
    ClaudeAcp,
}

impl AcpAgent {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GeminiCli => "gemini-cli",
            Self::OpenCode => "opencode",
            Self::CodexAcp => "codex-acp",
            Self::Copilot => "copilot",
            Self::Qwen => "qwen",
            Self::ClaudeAcp => "claude-acp",
        }
    }

    fn program(self) -> RealProgram {
        match self {
            Self::GeminiCli => RealProgram::GeminiCli,
            Self::OpenCode => RealProgram::OpenCode,
            Self::CodexAcp => RealProgram::CodexAcp,
            Self::Copilot => RealProgram::Copilot,
            Self::Qwen => RealProgram::Qwen,
            Self::ClaudeAcp => RealProgram::ClaudeAcp,
        }
    }

    pub(crate) fn runtime(self) -> Acp {
        let preset = presets().iter().find(|preset| preset.name == self.name());
        Acp::of(preset.unwrap().clone())
    }
}

/// An agent, a fresh home with what it needs in it, and its model.
pub(crate) struct AcpRig {
    pub(crate) agent: AcpAgent,
    pub(crate) place: Place,
    pub(crate) server: ModelServer,
}

impl AcpRig {
    pub(crate) async fn new(agent: AcpAgent) -> Self {
        Self::on(agent, ModelServer::start().await.unwrap())
    }

    pub(crate) fn on(agent: AcpAgent, server: ModelServer) -> Self {
        let rig = Self { agent, place: Place::new(), server };
        rig.settle();
        rig
    }

    /// Writes the settings without which the agent would not find its model.
    fn settle(&self) {
        let home = self.place.home.path();
        if self.agent == AcpAgent::CodexAcp {
            fs::create_dir(home.join(".codex")).unwrap();
            let provider = format!(
                "[model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n",
                self.server.openai_url()
            );
            let settings = format!(
                "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n{provider}[analytics]\nenabled = false\n[features]\nplugins = false\nunbounded_connection_retries = false\n"
            );
            fs::write(home.join(".codex/config.toml"), settings).unwrap();
        }
        if self.agent == AcpAgent::OpenCode {
            let options =
                json!({ "baseURL": self.server.openai_url(), "apiKey": "dummy-key-for-tests" });
            let kinds = json!({ "input": ["text", "image"], "output": ["text"] });
            let models = json!({
                "scripted-model": { "name": "Scripted", "attachment": true, "modalities": kinds },
            });
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": options, "models": models,
            });
            let settings = json!({
                "provider": { "scripted": provider },
                "model": "scripted/scripted-model",
                "small_model": "scripted/scripted-model",
                "share": "disabled",
            });
            fs::write(home.join("opencode.json"), settings.to_string()).unwrap();
        }
    }

    fn environment(&self) -> Environment {
        let plain = self.place.environment();
        let key = "dummy-key-for-tests";
        match self.agent {
            AcpAgent::GeminiCli => {
                plain.set("GEMINI_API_KEY", key).set("GOOGLE_GEMINI_BASE_URL", self.server.url())
            }
            AcpAgent::OpenCode => plain
                .set("OPENCODE_CONFIG", self.place.home.path().join("opencode.json"))
                .set("OPENCODE_DISABLE_MODELS_FETCH", "1")
                .set("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
            AcpAgent::CodexAcp => plain.set("SCRIPTED_KEY", key),
            AcpAgent::Copilot => plain
                .set("COPILOT_PROVIDER_BASE_URL", self.server.openai_url())
                .set("COPILOT_PROVIDER_API_KEY", key)
                .set("COPILOT_MODEL", "gpt-4.1")
                .set("COPILOT_OFFLINE", "true"),
            AcpAgent::Qwen => newer_node(plain)
                .set("OPENAI_API_KEY", key)
                .set("OPENAI_BASE_URL", self.server.openai_url())
                .set("OPENAI_MODEL", "scripted-model"),
            AcpAgent::ClaudeAcp => newer_node(plain)
                .set("CLAUDE_CONFIG_DIR", self.place.home.path().join(".claude"))
                .set("ANTHROPIC_BASE_URL", self.server.url())
                .set("ANTHROPIC_API_KEY", key)
                .set("CLAUDE_CODE_MAX_RETRIES", "2")
                .set("IS_SANDBOX", "1"),
        }
    }

    pub(crate) fn spec(&self, prompt: &str) -> SessionSpec {
        let mut spec = SessionSpec::new(prompt, self.place.work.path(), self.environment());
        spec.program = Some(self.agent.program().require());
        match self.agent {
            // Its own choice asks the model which model to ask.
            AcpAgent::GeminiCli => spec.model = Some("gemini-2.5-pro".into()),
            AcpAgent::Qwen => {
                spec.args = vec!["--auth-type=openai".into()];
                // Its own choice asks the model whether to ask.
                spec.permission_mode = Some("default".into());
            }
            AcpAgent::CodexAcp | AcpAgent::OpenCode | AcpAgent::Copilot | AcpAgent::ClaudeAcp => {}
        }
        spec
    }

    /// The same, and the agent may do what it wants.
    pub(crate) fn unasked(&self, prompt: &str) -> SessionSpec {
        let mut spec = self.spec(prompt);
        match self.agent {
            AcpAgent::GeminiCli | AcpAgent::Qwen => spec.permission_mode = Some("yolo".into()),
            AcpAgent::CodexAcp => spec.permission_mode = Some("full-access".into()),
            AcpAgent::ClaudeAcp => spec.permission_mode = Some("bypassPermissions".into()),
            AcpAgent::Copilot => spec.args.push("--allow-all-tools".into()),
            AcpAgent::OpenCode => {
                spec.environment = spec.environment.set("OPENCODE_PERMISSION", r#"{"*":"allow"}"#);
            }
        }
        spec
    }
}

/// Some need a newer Node than the machine may have.
fn newer_node(environment: Environment) -> Environment {
    let node = RealProgram::Node.require();
    let path = environment.get("PATH").unwrap_or_default().to_string_lossy().into_owned();
    let folder = node.parent().unwrap().display().to_string();
    environment.set("PATH", format!("{folder}:{path}"))
}
