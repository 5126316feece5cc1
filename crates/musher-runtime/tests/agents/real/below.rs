//! What the program runs from folders below the one it works in: all of that is known, and nothing of it runs unnoticed.

use std::fs;
use std::path::Path;

use musher_runtime::core::Outcome;
use serde_json::json;

use super::begin;
use super::project::{answered, is_about_files, lasting, ran, seen, settings, write};
use crate::rig::ClaudeRig;

const SKILL: &str = "packages/x/.claude/skills/deep/SKILL.md";

/// A skill that leaves a file when it is called, by its own words and by a hook.
fn skill(top: &Path, name: &str) -> String {
    let touch = |what: &str| format!("touch '{}/ran/{name}-{what}'", top.display());
    format!(
        "---\nname: {name}\ndescription: x\nhooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          \
         command: {}\n---\n!`{}`\n",
        touch("hook"),
        touch("skill")
    )
}

/// Everything that a folder at the top could have, in a folder below it.
fn plant(top: &Path) {
    fs::create_dir(top.join("ran")).unwrap();
    write(top, ".claude/settings.json", "{}");
    write(top, "packages/x/.claude/settings.json", &settings(top, "below"));
    write(top, "packages/x/.claude/settings.local.json", &settings(top, "local"));
    let server = format!("touch '{}/ran/server'; sleep 1", top.display());
    let servers = json!({ "mcpServers": { "below": { "command": "sh", "args": ["-c", server] } } });
    write(top, "packages/x/.mcp.json", &servers.to_string());
    let touch = |name: &str| format!("touch '{}/ran/{name}'", top.display());
    let command = format!("---\ndescription: x\n---\n!`{}`\n", touch("command"));
    write(top, "packages/x/.claude/commands/lower.md", &command);
    write(top, SKILL, &skill(top, "deep"));
    write(top, "packages/x/file", "x");
    // It reads a file there, goes there, and calls what it may have found.
    let file = top.join("packages/x/file").display().to_string();
    let calls = [
        json!({ "name": "Read", "input": { "file_path": file } }),
        json!({ "name": "Skill", "input": { "skill": "deep" } }),
        json!({ "name": "Bash", "input": { "command": "cd packages/x && pwd" } }),
        json!({ "name": "Skill", "input": { "skill": "lower" } }),
        json!({ "name": "Bash", "input": { "command": "true" } }),
    ];
    let steps: Vec<_> = calls.into_iter().map(|call| json!({ "tools": [call] })).collect();
    write(top, "steps.json", &json!(steps).to_string());
}

fn prompt(rig: &ClaudeRig) -> String {
    format!("[[scn:script file={}]] go", rig.place.work.path().join("steps.json").display())
}

#[tokio::test]
async fn whatever_the_program_runs_from_a_folder_below_is_part_of_what_is_agreed_to() {
    let rig = ClaudeRig::new().await;
    plant(rig.place.work.path());
    let agreed = seen(&rig);
    assert!(agreed.files().any(|(path, _)| path == SKILL), "{agreed:?}");
    let mut spec = lasting(rig.spec(&prompt(&rig)));
    spec.project.trusted = vec![agreed];
    let mut story = begin(spec);
    story.until_turns_ended(1).await;
    for (turns, prompt) in [(2, "/lower"), (3, "[[scn:bash]] on")] {
        story.handle.prompt(prompt).await.unwrap();
        story.until_turns_ended(turns).await;
    }
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    // Anything more would be run without being known.
    assert_eq!(ran(&rig), ["deep-hook", "deep-skill"], "{}", ended.text());
}

#[tokio::test]
async fn what_nobody_has_agreed_to_in_a_folder_below_is_asked_about_and_left_out() {
    for yes in [false, true] {
        let rig = ClaudeRig::new().await;
        let top = rig.place.work.path();
        plant(top);
        let text = fs::read_to_string(top.join(SKILL)).unwrap();
        fs::remove_file(top.join(SKILL)).unwrap();
        let mut spec = lasting(rig.spec(&prompt(&rig)));
        spec.project.trusted = vec![seen(&rig)];
        spec.project.base = seen(&rig);
        write(top, SKILL, &text);
        let mut story = begin(spec);
        let (ask, body) = story.until_ask().await;
        assert!(is_about_files(&body, SKILL), "{body:?}");
        assert!(rig.server.prompts().is_empty() && ran(&rig).is_empty());
        answered(&mut story, ask, yes).await;
        story.until_turns_ended(1).await;
        story.handle.stop().await.unwrap();
        let ended = story.end().await;
        assert_eq!(!ran(&rig).is_empty(), yes, "{:?}\n{}", ran(&rig), ended.text());
    }
}

#[tokio::test]
async fn a_skill_that_appears_in_a_folder_below_is_noticed_before_the_next_prompt() {
    let rig = ClaudeRig::new().await;
    let top = rig.place.work.path();
    fs::create_dir(top.join("ran")).unwrap();
    write(top, ".claude/settings.json", "{}");
    write(top, "later.md", &skill(top, "deep"));
    let command = "mkdir -p packages/x/.claude/skills/deep; cp later.md packages/x/.claude/skills/deep/SKILL.md";
    let mut spec = lasting(rig.spec(&format!("[[scn:bash cmd=\"{command}\"]] go")));
    spec.project.trusted = vec![seen(&rig)];
    let mut story = begin(spec);
    story.until_turns_ended(1).await;
    story.handle.prompt("[[scn:text]] WORDS_OF_THE_SECOND").await.unwrap();
    let (ask, body) = story.until_ask().await;
    assert!(is_about_files(&body, SKILL), "{body:?}");
    answered(&mut story, ask, false).await;
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    assert_eq!(ran(&rig), Vec::<String>::new());
}
