//! What the machine and the project lack, and how the agents are.

use serde_json::{Value as Json, json};

use crate::rig::{Rig, git, until};

fn named<'a>(list: &'a Json, key: &str, name: &str) -> &'a Json {
    let found = list.as_array().unwrap().iter().find(|entry| entry[key] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[tokio::test]
async fn whatever_does_not_hold_is_told_with_what_would_mend_it() {
    let rig = Rig::new().await;
    let reply = rig.get("/api/v1/checks").await.json();
    for name in ["git", "project file", "sqlite"] {
        assert_eq!(named(&reply["checks"], "name", name)["state"], "ok", "{reply}");
    }
    assert_eq!(named(&reply["checks"], "name", "sandbox")["state"], "degraded");
    assert_eq!(named(&reply["checks"], "name", "trust")["state"], "missing");
    for name in ["control group", "inotify", "state", "disk", "systemd"] {
        named(&reply["checks"], "name", name);
    }
    let all = reply["checks"].as_array().unwrap().iter();
    for entry in all.chain(reply["runtimes"].as_array().unwrap()) {
        let fixed = entry["fix"].as_str().is_some_and(|fix| !fix.is_empty());
        assert_eq!(fixed, entry["state"] != "ok", "{entry}");
        assert!(entry["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{entry}");
    }
    let scripts: Vec<_> = reply["runtimes"].as_array().unwrap().iter().collect();
    let states: Vec<_> =
        scripts.iter().filter(|it| it["runtime"] == "script").map(|it| &it["state"]).collect();
    assert_eq!(states, ["ok", "missing"], "the dry run, and the script that the team names");
}

#[tokio::test]
async fn an_agent_is_well_when_what_plays_it_is_there() {
    let rig = Rig::new().await;
    std::fs::write(rig.repo().join("work.toml"), "[[step]]\nsay = 'x'\n").unwrap();
    let agents = rig.get("/api/v1/agents").await.json();
    let coder = named(&agents["agents"], "name", "coder");
    let script = rig.repo().join("work.toml").display().to_string();
    assert_eq!((&coder["program"], &coder["version"]), (&json!(script), &json!(null)));
    assert_eq!((&coder["health"]["state"], &coder["health"]["fix"]), (&json!("ok"), &json!(null)));
}

#[tokio::test]
async fn the_memory_of_a_run_is_that_of_its_processes() {
    let rig = Rig::new().await;
    let (run, other) = (rig.live().await, rig.live().await);
    let mark = "0123456789abcdef";
    let folder = rig.bus.folder(run);
    std::fs::create_dir_all(&folder).unwrap();
    let spec = json!({
        "version": 1, "run": run.to_string(), "story": "s1", "agent": "coder", "mark": mark,
        "runtime": "script", "prompt": "p", "cwd": "/",
    });
    std::fs::write(folder.join("spec.json"), spec.to_string()).unwrap();
    let mut process = std::process::Command::new("sh")
        .args(["-c", "read x"])
        .env("MUSHER_MARK", mark)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = async |run: musher_core::RunId| {
        let agents = rig.get("/api/v1/agents").await.json();
        let runs = named(&agents["agents"], "name", "coder")["runs"].clone();
        named(&runs, "run", &run.to_string())["memory_bytes"].as_u64()
    };
    until("the process", async || bytes(run).await.is_some()).await;
    assert!(bytes(run).await.unwrap() < 64 << 20);
    assert_eq!(bytes(other).await, None);
    process.kill().unwrap();
    process.wait().unwrap();
}

#[tokio::test]
async fn the_files_that_agents_run_or_obey_are_listed_with_whether_they_are_trusted() {
    let rig = Rig::new().await;
    let reply = rig.get("/api/v1/project/files").await.json();
    assert_eq!(reply, json!({ "trusted": true, "files": [] }));
    for path in [".claude/settings.json", "a/b/.claude/skills/s/SKILL.md", "a/CLAUDE.md"] {
        let file = rig.repo().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "{}").unwrap();
    }
    git(&rig.repo(), &["add", "."]);
    git(&rig.repo(), &["commit", "-qm", "files"]);
    let reply = rig.get("/api/v1/project/files").await.json();
    assert_eq!(reply["trusted"], false, "{reply}");
    let files: Vec<_> = reply["files"].as_array().unwrap().iter().collect();
    let told: Vec<_> = files.iter().map(|file| (&file["path"], &file["effect"])).collect();
    let wanted = [
        (&json!(".claude/settings.json"), &json!("executes")),
        (&json!("a/b/.claude/skills/s/SKILL.md"), &json!("executes")),
        (&json!("a/CLAUDE.md"), &json!("obeys")),
    ];
    assert_eq!(told, wanted, "{reply}");
    assert!(files[0]["mark"].as_str().is_some_and(|mark| mark.starts_with("sha256:")), "{reply}");
    assert!(files[2]["mark"].is_null(), "{reply}");
}
