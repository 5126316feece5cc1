//! What a repository would have the program run: not before it is trusted, and a change of it is noticed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::core::{Answer, Ask, AskId, ErrorClass, EventKind, Outcome, ToolPhase};
use musher_runtime::{Runtime, SessionSpec, Snapshot};
use musher_testkit::model::Request;
use serde_json::json;

use super::{begin, trusted};
use crate::rig::ClaudeRig;
use crate::story::Story;

/// Every event for which a repository can name a hook.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "Setup",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "InstructionsLoaded",
    "ConfigChange",
    "FileChanged",
    "CwdChanged",
];
/// Every other setting that names a command.
const HELPERS: &[&str] = &[
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "gcpAuthRefresh",
    "otelHeadersHelper",
    "proxyAuthHelper",
];
const LINES: &[&str] = &["statusLine", "subagentStatusLine", "fileSuggestion"];

pub(super) fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The settings of a stranger: whatever they name leaves a file that begins with `who`.
pub(super) fn settings(folder: &Path, who: &str) -> String {
    let touch = |name: &str| format!("touch '{}/ran/{who}-{name}'", folder.display());
    let mut all = json!({
        "enableAllProjectMcpServers": true,
        "env": { "CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_METRICS_EXPORTER": "console" },
    });
    for event in EVENTS {
        all["hooks"][event] =
            json!([{ "hooks": [{ "type": "command", "command": touch(event) }] }]);
    }
    for helper in HELPERS {
        all[helper] = format!("{}; echo x", touch(helper)).into();
    }
    for line in LINES {
        all[line] = json!({ "type": "command", "command": touch(line) });
    }
    all.to_string()
}

/// Makes the folder that of a stranger.
fn plant(folder: &Path) {
    fs::create_dir(folder.join("ran")).unwrap();
    write(folder, ".claude/settings.json", &settings(folder, "project"));
    write(folder, ".claude/settings.local.json", &settings(folder, "local"));
    let server = format!("touch '{}/ran/server'; sleep 1", folder.display());
    let servers =
        json!({ "mcpServers": { "planted": { "command": "sh", "args": ["-c", server] } } });
    write(folder, ".mcp.json", &servers.to_string());
    let touch = |name: &str| format!("touch '{}/ran/{name}'", folder.display());
    write(
        folder,
        ".claude/commands/planted.md",
        &format!("---\ndescription: x\n---\n!`{}`\n", touch("command")),
    );
    let skill = format!("---\nname: skilled\ndescription: x\n---\n!`{}`\n", touch("skill"));
    write(folder, ".claude/skills/skilled/SKILL.md", &skill);
    write(folder, "CLAUDE.md", "WORDS_TO_OBEY\n");
}

pub(super) fn ran(rig: &ClaudeRig) -> Vec<String> {
    let names = fs::read_dir(rig.place.work.path().join("ran")).unwrap();
    let mut names: Vec<String> =
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(super) fn seen(rig: &ClaudeRig) -> Snapshot {
    Snapshot::of_folder(rig.place.work.path(), ClaudeCode::default().project_files()).unwrap()
}

/// A session that goes on for as long as it is spoken to.
pub(super) fn lasting(mut spec: SessionSpec) -> SessionSpec {
    spec.linger = Duration::from_secs(30);
    trusted(spec)
}

pub(super) fn is_about_files(body: &Ask, path: &str) -> bool {
    matches!(body, Ask::Approval(approval) if approval.human_only
        && approval.subject.as_deref().is_some_and(|subject| subject.contains(path))
        && approval.edits.iter().any(|edit| edit.path == path))
}

pub(super) async fn answered(story: &mut Story, ask: AskId, yes: bool) {
    let answer = match yes {
        true => Answer::Allow { input: None },
        false => Answer::Deny { reason: "no".into() },
    };
    story.handle.answer(ask, answer).await.unwrap();
}

#[tokio::test]
async fn nothing_of_a_strangers_repository_runs_before_it_is_trusted_and_its_words_are_obeyed() {
    let rig = ClaudeRig::new().await;
    plant(rig.place.work.path());
    let mut spec = lasting(rig.spec("[[scn:bash]] go"));
    spec.project.base = seen(&rig);
    let mut story = begin(spec);
    story.until_turns_ended(1).await;
    for (turns, prompt) in [(2, "/planted"), (3, "/skilled"), (4, "[[scn:text]] on")] {
        story.handle.prompt(prompt).await.unwrap();
        story.until_turns_ended(turns).await;
    }
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ran(&rig), Vec::<String>::new(), "{}", ended.text());
    let told = ended.events.iter().any(|event| {
        matches!(&event.kind, EventKind::Notice { code, text, .. }
        if code.as_deref() == Some("project_files_left_out") && text.contains(".mcp.json"))
    });
    assert!(told, "{}", ended.text());
    let obeyed =
        |request: &Request| String::from_utf8_lossy(&request.body).contains("WORDS_TO_OBEY");
    assert!(rig.server.requests().iter().any(obeyed), "the words of the project are left out too");
}

#[tokio::test]
async fn what_is_trusted_runs_and_a_later_change_of_it_ends_the_run_before_its_next_prompt() {
    let rig = ClaudeRig::new().await;
    let folder = rig.place.work.path();
    plant(folder);
    write(folder, "later.json", &settings(folder, "later"));
    let prompt = "[[scn:bash cmd=\"cp later.json .claude/settings.json; sleep 2\"]] go";
    let mut spec = lasting(rig.spec(prompt));
    spec.project.trusted = vec![seen(&rig)];
    let mut story = begin(spec);
    story.until_turns_ended(1).await;
    let before = ran(&rig);
    for name in [
        "project-SessionStart",
        "project-UserPromptSubmit",
        "local-PreToolUse",
        "local-apiKeyHelper",
        "server",
    ] {
        assert!(before.iter().any(|ran| ran == name), "{name} did not run: {before:?}");
    }
    story.handle.prompt("[[scn:text]] WORDS_OF_THE_SECOND").await.unwrap();
    let (ask, body) = story.until_ask().await;
    assert!(is_about_files(&body, ".claude/settings.json"), "{body:?}");
    answered(&mut story, ask, false).await;
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    assert_eq!(ended.end.error.as_ref().map(|error| error.class), Some(ErrorClass::Policy));
    let later: Vec<String> =
        ran(&rig).into_iter().filter(|name| name.starts_with("later")).collect();
    assert_eq!(later, Vec::<String>::new());
    assert!(!rig.server.prompts().iter().any(|prompt| prompt.contains("WORDS_OF_THE_SECOND")));
}

#[tokio::test]
async fn a_change_by_the_shell_is_noticed_before_the_next_prompt_which_asks() {
    let rig = ClaudeRig::new().await;
    let folder = rig.place.work.path();
    fs::create_dir(folder.join("ran")).unwrap();
    write(folder, "planted.json", &settings(folder, "planted"));
    let prompt =
        "[[scn:bash cmd=\"mkdir -p .claude; cp planted.json .claude/settings.json; sleep 2\"]] go";
    let mut story = begin(lasting(rig.spec(prompt)));
    story.until_turns_ended(1).await;
    story.handle.prompt("[[scn:bash cmd=true]] WORDS_OF_THE_SECOND").await.unwrap();
    let (ask, body) = story.until_ask().await;
    assert!(is_about_files(&body, ".claude/settings.json"), "{body:?}");
    assert!(!rig.server.prompts().iter().any(|prompt| prompt.contains("WORDS_OF_THE_SECOND")));
    answered(&mut story, ask, true).await;
    story.until_turns_ended(2).await;
    // What was agreed to is not asked about again.
    story.handle.prompt("[[scn:text]] three").await.unwrap();
    story.until_turns_ended(3).await;
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ran(&rig), Vec::<String>::new(), "{}", ended.text());
}

#[tokio::test]
async fn a_start_asks_about_files_that_differ_from_those_of_the_project() {
    for yes in [false, true] {
        let rig = ClaudeRig::new().await;
        plant(rig.place.work.path());
        let mut story = begin(trusted(rig.spec("[[scn:text]] go")));
        let (ask, body) = story.until_ask().await;
        assert!(is_about_files(&body, ".mcp.json"), "{body:?}");
        assert!(rig.server.prompts().is_empty() && ran(&rig).is_empty());
        answered(&mut story, ask, yes).await;
        let ended = story.end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        assert_eq!(
            ran(&rig).iter().any(|name| name == "project-SessionStart"),
            yes,
            "{:?}",
            ran(&rig)
        );
    }
}

#[tokio::test]
async fn an_edit_of_what_it_would_run_is_denied_unless_a_rule_names_it() {
    for (allow, mode, written) in [
        ("edit(./**)", "default", false),
        ("edit", "acceptEdits", false),
        ("*", "bypassPermissions", false),
        ("edit(.claude/settings.json)", "bypassPermissions", true),
    ] {
        let rig = ClaudeRig::new().await;
        let mut spec = rig.spec("[[scn:write path=.claude/settings.json content={}]] go");
        spec.rules.allow = vec![allow.parse().unwrap()];
        spec.permission_mode = Some(mode.into());
        let ended = begin(spec).end().await;
        let denied = ended.tools(ToolPhase::Denied);
        assert_eq!(
            (denied == 0, rig.place.file(".claude/settings.json").is_some()),
            (written, written),
            "{allow}\n{}",
            ended.text()
        );
    }
}
