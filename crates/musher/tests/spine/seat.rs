//! What an agent's seat in the project file means to a run: setup, copied files, deadlines, limits, bills.

use std::time::Duration;

use musher_core::EventKind;
use serde_json::json;

use crate::rig::{PATIENCE, Project};

const AGENT: &str = "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{ story.text }}'\nenv = { WORKER_HOME = '@HOME@' }\n";

fn notices(project: &Project, run: &str) -> Vec<String> {
    let events = project.events(run).into_iter();
    events
        .filter_map(|event| match event.kind {
            EventKind::Notice { code: Some(code), text, .. } if code == "setup" => Some(text),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_worktree_is_set_up_once_for_each_story_and_its_files_are_copied() {
    let project = Project::new(&format!(
        "{AGENT}[worktree]\nsetup = ['cat .env; echo ready > ready.txt']\ncopy = ['.env']\n"
    ));
    std::fs::write(project.repo().join(".gitignore"), ".env\n").unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "ignore"]);
    std::fs::write(project.repo().join(".env"), "PORT=1\n").unwrap();
    let server = project.serve().await;
    let (story, run) = server.begin("[[work lines=1]]").await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    assert_eq!(notices(&project, &run), ["$ cat .env; echo ready > ready.txt", "PORT=1"]);
    assert_eq!(project.git(&["show", "musher/s1/1:ready.txt"]).trim(), "ready");
    let listed = project.git(&["ls-tree", "--name-only", "musher/s1/1"]);
    assert!(!listed.contains(".env"), "what was copied is never committed: {listed}");
    let retried = server.post(&format!("/runs/{run}/retry"), &json!({})).await;
    let second = retried["run"].as_str().unwrap();
    server.until_over(second).await;
    assert_eq!(notices(&project, second), Vec::<String>::new(), "the same worktree is ready");
    server.post(&format!("/stories/{story}/archive"), &json!({})).await;
    let (_, third) = server.begin("[[work lines=1]]").await;
    server.until_over(&third).await;
    assert_eq!(notices(&project, &third).len(), 2, "another story sets it up anew");
}

#[tokio::test]
async fn promise_5_a_start_that_fails_half_way_leaves_nothing_behind_and_says_why() {
    let cases = [
        ("command = '@WORKER@-gone'", "", "does not exist"),
        ("command = '@WORKER@'", "[worktree]\ncopy = ['no-such-file']\n", "no-such-file"),
    ];
    for (command, rest, why) in cases {
        let agent = AGENT.replace("command = '@WORKER@'", command);
        let project = Project::new(&format!("{agent}{rest}"));
        let before = project.git(&["for-each-ref"]);
        let server = project.serve().await;
        let (_, run) = server.begin("").await;
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "failed", "{command}: {over:#}");
        let error = over["error"]["message"].as_str().unwrap_or_default();
        assert!(error.contains(why), "{command}: {over:#}");
        assert_eq!(project.git(&["for-each-ref"]), before, "{command}: no branch is left");
        assert_eq!(
            project.runs(),
            Vec::<std::path::PathBuf>::new(),
            "{command}: no folder is left"
        );
        assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1, "{command}");
        assert_eq!(project.left(), Vec::<i32>::new());
    }
}

#[tokio::test]
async fn an_ask_that_nobody_answers_gets_its_default_also_while_no_server_runs() {
    let project = Project::new(&format!("{AGENT}ask_deadline = '1s'\nask_default = 'deny'\n"));
    let server = project.serve().await;
    let (_, run) = server.begin("[[work ask=\"make all\" lines=2]]").await;
    server.until_ask(&run).await;
    server.kill();
    let began = std::time::Instant::now();
    while !project.worker_file("effects").contains("deny") {
        assert!(began.elapsed() < PATIENCE, "the default never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let server = project.serve().await;
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    let asks = server.get("/asks?all=true").await;
    assert_eq!(asks["asks"][0]["by"], "deadline", "{asks:#}");
}

#[tokio::test]
async fn an_ask_that_waits_is_reminded_of_and_never_denied_for_it() {
    let project = Project::new(&format!("{AGENT}ask_reminder = '1s'\n"));
    let server = project.serve().await;
    let (_, run) = server.begin("[[work ask=\"make all\" lines=2]]").await;
    server.until_ask(&run).await;
    let asks = server.get("/asks").await;
    let at = |key: &str| asks["asks"][0][key].as_i64().unwrap_or_default();
    assert_eq!(at("remind_at"), at("opened_at") + 1000, "{asks:#}");
    assert_eq!(asks["asks"][0]["deadline"], serde_json::Value::Null, "{asks:#}");
    let reminders = || {
        let events = project.events(&run).into_iter();
        let text = |event: musher_core::Event| match event.kind {
            EventKind::Notice { code: Some(code), text, .. } if code == "ask_waits" => Some(text),
            _ => None,
        };
        events.filter_map(text).collect::<Vec<String>>()
    };
    let began = std::time::Instant::now();
    while reminders().is_empty() {
        assert!(began.elapsed() < PATIENCE, "nobody was reminded");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told = reminders();
    assert!(told[0].contains("Still waiting") && told[0].contains("make all"), "{told:?}");
    let asks = server.get("/asks").await;
    assert_eq!(asks["asks"][0]["state"], "open", "{asks:#}");
    project.cli(&["approve", &run]).await;
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
}

#[tokio::test]
async fn each_run_of_a_session_is_billed_for_its_own_work_alone() {
    let project = Project::new(AGENT);
    let server = project.serve().await;
    let (_, first) = server.begin("[[work lines=1 input=100 output=10 cost=0.5]]").await;
    server.until_over(&first).await;
    for (verb, n) in [("prompt", 2), ("fork", 3)] {
        let text = json!({ "text": "[[work lines=1 input=7 output=1 cost=0.25]]" });
        let reply = server.post(&format!("/runs/{first}/{verb}"), &text).await;
        assert_eq!(reply["run"], format!("r{n}"), "{reply:#}");
        let over = server.until_over(&format!("r{n}")).await;
        let spent = (&over["spent"]["input"], &over["spent"]["cost_usd"]);
        assert_eq!(spent, (&json!(7), &json!(0.25)), "{verb}: {over:#}");
    }
    let usage = server.get("/usage?by=story").await;
    assert_eq!(usage["rows"][0]["spent"]["input"], 114, "{usage:#}");
}

#[tokio::test]
async fn no_agent_and_no_story_has_more_runs_at_once_than_the_project_file_says() {
    let two = format!("{AGENT}{}", AGENT.replace("'worker'", "'other'"));
    let project =
        Project::new(&format!("{two}[limits]\nruns = 8\nruns_per_agent = 1\nruns_per_story = 1\n"));
    let server = project.serve().await;
    server.begin("[[work ask=wait]]").await;
    server.begin("[[work ask=wait]]").await;
    server.post("/stories/s1/start", &json!({ "agent": "other" })).await;
    server.until_ask("r1").await;
    let phases = |view: &serde_json::Value| {
        let runs = view["runs"].as_array().unwrap().iter();
        runs.map(|run| run["phase"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut seen = phases(&server.get("/runs").await);
    seen.sort();
    assert_eq!(seen, ["live", "queued", "queued"]);
    for run in ["r1", "r2", "r3"] {
        server.post(&format!("/runs/{run}/kill"), &json!({})).await;
        server.until_over(run).await;
    }
}
