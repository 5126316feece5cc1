//! A place to run agents in: a fresh home, a fresh folder, and a scripted model on loopback.

mod acp;
mod attached;

use std::path::{Path, PathBuf};

use musher_runtime::anthropic::Anthropic;
use musher_runtime::gemini::Gemini;
use musher_runtime::openai::OpenAi;
use musher_runtime::{Environment, Runtime, SessionSpec};
use musher_testkit::model::ModelServer;
use musher_testkit::programs;
use musher_testkit::real::{self, RealProgram};
use tempfile::TempDir;

use crate::story::{Ended, Story};

pub(crate) use acp::{AcpAgent, AcpRig};
pub(crate) use attached::{Attached, PNG, RawCopy, one_image, shown};

/// A folder to work in and the variables that every program needs.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) work: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { home: TempDir::new().unwrap(), work: TempDir::new().unwrap() }
    }

    pub(crate) fn environment(&self) -> Environment {
        let vars = [
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), self.home.path().into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "dumb".into()),
        ];
        Environment::from_vars(vars)
    }

    pub(crate) fn spec(&self, prompt: &str) -> SessionSpec {
        SessionSpec::new(prompt, self.work.path(), self.environment())
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.work.path().join(name)).ok()
    }
}

/// The real Claude Code against a scripted model.
pub(crate) struct ClaudeRig {
    pub(crate) place: Place,
    pub(crate) server: ModelServer,
}

impl ClaudeRig {
    pub(crate) async fn new() -> Self {
        Self::on(ModelServer::start().await.unwrap())
    }

    pub(crate) fn on(server: ModelServer) -> Self {
        Self { place: Place::new(), server }
    }

    pub(crate) fn environment(&self) -> Environment {
        self.place
            .environment()
            .set("CLAUDE_CONFIG_DIR", self.place.home.path().join(".claude"))
            .set("ANTHROPIC_BASE_URL", self.server.url())
            .set("ANTHROPIC_API_KEY", "dummy-key-for-tests")
            .set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .set("CLAUDE_CODE_MAX_RETRIES", "2")
            .set("IS_SANDBOX", "1")
    }

    pub(crate) fn spec(&self, prompt: &str) -> SessionSpec {
        let mut spec = SessionSpec::new(prompt, self.place.work.path(), self.environment());
        spec.program = Some(real::require_claude());
        spec
    }
}

/// The real Codex against a scripted model.
pub(crate) struct CodexRig {
    pub(crate) place: Place,
    pub(crate) server: ModelServer,
}

impl CodexRig {
    pub(crate) async fn new() -> Self {
        Self::on(ModelServer::start().await.unwrap())
    }

    pub(crate) fn on(server: ModelServer) -> Self {
        Self { place: Place::new(), server }
    }

    /// Where sessions are kept.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.place.home.path().join("sessions")
    }

    pub(crate) fn spec(&self, prompt: &str) -> SessionSpec {
        let environment = self.place.environment().set("SCRIPTED_KEY", "dummy-key-for-tests");
        let mut spec = SessionSpec::new(prompt, self.place.work.path(), environment);
        spec.program = Some(RealProgram::Codex.require());
        spec.session_dir = Some(self.sessions());
        let url = self.server.openai_url();
        let provider = format!(
            "model_providers.scripted={{name=\"Scripted\",base_url=\"{url}\",env_key=\"SCRIPTED_KEY\",wire_api=\"responses\",request_max_retries=1,stream_max_retries=1}}"
        );
        // A model that the program knows: of others it does not know which tools they take.
        let settings = [
            "model=\"gpt-5.5\"",
            "model_provider=\"scripted\"",
            &provider,
            "features.plugins=false",
        ];
        spec.args = settings.iter().flat_map(|set| ["-c".to_owned(), (*set).to_owned()]).collect();
        spec
    }
}

/// A recording of Claude Code, played by a program.
pub(crate) fn recorded(place: &Place, name: &str, prompt: &str) -> SessionSpec {
    let file = |name: String| -> Option<PathBuf> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/claude").join(name);
        path.exists().then_some(path)
    };
    let recording = file(format!("{name}.jsonl")).unwrap();
    let meta = std::fs::read(file(format!("{name}.meta.json")).unwrap()).unwrap();
    let meta: serde_json::Value = serde_json::from_slice(&meta).unwrap();
    let mut environment = place
        .environment()
        .set("REPLAY_RECORDING", recording)
        .set("REPLAY_EXIT", meta["exit_code"].as_u64().unwrap_or(0).to_string());
    for (variable, suffix) in [("REPLAY_STDIN", "stdin.jsonl"), ("REPLAY_STDERR", "stderr")] {
        if let Some(path) = file(format!("{name}.{suffix}")) {
            environment = environment.set(variable, path);
        }
    }
    let mut spec = SessionSpec::new(prompt, place.work.path(), environment);
    spec.program = Some(programs::replay_agent().unwrap());
    spec
}

/// A shell script that can be run as a program.
pub(crate) fn write_program(path: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The wire formats that our own loop speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Responses,
    Chat,
    Messages,
    Generate,
}

impl Wire {
    pub(crate) const ALL: [Self; 4] = [Self::Responses, Self::Chat, Self::Messages, Self::Generate];

    pub(crate) fn runtime(self) -> Box<dyn Runtime> {
        match self {
            Self::Responses | Self::Chat => Box::new(OpenAi::default()),
            Self::Messages => Box::new(Anthropic::default()),
            Self::Generate => Box::new(Gemini::default()),
        }
    }
}

/// Our own loop against a scripted model, in one wire format.
pub(crate) struct ModelRig {
    pub(crate) place: Place,
    pub(crate) server: ModelServer,
    pub(crate) wire: Wire,
}

impl ModelRig {
    pub(crate) async fn new(wire: Wire) -> Self {
        Self { place: Place::new(), server: ModelServer::start().await.unwrap(), wire }
    }

    pub(crate) fn environment(&self) -> Environment {
        let environment = self.place.environment();
        match self.wire {
            Wire::Responses | Wire::Chat => environment
                .set("OPENAI_BASE_URL", self.server.openai_url())
                .set("OPENAI_API_KEY", "dummy-key-for-tests"),
            Wire::Messages => environment
                .set("ANTHROPIC_BASE_URL", self.server.url())
                .set("ANTHROPIC_API_KEY", "dummy-key-for-tests"),
            Wire::Generate => environment
                .set("GOOGLE_GEMINI_BASE_URL", self.server.url())
                .set("GEMINI_API_KEY", "dummy-key-for-tests"),
        }
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.place.home.path().join("sessions")
    }

    pub(crate) fn spec(&self, prompt: &str) -> SessionSpec {
        let mut spec = SessionSpec::new(prompt, self.place.work.path(), self.environment());
        spec.session_dir = Some(self.sessions());
        spec.model_options.retries = Some(2);
        if self.wire == Wire::Chat {
            spec.model_options.wire = Some("chat".into());
        }
        spec
    }

    /// A session whose agent asks nobody.
    pub(crate) fn free(&self, prompt: &str) -> SessionSpec {
        SessionSpec { permission_mode: Some("free".into()), ..self.spec(prompt) }
    }

    pub(crate) fn begin(&self, spec: SessionSpec) -> Story {
        Story::begin(self.wire.runtime().as_ref(), spec)
    }

    /// Runs a prompt to its end.
    pub(crate) async fn run(&self, prompt: &str) -> Ended {
        self.begin(self.free(prompt)).end().await
    }
}
