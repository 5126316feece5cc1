//! What needs a person's consent and what does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::config::{PROJECT_FILE, load};
use crate::runtimes::KnownRuntime;

const BASE: &str = r#"
[[agent]]
name = "coder"
runtime = "script"
prompt = "Do {{ story.title }}."
command = "./work.toml"
args = ["--one", "--two"]
env = { MODE = "fast", KEY = { from = "SERVER_KEY" } }
rules = { allow = ["edit(./**)", "read"], ask = ["execute"], deny = ["edit(.git/**)"] }
permission_mode = "careful"
ask_deadline = "30m"

[worktree]
setup = ["make deps", "make"]
copy = [".env"]
keep = ["target"]

[server]
origins = ["http://127.0.0.1:8080"]
"#;

fn project(text: &str) -> ProjectConfig {
    let repo = tempfile::tempdir().unwrap();
    fs::create_dir(repo.path().join(".musher")).unwrap();
    fs::write(repo.path().join(PROJECT_FILE), text).unwrap();
    let known = |name, wires| KnownRuntime { name, wires, effort: true };
    load(repo.path(), &[known("script", &[]), known("other", &[]), known("model", &["plain"])])
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// What a person is shown after a change of the accepted file.
fn shown(from: &str, to: &str) -> Vec<String> {
    assert!(BASE.contains(from), "{from}");
    let state = tempfile::tempdir().unwrap();
    grant(state.path(), &project(BASE)).unwrap();
    match trusted(state.path(), &project(&BASE.replace(from, to))).unwrap() {
        TrustState::Trusted => Vec::new(),
        TrustState::Changed { diff } => diff,
        TrustState::New => panic!("something was accepted"),
    }
}

#[test]
fn a_project_is_new_until_it_is_granted_and_then_trusted() {
    let state = tempfile::tempdir().unwrap();
    let project = project(BASE);
    assert_eq!(trusted(state.path(), &project).unwrap(), TrustState::New);
    assert_eq!(
        Powers::of(&project).lines(),
        [
            "agent coder: runtime script",
            "agent coder: command \"./work.toml\"",
            "agent coder: argument 1 \"--one\"",
            "agent coder: argument 2 \"--two\"",
            "agent coder: env KEY from SERVER_KEY",
            "agent coder: env MODE = \"fast\"",
            "agent coder: allow edit(./**)",
            "agent coder: allow read",
            "agent coder: ask execute",
            "agent coder: deny edit(.git/**)",
            "agent coder: permission mode \"careful\"",
            "worktree: setup 1 \"make deps\"",
            "worktree: setup 2 \"make\"",
            "worktree: copy \".env\"",
            "worktree: keep \"target\"",
            "server: origin http://127.0.0.1:8080",
        ]
    );
    grant(state.path(), &project).unwrap();
    assert_eq!(trusted(state.path(), &project).unwrap(), TrustState::Trusted);
}

#[test]
fn every_change_that_can_run_a_command_or_widen_powers_needs_consent() {
    for (from, to, lines) in [
        (
            "\"read\"",
            "\"execute(*)\"",
            &["- agent coder: allow read", "+ agent coder: allow execute(*)"][..],
        ),
        ("ask = [\"execute\"]", "ask = []", &["- agent coder: ask execute"]),
        ("\"edit(.git/**)\"", "", &["- agent coder: deny edit(.git/**)"]),
        (
            "runtime = \"script\"",
            "runtime = \"other\"",
            &["- agent coder: runtime script", "+ agent coder: runtime other"],
        ),
        (
            "\"./work.toml\"",
            "\"sh\"",
            &["- agent coder: command \"./work.toml\"", "+ agent coder: command \"sh\""],
        ),
        (", \"--two\"", "", &["- agent coder: argument 2 \"--two\""]),
        (
            "\"fast\"",
            "\"slow\"",
            &["- agent coder: env MODE = \"fast\"", "+ agent coder: env MODE = \"slow\""],
        ),
        (
            "SERVER_KEY",
            "OTHER_KEY",
            &["- agent coder: env KEY from SERVER_KEY", "+ agent coder: env KEY from OTHER_KEY"],
        ),
        (
            "\"careful\"",
            "\"bold\"",
            &[
                "- agent coder: permission mode \"careful\"",
                "+ agent coder: permission mode \"bold\"",
            ],
        ),
        (
            "ask_deadline = \"30m\"",
            "ask_deadline = \"1s\"\nask_default = \"allow\"",
            &["+ agent coder: unanswered asks allowed after 1 s"],
        ),
        (
            "\"make deps\", \"make\"",
            "\"make\"",
            &[
                "- worktree: setup 1 \"make deps\"",
                "- worktree: setup 2 \"make\"",
                "+ worktree: setup 1 \"make\"",
            ],
        ),
        ("\".env\"", "\".env\", \"key\"", &["+ worktree: copy \"key\""]),
        ("\"target\"", "\"target\", \"x\"", &["+ worktree: keep \"x\""]),
        (
            ":8080\"",
            ":8080\", \"http://127.0.0.1:3000\"",
            &["+ server: origin http://127.0.0.1:3000"],
        ),
        (
            "[worktree]",
            "[[agent]]\nname = \"m\"\nruntime = \"model\"\nbase_url = \"http://localhost:1/v1\"\nkey = { env = \"K\" }\nheaders = { A = \"b\", C = { from = \"D\" } }\n[worktree]",
            &[
                "+ agent m: runtime model",
                "+ agent m: model at \"http://localhost:1/v1\"",
                "+ agent m: key from K",
                "+ agent m: header \"A\" = \"b\"",
                "+ agent m: header \"C\" from D",
            ],
        ),
        (
            "[worktree]",
            "[[agent]]\nname = \"m\"\nruntime = \"model\"\nkey = { command = \"pass k\" }\n[worktree]",
            &["+ agent m: runtime model", "+ agent m: key from the command \"pass k\""],
        ),
        (
            "[worktree]",
            "[[agent]]\nname = \"b\"\nruntime = \"script\"\n[worktree]",
            &["+ agent b: runtime script"],
        ),
        (
            "name = \"coder\"\nruntime",
            "name = \"coder\"\nrole = \"x\"\nmodel = \"y\"\nruntime",
            &[],
        ),
    ] {
        assert_eq!(shown(from, to), lines, "{from} to {to}");
    }
}

#[test]
fn a_new_prompt_a_limit_and_another_order_of_rules_need_no_consent() {
    for (from, to) in [
        ("Do {{ story.title }}.", "Do something else."),
        ("name = \"coder\"", "name = \"coder\"\nmax_turns = 3\nsystem_prompt = \"Be brief.\""),
        ("\"30m\"", "\"10m\""),
        ("\"edit(./**)\", \"read\"", "\"read\", \"edit(./**)\", \"read\""),
        ("[worktree]", "# A comment.\n[limits]\nruns = 3\n[worktree]"),
    ] {
        assert_eq!(shown(from, to), [""; 0], "{from} to {to}");
    }
}

#[test]
fn the_hash_is_that_of_the_powers_alone() {
    let hash = |text: &str| Powers::of(&project(text)).hash();
    assert_eq!(hash(BASE).len(), 64);
    assert_eq!(hash(BASE), hash(&BASE.replace("Do {{", "Do it: {{")));
    assert_ne!(hash(BASE), hash(&BASE.replace("--one", "--uno")));
}

#[test]
fn characters_that_mislead_the_eye_are_shown_as_they_are() {
    let lines = shown("\"read\"", "\"execute(\\u202egnp.x)\"");
    assert_eq!(lines[1], "+ agent coder: allow \"execute(\\u{202e}gnp.x)\"");
    let lines = shown("\"--two\"", "\"a\\n+ agent coder: nothing\"");
    assert_eq!(lines[1], "+ agent coder: argument 2 \"a\\n+ agent coder: nothing\"");
}

#[test]
fn what_was_trusted_is_readable_by_its_owner_only_and_garbage_is_not_trust() {
    let state = tempfile::tempdir().unwrap();
    let project = project(BASE);
    grant(state.path(), &project).unwrap();
    let path = state.path().join(FILE);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1, "nothing else is left");
    for garbage in ["", "{}", "null", "{\"agents\":{},\"more\":1}", "[[[["] {
        fs::write(&path, garbage).unwrap();
        let error = trusted(state.path(), &project).unwrap_err();
        assert!(error.to_string().contains("musher trust"), "{error}");
    }
    grant(state.path(), &project).unwrap();
    assert_eq!(trusted(state.path(), &project).unwrap(), TrustState::Trusted);
}

#[test]
fn a_state_directory_that_is_not_there_is_named() {
    let error = grant(Path::new("/nowhere/at/all"), &project(BASE)).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all/trusted.json"), "{error}");
}
