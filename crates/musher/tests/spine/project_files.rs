//! What a repository would have the real agent run: shown, agreed to, noticed when it changes, marked when it is merged.

use std::path::Path;

use musher_testkit::model::ModelServer;

use crate::real;

/// Settings whose hooks leave a file in this folder.
fn settings(ran: &Path, name: &str) -> String {
    let hook = |event: &str| {
        let command = format!("touch '{}/{name}-{event}'", ran.display());
        serde_json::json!([{ "hooks": [{ "type": "command", "command": command }] }])
    };
    let hooks = serde_json::json!({
        "SessionStart": hook("SessionStart"),
        "UserPromptSubmit": hook("UserPromptSubmit"),
        "PreToolUse": hook("PreToolUse"),
    });
    serde_json::to_string_pretty(&serde_json::json!({ "hooks": hooks })).unwrap()
}

fn ran(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn what_an_agents_program_would_run_is_left_out_until_it_is_trusted_and_a_change_of_it_is_asked_about()
 {
    let model = ModelServer::start().await.unwrap();
    let project = real::project(&model);
    let (repo, left) = (project.repo(), project.home().join("ran"));
    std::fs::create_dir(&left).unwrap();
    let file = repo.join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("ask = ['execute']", "allow = ['execute', 'edit(./**)']"))
        .unwrap();
    std::fs::create_dir(repo.join(".claude")).unwrap();
    std::fs::write(repo.join(".claude/settings.json"), settings(&left, "first")).unwrap();
    std::fs::write(repo.join("later.json"), settings(&left, "later")).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "settings of a stranger"]);
    let server = project.serve().await;

    project.cli(&["story", "add", "Before", "--text", "[[scn:bash cmd=true]] go"]).await;
    project.cli(&["start", "s1"]).await;
    let run = server.until_over("r1").await;
    assert_eq!(run["outcome"], "completed", "{run}");
    assert_eq!(ran(&left), Vec::<String>::new());
    assert!(project.cli(&["logs", "r1", "--json"]).await.contains("project_files_left_out"));
    let checks = project.cli(&["doctor", "--json"]).await;
    assert!(
        checks.contains("leave these out, for nobody has agreed to them: .claude/settings.json"),
        "{checks}"
    );
    let shown = project.cli(&["trust", "--show"]).await;
    assert!(shown.contains("first-SessionStart") && shown.contains("not trusted yet"), "{shown}");
    project.cli(&["trust"]).await;

    // It is loaded now, and the agent plants another one by the shell.
    let plant = "[[scn:bash cmd=\"cp later.json .claude/settings.json\"]] go";
    project.cli(&["story", "add", "After", "--text", plant]).await;
    project.cli(&["start", "s2"]).await;
    let run = server.until_over("r2").await;
    assert_eq!(run["outcome"], "completed", "{run}");
    assert!(ran(&left).iter().any(|name| name == "first-UserPromptSubmit"), "{:?}", ran(&left));
    let diff = project.cli(&["diff", "r2"]).await;
    assert!(diff.contains("! agents' programs run what this file names"), "{diff}");

    project.cli(&["resume", "r2"]).await;
    project.cli(&["wait", "s2", "--until", "needs-you", "--timeout", "60s"]).await;
    let asks = project.cli(&["asks", "s2"]).await;
    assert!(
        asks.contains(".claude/settings.json") && asks.contains("later-SessionStart"),
        "{asks}"
    );
    project.cli(&["deny", "s2"]).await;
    let run = server.until_over("r3").await;
    assert_eq!(run["outcome"], "completed", "{run}");
    let later: Vec<String> =
        ran(&left).into_iter().filter(|name| name.starts_with("later")).collect();
    assert_eq!(later, Vec::<String>::new());

    project.cli(&["merge", "s2"]).await;
    let shown = project.cli(&["trust", "--show"]).await;
    assert!(shown.contains(".claude/settings.json (changed)"), "{shown}");
}

#[tokio::test]
async fn the_rules_that_init_writes_let_nobody_edit_what_an_agents_program_would_run() {
    let model = ModelServer::start().await.unwrap();
    let project = real::project(&model);
    let file = project.repo().join(".musher/project.toml");
    let drafted =
        musher::config::init::draft(&[], Some("main"), musher::config::SandboxProfile::Off);
    let rules = drafted.lines().find(|line| line.starts_with("rules = ")).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("rules = { ask = ['execute'] }", rules)).unwrap();
    project.git(&["commit", "-qam", "rules"]);
    let server = project.serve().await;
    let text = "[[scn:write path=.claude/settings.json content={}]] go";
    project.cli(&["story", "add", "Edit", "--text", text]).await;
    project.cli(&["start", "s1"]).await;
    server.until_over("r1").await;
    let log = project.cli(&["logs", "r1", "--json"]).await;
    assert!(
        log.contains("\"phase\":\"denied\"") && log.contains("An agent's program would run"),
        "{log}"
    );
    assert!(!project.state().join("worktrees/1/.claude/settings.json").exists());
}
