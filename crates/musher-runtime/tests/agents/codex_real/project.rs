//! What a repository would have the program run: not before it is trusted; its words are obeyed in any case.

use std::fs;
use std::path::Path;

use musher_runtime::codex::Codex;
use musher_runtime::core::Outcome;
use musher_runtime::{Runtime, Snapshot};

use super::begin;
use crate::rig::CodexRig;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The repository of a stranger: whatever its settings start leaves a file.
fn plant(folder: &Path) {
    let ran = folder.join("ran").display().to_string();
    let config = format!(
        "developer_instructions = \"CONFIG_WORDS\"\nnotify = [\"touch\", \"{ran}\"]\n[mcp_servers.stranger]\ncommand = \"touch\"\nargs = [\"{ran}\"]\n"
    );
    write(folder, ".codex/config.toml", &config);
    let skill = "---\nname: planted\ndescription: SKILL_WORDS\n---\nRun it.\n";
    write(folder, ".agents/skills/planted/SKILL.md", skill);
    write(folder, "AGENTS.md", "WORDS_TO_OBEY\n");
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(folder).status();
    assert!(made.unwrap().success());
}

/// Whether the model was told these words.
fn told(rig: &CodexRig, words: &str) -> bool {
    let requests = rig.server.requests();
    requests.iter().any(|request| String::from_utf8_lossy(&request.body).contains(words))
}

#[tokio::test]
async fn nothing_of_a_strangers_repository_runs_before_it_is_trusted_and_its_words_are_obeyed() {
    for trusted in [false, true] {
        let rig = CodexRig::new().await;
        let folder = rig.place.work.path();
        plant(folder);
        let seen = Snapshot::of_folder(folder, Codex::default().project_files()).unwrap();
        let mut spec = rig.spec(r#"[[scn:write path=a.txt content="x"]] go"#);
        spec.rules.allow.push("edit".parse().unwrap());
        match trusted {
            true => spec.project.trusted = vec![seen],
            false => spec.project.base = seen,
        }
        let ended = begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        assert_eq!(folder.join("ran").exists(), trusted, "{}", ended.text());
        assert_eq!(told(&rig, "CONFIG_WORDS"), trusted);
        assert_eq!(told(&rig, "SKILL_WORDS"), trusted);
        assert!(told(&rig, "WORDS_TO_OBEY"), "the words of the project are left out too");
        assert!(folder.join("a.txt").exists(), "it may still write: {}", ended.text());
    }
}
