//! The model and the mode of a live run, changed by the command line and over the API.

use std::time::{Duration, Instant};

use musher::runner::spec::RunSpec;
use musher_core::{EventKind, ModelChange};
use serde_json::{Value as Json, json};

use crate::rig::{PATIENCE, Project};

/// A project with one agent that plays a script which never ends.
fn of_a_hanging_script() -> Project {
    let project = Project::new(
        "[[agent]]\nname = 'player'\nruntime = 'script'\ncommand = './.musher/hang.toml'\n",
    );
    let script = "[[step]]\nsay = 'Here.'\n[[step]]\nhang = true\n";
    std::fs::write(project.repo().join(".musher/hang.toml"), script).unwrap();
    project
}

/// Runs a verb that must be refused, and gives what it said.
async fn refused(project: &Project, args: &[&str]) -> String {
    let state = project.state().display().to_string();
    let mut command = project.musher(&[args, &["--state", &state]].concat());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

async fn until<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The model that a person changed this run to, as its log tells it.
fn changed_to(project: &Project, run: &str) -> Option<String> {
    project.events(run).into_iter().rev().find_map(|event| match event.kind {
        EventKind::ModelChanged { to, why: ModelChange::Person, .. } => Some(to),
        _ => None,
    })
}

fn mode_of(project: &Project, run: &str) -> Option<String> {
    project.events(run).into_iter().rev().find_map(|event| match event.kind {
        EventKind::SessionInfo(info) => info.permission_mode,
        _ => None,
    })
}

#[tokio::test]
async fn the_model_and_the_mode_of_a_live_run_change_and_its_log_tells_it() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=100000 every_ms=20]]").await;
    server.until_live(&run).await;
    let can = server.run(&run).await["can"].clone();
    assert_eq!(can, json!({ "steer": true, "interrupt": true, "model": true, "mode": true }));
    until("the agent works", || project.said(&run).get(1).copied()).await;

    let said = project.cli(&["model", &run, "other-model"]).await;
    assert!(said.contains("other-model"), "{said}");
    until("the model is changed", || changed_to(&project, &run).filter(|to| to == "other-model"))
        .await;
    let sent = server.post(&format!("/runs/{run}/mode"), &json!({ "mode": "acceptEdits" })).await;
    assert_eq!(sent["status"], "sent");
    until("the mode is changed", || mode_of(&project, &run).filter(|it| it == "acceptEdits")).await;
    let now =
        server.until(&run, |view| view["status"]["mode"] == "acceptEdits").await["status"].clone();
    assert_eq!((&now["activity"], &now["model"]), (&json!("running"), &json!("other-model")));
    let shown = project.cli(&["show", &run]).await;
    for part in ["model     other-model", "mode      acceptEdits", "activity  in a turn"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let logs = project.cli(&["logs", &run]).await;
    assert!(logs.contains("model is now other-model"), "{logs}");
    assert!(logs.contains("mode is now acceptEdits"), "{logs}");

    project.cli(&["stop", &run]).await;
    let over = server.until_over(&run).await;
    assert_eq!((over.get("can"), over.get("status")), (None, None), "nothing can be asked of it");
    // A later run has what it is started with, not what an earlier one was changed to.
    server.post(&format!("/runs/{run}/resume"), &json!({ "text": "[[work lines=1]]" })).await;
    server.until_over("r2").await;
    let spec = RunSpec::read(&project.run_folder("r2")).unwrap();
    assert_eq!((spec.model, spec.permission_mode), (None, None));
}

#[tokio::test]
async fn a_runtime_that_cannot_change_is_named_with_what_to_do_instead() {
    let project = of_a_hanging_script();
    let server = project.serve().await;
    let (_, run) = server.begin("Wait.").await;
    server.until_live(&run).await;
    let can = server.run(&run).await["can"].clone();
    assert_eq!((&can["model"], &can["mode"]), (&json!(true), &json!(false)));
    let said = refused(&project, &["mode", &run, "plan"]).await;
    for part in ["`script`", "cannot change its permission mode", "fix:", "stop run r1"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let (status, problem) =
        server.try_post(&format!("/runs/{run}/mode"), &json!({ "mode": "plan" })).await.unwrap();
    assert_eq!((status, problem["code"].as_str()), (409, Some("unchanged")), "{problem:#}");
    project.cli(&["model", &run, "another"]).await;
    until("the model is changed", || changed_to(&project, &run).filter(|to| to == "another")).await;
    project.cli(&["kill", &run]).await;
}

#[tokio::test]
async fn a_change_of_a_run_that_is_not_live_and_a_name_that_is_none_are_refused_in_words() {
    let project = of_a_hanging_script();
    let server = project.serve().await;
    let (_, run) = server.begin("Wait.").await;
    server.until_live(&run).await;
    let long = "x".repeat(129);
    for (verb, name) in
        [("model", ""), ("model", "two words"), ("mode", "a\u{1b}[2J"), ("model", long.as_str())]
    {
        let said = refused(&project, &[verb, &run, name]).await;
        assert!(said.contains(&format!("the {verb} must be 1 to 128 bytes")), "{verb}: {said}");
    }
    for body in [json!({}), json!({ "model": 1 }), json!({ "model": "a", "x": 1 })] {
        let (status, problem): (u16, Json) =
            server.try_post(&format!("/runs/{run}/model"), &body).await.unwrap();
        assert!((400..500).contains(&status), "{body}: {status} {problem}");
    }
    assert_eq!(changed_to(&project, &run), None);
    project.cli(&["kill", &run]).await;
    server.until_over(&run).await;
    for verb in ["model", "mode"] {
        let said = refused(&project, &[verb, &run, "plan"]).await;
        assert!(said.contains("no active run r1") && said.contains("fix:"), "{said}");
        let interrupt = refused(&project, &["interrupt", &run]).await;
        assert_eq!(said, interrupt, "as for every other command to it");
    }
}

#[tokio::test]
async fn a_run_says_whether_it_works_waits_for_a_person_or_is_idle() {
    let project = Project::new(&crate::rig::WORKERS.replace("env =", "linger = '1h'\nenv ="));
    let server = project.serve().await;
    let (_, run) = server.begin("[[work ask=\"make all\" lines=1]]").await;
    server.until_ask(&run).await;
    assert_eq!(server.run(&run).await["status"]["activity"], "needs_you");
    assert!(project.cli(&["show", &run]).await.contains("activity  waits for you"));
    project.cli(&["approve", &run]).await;
    server.until(&run, |view| view["status"]["activity"] == "idle").await;
    // A server that begins anew learns it from the log.
    server.kill();
    let server = project.serve().await;
    let view = server.until(&run, |view| view["status"]["activity"] == "idle").await;
    assert!(view["status"]["model"].is_string(), "{view:#}");
    project.cli(&["kill", &run]).await;
}
