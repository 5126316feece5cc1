//! A place to run agents in: a fresh home, a fresh folder, and a scripted model on loopback.

use std::path::{Path, PathBuf};

use musher_runtime::{Environment, SessionSpec};
use musher_testkit::model::ModelServer;
use musher_testkit::{programs, real};
use tempfile::TempDir;

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
        Self { place: Place::new(), server: ModelServer::start().await.unwrap() }
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
