//! What is drafted is valid and careful.

use std::fs;
use std::time::Duration;

use musher_core::{ToolKind, ToolUse, Verdict};
use musher_runtime::AskPolicy;

use super::*;
use crate::config::{ConfigErrors, PROJECT_FILE, ProjectConfig, keys, load};
use crate::runtimes::KnownRuntime;

fn loaded(text: &str) -> Result<ProjectConfig, ConfigErrors> {
    let repo = tempfile::tempdir().unwrap();
    let folder = repo.path().join(".musher");
    fs::create_dir(&folder).unwrap();
    fs::write(repo.path().join(PROJECT_FILE), text).unwrap();
    fs::write(folder.join("prompt.md"), "Do {{ story.title }}.").unwrap();
    fs::write(folder.join("system.md"), "You are {{ agent.name }}.").unwrap();
    let known = |name, wires| KnownRuntime { name, wires, effort: true };
    let names = ["script", "Two.X", "NAME"].map(|name| known(name, &[]));
    load(repo.path(), &[&names[..], &[known("one", &["chat"])]].concat())
}

fn found(runtime: &str) -> Detected {
    Detected {
        runtime: runtime.into(),
        means: Means::Program { path: "/bin/x".into(), version: Some("1.2\n[[agent]]".into()) },
    }
}

/// A file without an agent, with one, with several.
fn drafts() -> [String; 3] {
    [
        draft(&[], None, SandboxProfile::Off),
        draft(&[found("one")], Some("main"), SandboxProfile::Workspace),
        draft(
            &[found("one"), found("Two.X"), found("Two.X")],
            Some("it's/\"odd\""),
            SandboxProfile::Strict,
        ),
    ]
}

#[test]
fn a_draft_is_loaded_without_a_complaint() {
    for (text, agents) in
        drafts().iter().zip([&["rehearsal"][..], &["coder"], &["coder", "coder-two-x"]])
    {
        // Names and versions come from outside, so the file is read back and not trusted to look right.
        let project = loaded(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let names: Vec<&str> = project.agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, agents);
    }
    assert_eq!(loaded(&drafts()[1]).unwrap().base_branch.as_deref(), Some("main"));
}

#[test]
fn a_drafted_agent_may_work_in_its_folder_and_asks_for_the_rest() {
    let use_of = |tool: &'static str, kind, subject| ToolUse {
        tool,
        kind,
        subject: Some(subject),
        resolved: None,
        texts: &[],
        cwd: "/state/worktrees/1",
        unseen: false,
    };
    for text in drafts() {
        for agent in loaded(&text).unwrap().agents {
            let verdict = |tool, kind, subject| agent.rules.verdict(&use_of(tool, kind, subject));
            for path in [".", "src/main.rs", "/state/worktrees/1/a/b", ".github/x", ".gitignore"] {
                for (tool, kind) in [
                    ("Read", ToolKind::Read),
                    ("Grep", ToolKind::Search),
                    ("Write", ToolKind::Edit),
                ] {
                    let said = verdict(tool, kind, path);
                    assert!(matches!(said, Verdict::Allow(_)), "{tool} {path}: {said:?}");
                }
            }
            for path in [".musher/project.toml", ".musher", ".git", ".git/config", "a/../.git/x"] {
                let said = verdict("Write", ToolKind::Edit, path);
                assert!(matches!(said, Verdict::Deny(_)), "{path}: {said:?}");
            }
            for path in ["/etc/passwd", "../2/x", "/state/trusted.json"] {
                let said = verdict("Write", ToolKind::Edit, path);
                assert_eq!(said, Verdict::Unsettled, "{path}");
            }
            for (tool, kind, subject) in [
                ("Bash", ToolKind::Execute, "ls"),
                ("Fetch", ToolKind::Fetch, "https://example.org"),
                ("mcp__db__query", ToolKind::Mcp, "x"),
            ] {
                let said = verdict(tool, kind, subject);
                assert!(matches!(said, Verdict::Ask(_)), "{tool}: {said:?}");
            }
        }
    }
}

#[test]
fn a_draft_lets_asks_wait_so_that_a_lunch_denies_nothing() {
    for text in drafts() {
        for agent in loaded(&text).unwrap().agents {
            assert!(matches!(agent.asks, AskPolicy::Wait { deadline: None, .. }), "{text}");
            assert_eq!(
                agent.ask_reminder,
                Some(Duration::from_secs(600)),
                "a reminder comes instead"
            );
        }
    }
}

#[test]
fn a_draft_shows_every_key_once() {
    for text in
        [draft(&[], None, SandboxProfile::Off), draft(&[found("one")], None, SandboxProfile::Off)]
    {
        let tables = [keys::AGENT, keys::WORKTREE, keys::LIMITS, keys::SERVER];
        let mut wanted: Vec<&str> = tables.iter().flat_map(|table| table.keys).copied().collect();
        wanted.extend(["base_branch", "auto_commit"]);
        for key in wanted {
            let count = text
                .lines()
                .map(|line| line.trim_start_matches("# "))
                .filter(|line| line.starts_with(&format!("{key} = ")))
                .count();
            // The example of another agent repeats what every agent needs.
            let least = if matches!(key, "name" | "runtime") { count.min(2) } else { 1 };
            assert_eq!(count, least, "{key}");
            assert!(count > 0, "{key}");
        }
    }
}

#[test]
fn every_option_that_a_draft_shows_is_valid_as_it_is_written() {
    let text = draft(&[found("one")], None, SandboxProfile::Off);
    let mut tried = 0;
    for line in text.lines() {
        let Some(option) = line.strip_prefix("# ") else { continue };
        let key = option.split(' ').next().unwrap_or_default();
        if !option.starts_with(&format!("{key} = ")) {
            continue;
        }
        let mut changed = text.replace(line, option);
        if key == "system_prompt_mode" {
            changed = changed.replace("# system_prompt = ", "system_prompt = ");
        }
        loaded(&changed).unwrap_or_else(|errors| panic!("{errors}"));
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn programs_are_found_on_the_path_without_being_run() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, mode| {
        let path = folder.path().join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let one = make("one", 0o755);
    make("two", 0o644);
    fs::create_dir(folder.path().join("three")).unwrap();
    let table = [("c", "three"), ("b", "two"), ("a", "one"), ("d", "four")];
    let mut path = std::ffi::OsString::from(":.:bin:/nowhere:");
    path.push(folder.path());
    let means = Means::Program { path: one, version: None };
    let expected = Detected { runtime: "a".into(), means };
    assert_eq!(detect(&path, &table), [expected]);
    assert_eq!(detect(OsStr::new(""), &table), []);
}
