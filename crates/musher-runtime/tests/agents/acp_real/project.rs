//! What a repository would have an agent run: not before it is trusted.

use std::fs;
use std::path::Path;

use musher_runtime::core::{ErrorClass, Outcome};
use musher_runtime::{Runtime, Snapshot};
use serde_json::json;

use super::begin;
use crate::rig::{AcpAgent, AcpRig};

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The repository of a stranger: its settings name a tool server that leaves a file, and another file of instructions.
fn plant(folder: &Path) {
    let ran = folder.join("ran").display().to_string();
    let servers = json!({ "stranger": { "command": "touch", "args": [ran] } });
    let settings = json!({ "mcpServers": servers, "context": { "fileName": "PLANTED.md" } });
    write(folder, ".gemini/settings.json", &settings.to_string());
    write(folder, "PLANTED.md", "PLANTED_WORDS\n");
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(folder).status();
    assert!(made.unwrap().success());
}

#[tokio::test]
async fn nothing_of_a_strangers_settings_counts_before_they_are_trusted() {
    for trusted in [false, true] {
        let rig = AcpRig::new(AcpAgent::GeminiCli).await;
        let folder = rig.place.work.path();
        plant(folder);
        let runtime = rig.agent.runtime();
        let seen = Snapshot::of_folder(folder, runtime.project_files()).unwrap();
        let mut spec = rig.spec("[[scn:text]] go");
        match trusted {
            true => spec.project.trusted = vec![seen],
            false => spec.project.base = seen,
        }
        let ended = begin(&rig, spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        let requests = rig.server.requests();
        let said = |body: &[u8]| String::from_utf8_lossy(body).contains("PLANTED_WORDS");
        let told = requests.iter().any(|request| said(&request.body));
        assert_eq!(told, trusted, "its settings were loaded: {told}; {}", ended.text());
        assert!(trusted || !folder.join("ran").exists(), "its tool server was started");
    }
}

#[tokio::test]
async fn an_agent_that_cannot_leave_files_out_is_not_started_beside_them() {
    let rig = AcpRig::new(AcpAgent::OpenCode).await;
    let folder = rig.place.work.path();
    write(folder, "opencode.json", "{}");
    let runtime = rig.agent.runtime();
    let mut spec = rig.spec("[[scn:text]] go");
    spec.project.base = Snapshot::of_folder(folder, runtime.project_files()).unwrap();
    spec.project.how_to_agree = Some("agree with `musher trust`".into());
    let ended = begin(&rig, spec).end().await;
    let error = ended.end.error.clone().unwrap();
    assert_eq!((ended.end.outcome, error.class), (Outcome::Failed, ErrorClass::Config));
    assert!(error.message.contains("opencode.json"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("agree with `musher trust`"));
    assert_eq!(rig.server.ledger().calls.len(), 0);
}
