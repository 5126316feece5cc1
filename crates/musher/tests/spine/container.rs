//! Runs in a container, through the whole stack, where an engine answers.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use musher::runner::spec::RunSpec;
use serde_json::json;

use crate::engine::Engine;
use crate::rig::{PATIENCE, Project, kill_runner};

/// The engine, or nothing with a word about it.
fn engine() -> Option<Engine> {
    let why = match Engine::of_this_machine(env!("CARGO_BIN_EXE_musher").as_ref()) {
        Ok(engine) if rustix::process::geteuid().is_root() => return Some(engine),
        Ok(_) => "only the superuser can put another one in its place".to_owned(),
        Err(why) => why,
    };
    eprintln!("not tried: no container engine of this machine answers ({why})");
    None
}

#[tokio::test]
async fn where_an_engine_answers_a_run_in_a_container_leaves_its_commits_and_no_container() {
    let Some(engine) = engine() else { return };
    let sandbox = format!("profile = 'workspace'\nimage = '{}'\n", engine.container.image);
    let line = "echo x > new; git add new; git commit -qm mine && echo COMMITTED; ls /run/musher; \
                cat \"$(dirname $PWD)/../token\" || echo NONE; test -e /etc/shadow || echo IMAGE; echo y > left";
    let project = crate::sandbox::of_line_with(line, &sandbox);
    let server = project.serve_after(&in_place(&engine)).await;
    let (_, run) = server.begin("go").await;
    let view = server.until_over(&run).await;
    let told = crate::sandbox::printed(&project, &run);
    assert_eq!(view["outcome"], "completed", "{view:#} {told}");
    for word in ["COMMITTED", "NONE", "IMAGE"] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    assert_eq!(project.git(&["log", "--format=%s", "main..musher/s1/1"]), "Work\nmine\n");
    let mark = RunSpec::read(&project.run_folder(&run)).unwrap().mark;
    until_gone(&engine, &mark).await;
}

#[tokio::test]
async fn where_an_engine_answers_a_strict_container_reaches_only_allowed_hosts_by_the_proxy() {
    let Some(engine) = engine() else { return };
    let (allowed, other) = (crate::network::neighbour().await, crate::network::neighbour().await);
    let sandbox = format!(
        "profile = 'strict'\nimage = '{}'\nhosts = ['{allowed}']\n",
        engine.container.image
    );
    let line = format!(
        "curl -sS http://{allowed}/ && echo ' PLAIN'; curl -sS http://{other}/ | grep -c NEIGHBOUR; \
         curl -sS --noproxy '*' --max-time 5 http://{allowed}/ || echo NODIRECT"
    );
    let project = crate::sandbox::of_line_with(&line, &sandbox);
    let server = project.serve_after(&in_place(&engine)).await;
    let (_, run) = server.begin("go").await;
    server.until_over(&run).await;
    let told = crate::sandbox::printed(&project, &run);
    assert!(told.contains("NEIGHBOUR PLAIN\n0\n") && told.contains("NODIRECT"), "{told}");
}

/// A line of shell that puts this engine where the program looks for one, for what is started after it.
fn in_place(engine: &Engine) -> String {
    let (own, usual) = (engine.container.program.display(), "/usr/bin/podman");
    format!("exec unshare -m sh -c 'mount --bind {own} {usual}; exec \"$@\"' sh \"$@\"")
}

/// A project whose agent is this shell script, in a container.
fn of_program(engine: &Engine, script: &str) -> Project {
    let project = Project::new(&format!(
        "[[agent]]\nname = 'coder'\nruntime = 'claude-code'\ncommand = './agent'\n[sandbox]\nprofile = 'workspace'\nimage = '{}'\n",
        engine.container.image
    ));
    let agent = project.repo().join("agent");
    std::fs::write(&agent, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "agent"]);
    project
}

#[tokio::test]
async fn where_an_engine_answers_an_agent_in_a_container_that_is_stopped_can_tidy_up() {
    let Some(engine) = engine() else { return };
    let script =
        "trap 'echo tidied > tidied; exit 0' TERM; touch begun; while :; do sleep 0.05; done";
    let project = of_program(&engine, script);
    let server = project.serve_after(&in_place(&engine)).await;
    let (_, run) = server.begin("go").await;
    let worktree = project.state().join("worktrees/1");
    crate::sandbox::until_there(&worktree.join("begun")).await;
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    server.until_over(&run).await;
    assert_eq!(std::fs::read_to_string(worktree.join("tidied")).unwrap(), "tidied\n");
    let mark = RunSpec::read(&project.run_folder(&run)).unwrap().mark;
    until_gone(&engine, &mark).await;
}

#[tokio::test]
async fn where_an_engine_answers_a_killed_runner_leaves_no_container() {
    let Some(engine) = engine() else { return };
    let project = of_program(&engine, "touch begun; exec sleep 600");
    let server = project.serve_after(&in_place(&engine)).await;
    let (_, run) = server.begin("go").await;
    crate::sandbox::until_there(&project.state().join("worktrees/1/begun")).await;
    let mark = RunSpec::read(&project.run_folder(&run)).unwrap().mark;
    assert!(!engine.named(&mark).is_empty(), "it has a container");
    kill_runner(&project.run_folder(&run)).unwrap();
    until_gone(&engine, &mark).await;
}

async fn until_gone(engine: &Engine, mark: &str) {
    let began = Instant::now();
    // Processes of the run carry its mark in their variables.
    let marked = || musher_testkit::proc::marked(&format!("{}={mark}", musher_runtime::MARK));
    while !marked().is_empty() || !engine.named(mark).is_empty() {
        assert!(began.elapsed() < PATIENCE, "{:?} {} are left", marked(), engine.named(mark));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
