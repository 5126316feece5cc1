//! The real Claude Code and the real Codex call the tools of their runs.

use musher_core::{EventKind, ToolPhase};
use serde_json::json;

use super::agent::Endpoint;
use crate::real;
use crate::rig::Project;

#[tokio::test]
async fn the_real_agent_uses_the_tools_of_its_run_without_asking_and_sees_no_others() {
    let model = musher_testkit::model::ModelServer::start().await.unwrap();
    let project = real::project(&model);
    let secret = uses_the_tools_of_its_run(&project, ("Bash", "command")).await;

    // What the agent knew is worth nothing once its run has ended.
    let copies = std::fs::read_dir(project.state().join("bin")).unwrap().flatten();
    let program = copies.map(|copy| copy.path().join("musher")).find(|path| path.exists()).unwrap();
    let late = Endpoint {
        command: program.display().to_string(),
        args: ["mcp".into(), "--run".into(), project.run_folder("r1").display().to_string()]
            .to_vec(),
        env: [("MUSHER_RUN_SECRET".into(), secret.unwrap())].into(),
    };
    let why = late.refusal().await;
    assert!(why.contains("is over or not under way"), "{why}");
}

#[tokio::test]
async fn the_real_codex_uses_the_tools_of_its_run_without_asking_and_sees_no_others() {
    let model = musher_testkit::model::ModelServer::start().await.unwrap();
    let project = real::codex_project(&model);
    let secret = uses_the_tools_of_its_run(&project, ("exec_command", "cmd")).await;
    assert_eq!(secret, None, "its own sandbox hides other processes from its commands");
}

#[tokio::test]
async fn the_real_agents_use_the_tools_of_their_runs_in_a_sandbox_too() {
    let model = musher_testkit::model::ModelServer::start().await.unwrap();
    let claude = real::confined(real::project(&model));
    uses_the_tools_of_its_run(&claude, ("Bash", "command")).await;
    let codex = real::confined(real::codex_project(&model));
    uses_the_tools_of_its_run(&codex, ("exec_command", "cmd")).await;
}

/// Plays the scene; gives the secret by which the tools are reached, if a command of the agent could see it.
async fn uses_the_tools_of_its_run(
    project: &Project,
    (shell, command): (&str, &str),
) -> Option<String> {
    let server = project.serve().await;
    let script = project.home().join("script.json");
    let call = |name: &str, input| json!({ "tools": [{ "name": name, "input": input }] });
    // The fourth is a tool of the operator, which an agent does not have. While the last call runs, a child of the
    // agent tells how its tools are reached.
    let folder = project.run_folder("r1").display().to_string();
    let keep = format!(
        "touch secret.txt; for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q 'mcp --run {folder}'; then tr '\\0' '\\n' < $p/environ | grep MUSHER_RUN_SECRET >> secret.txt; fi; done; true"
    );
    let steps = json!([
        call("mcp__musher__story", json!({})),
        call("mcp__musher__plan", json!({ "steps": [{ "text": "look", "status": "completed" }] })),
        call("mcp__musher__report_progress", json!({ "text": "half way" })),
        call("mcp__musher__list_stories", json!({})),
        call(shell, json!({ command: keep, "description": "look" })),
        call("mcp__musher__ask_person", json!({ "questions": [{ "text": "Which colour?" }] })),
        call("mcp__musher__finish", json!({ "summary": "all done" })),
    ]);
    std::fs::write(&script, steps.to_string()).unwrap();
    let text = format!("[[scn:script file={}]] the words of the story", script.display());
    let (_, run) = server.begin(&text).await;
    // The only approval is that of the command.
    let ask = server.until_ask(&run).await;
    let path = format!("/runs/{run}/asks/{ask}/answer");
    server.post(&path, &json!({ "answer": { "decision": "allow" } })).await;
    let question = loop {
        let found = server.until_ask(&run).await;
        if found != ask {
            break found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let path = format!("/runs/{run}/asks/{question}/answer");
    let answer = json!({ "decision": "replies", "replies": [{ "text": "Blue" }] });
    server.post(&path, &json!({ "answer": answer })).await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");

    let events = project.events(&run);
    let output = |name: &str| {
        let mut calls = events.iter().filter_map(|event| match &event.kind {
            EventKind::Tool(update) => Some(update),
            _ => None,
        });
        let call = calls.clone().find(|update| update.name.as_deref() == Some(name));
        let call = call.unwrap_or_else(|| panic!("{name} was never called")).call.clone();
        let last = calls.rfind(|update| update.call == call && update.phase.is_final()).unwrap();
        (last.phase, last.output.clone().unwrap_or_default().text)
    };
    let (phase, story) = output("mcp__musher__story");
    assert_eq!(phase, ToolPhase::Completed, "{story}");
    assert!(story.contains("the words of the story"), "{story}");
    // Some agents tell of a call of a tool that they do not have, some do not.
    let refused = events.iter().any(|event| matches!(&event.kind, EventKind::Tool(update) if update.name.as_deref() == Some("mcp__musher__list_stories")));
    assert!(!refused || output("mcp__musher__list_stories").0 == ToolPhase::Failed);
    let (phase, answer) = output("mcp__musher__ask_person");
    assert!(phase == ToolPhase::Completed && answer.contains("Blue"), "{answer}");
    let said: Vec<(&str, &str)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Notice { code: Some(code), text, .. } => {
                Some((code.as_str(), text.as_str()))
            }
            _ => None,
        })
        .filter(|(code, _)| ["progress", "summary"].contains(code))
        .collect();
    assert_eq!(said, [("progress", "half way"), ("summary", "all done")]);
    assert_eq!(project.left(), Vec::<i32>::new());

    let known = project.git(&["show", "musher/s1/1:secret.txt"]);
    let secret = known.lines().find_map(|line| line.strip_prefix("MUSHER_RUN_SECRET="));
    secret.map(str::to_owned)
}
