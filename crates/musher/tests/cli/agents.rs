//! `musher agents`: what is here, what was tested, who is logged in, and what to do next.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value as Json;

use crate::musher::Place;

/// Puts a program of this name where it is found, as npm would: beside a file that tells its version.
fn install(place: &Place, name: &str, version: &str) -> std::path::PathBuf {
    let package = place.home.path().join("node_modules").join(name);
    std::fs::create_dir_all(package.join("bin")).unwrap();
    std::fs::write(package.join("package.json"), format!("{{\"version\":\"{version}\"}}")).unwrap();
    let program = package.join("bin").join(name);
    std::fs::write(&program, "#!/bin/sh\nexit 9\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    package.join("bin")
}

struct Told {
    code: Option<i32>,
    out: String,
}

fn run(place: &Place, args: &[&str], vars: &[(&str, &str)]) -> Told {
    let ran = place.musher(args).envs(vars.iter().copied()).output().unwrap();
    Told { code: ran.status.code(), out: String::from_utf8(ran.stdout).unwrap() }
}

fn of(document: &Json, runtime: &str) -> Json {
    let agents = document["agents"].as_array().unwrap();
    agents.iter().find(|agent| agent["runtime"] == runtime).unwrap().clone()
}

#[test]
fn each_agent_is_shown_with_its_version_its_login_and_the_one_command_that_is_missing() {
    let place = Place::new();
    let (gemini, qwen) = (install(&place, "gemini", "0.61.0"), install(&place, "qwen", "0.1.0"));
    let path = format!("{}:{}", gemini.display(), qwen.display());
    let vars = [("PATH", path.as_str()), ("GEMINI_API_KEY", "not-a-real-key")];
    let ran = run(&place, &["agents", "--json"], &vars);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let document: Json = serde_json::from_str(&ran.out).unwrap();
    let gemini = of(&document, "gemini-cli");
    assert_eq!((&gemini["state"], &gemini["version"]), (&"ready".into(), &"0.61.0".into()));
    assert_eq!((&gemini["logged_in"], &gemini["fix"]), (&true.into(), &Json::Null));
    let qwen = of(&document, "qwen");
    assert_eq!(qwen["state"], "logged_out", "{qwen}");
    assert_eq!(qwen["fix"], "qwen");
    let codex = of(&document, "codex");
    assert_eq!(codex["state"], "not_installed");
    assert_eq!(codex["fix"], "npm install -g @openai/codex@0.166.0");
    let goose = of(&document, "goose");
    assert_eq!(goose["tested_version"], Json::Null, "it was never run by those who made Musher");
    let people = run(&place, &["agents"], &vars);
    assert!(people.out.contains("● ready") && people.out.contains("gemini-cli"), "{}", people.out);
    assert!(
        !people.out.contains("goose") && people.out.contains("musher agents --all"),
        "{}",
        people.out
    );
    assert!(!people.out.contains("not-a-real-key"), "a key is never shown");
    let all = run(&place, &["agents", "--all"], &vars);
    assert!(all.out.contains("goose") && all.out.contains("○ not installed"), "{}", all.out);
}

#[test]
fn a_machine_without_agents_is_told_what_can_be_installed() {
    let place = Place::new();
    let ran = run(&place, &["agents"], &[("PATH", "/nowhere")]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(ran.out.contains("npm install -g @anthropic-ai/claude-code@"), "{}", ran.out);
}
