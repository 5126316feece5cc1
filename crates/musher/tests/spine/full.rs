//! Full disks: the agent waits, the view says why, nothing acknowledged is lost, and all goes on when there is room.

use std::time::{Duration, Instant};

use musher_core::EventKind;
use musher_runtime::MARK;
use rustix::process::{Pid, Signal};
use serde_json::{Value as Json, json};

use crate::inject::{self, Inject, thread_named};
use crate::rig::{PATIENCE, Project, Server, runner_pid};

/// Waits until an agent has fallen silent, because nobody reads what it says.
async fn until_silent(project: &Project) -> u64 {
    let began = Instant::now();
    let (mut spoken, mut since) = (project.spoken(), Instant::now());
    while since.elapsed() < Duration::from_millis(700) {
        assert!(began.elapsed() < PATIENCE, "the agent was never paused");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = project.spoken();
        if now != spoken {
            (spoken, since) = (now, Instant::now());
        }
    }
    spoken
}

/// Waits until an agent speaks again, which must be soon.
async fn until_speaking(project: &Project, silent_at: u64) {
    let began = Instant::now();
    while project.spoken() == silent_at {
        assert!(began.elapsed() < Duration::from_secs(5), "the agent does not go on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a run says that it waits for room on the disk.
fn says_full(view: &Json) -> bool {
    view["note"].as_str().is_some_and(|note| note.contains("the disk is full; free some space"))
}

/// Sends a signal to the agent of a run and to whatever it has started.
fn signal(project: &Project, run: &str, signal: Signal) {
    let spec = musher::runner::spec::RunSpec::read(&project.run_folder(run)).unwrap();
    let agents = musher_testkit::proc::marked(&format!("{MARK}={}", spec.mark));
    assert!(!agents.is_empty(), "the agent of {run} is gone");
    for agent in agents {
        rustix::process::kill_process(Pid::from_raw(agent).unwrap(), signal).unwrap();
    }
}

/// Adds stories until the disk takes no more, and gives them.
async fn refused_for_lack_of_room(server: &Server) -> Vec<String> {
    let mut added = Vec::new();
    let began = Instant::now();
    // The journal has room in its last page yet.
    let problem = loop {
        assert!(began.elapsed() < PATIENCE, "a full disk takes everything");
        let story = json!({ "title": format!("Story {}", added.len()) });
        match server.try_post("/stories", &story).await.unwrap() {
            (201, reply) => added.push(reply["story"].as_str().unwrap().to_owned()),
            (507, problem) => break problem,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(problem["code"], "no_room", "{problem:#}");
    assert!(problem["detail"].as_str().unwrap().contains("journal.db"), "{problem:#}");
    added
}

#[tokio::test]
async fn promise_9_a_full_disk_pauses_the_agent_says_so_and_goes_on_by_itself_when_there_is_room() {
    let mut project = Project::of_workers();
    if !project.state_on_small_disk("size=24m") {
        return;
    }
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=3000 size=1000]]").await;
    server.until(&run, |_| project.spoken() > 50).await;
    project.fill_disk();
    server.until(&run, says_full).await;
    let silent_at = until_silent(&project).await;
    assert!(silent_at < 3000);
    project.make_room();
    until_speaking(&project, silent_at).await;
    let over = server.until_over(&run).await;
    assert_eq!((&over["outcome"], &over["note"]), (&json!("completed"), &json!(null)));
    project.whole(&run, 3000);
    assert_eq!(project.worker_file("starts").lines().count(), 1);
}

#[tokio::test]
async fn promise_9_on_a_full_disk_commands_are_refused_and_views_go_on_until_there_is_room() {
    let mut project = Project::of_workers();
    if !project.state_on_small_disk("size=24m") {
        return;
    }
    let server = project.serve().await;
    let (_, working) = server.begin("[[work lines=20 every_ms=50]]").await;
    let (_, asking) = server.begin("[[work ask=make lines=2]]").await;
    let ask = server.until_ask(&asking).await;
    server.until(&working, |_| project.spoken() > 1).await;
    // It is held up while things are tried on the full disk: a run that ends gives room back.
    signal(&project, &working, Signal::STOP);
    project.fill_disk();
    let added = refused_for_lack_of_room(&server).await;
    let yes = json!({ "answer": { "decision": "allow" } });
    let answer = format!("/runs/{asking}/asks/{ask}/answer");
    assert_eq!(server.try_post(&answer, &yes).await.unwrap().0, 507);
    assert_eq!(server.until_ask(&asking).await, ask, "the ask is still open");
    assert!(server.stories().await.ends_with(&["s1".to_owned()]));
    signal(&project, &working, Signal::CONT);
    // The run ends while the pool cannot write that down; nothing of it is forgotten.
    let began = Instant::now();
    while project.spoken() < 20 {
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    project.make_room();
    let over = server.until_over(&working).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    assert_eq!(server.post(&answer, &yes).await["status"], "sent");
    assert_eq!(server.until_over(&asking).await["outcome"], "completed");
    server.post("/stories", &json!({ "title": "After" })).await;
    server.kill();
    let server = project.serve().await;
    let kept = server.stories().await;
    assert!(added.iter().all(|story| kept.contains(story)), "{added:?} {kept:?}");
    assert_eq!(kept.len(), 2 + added.len() + 1);
    project.whole(&working, 20);
    project.whole(&asking, 2);
}

#[tokio::test]
async fn promise_9_a_run_can_be_stopped_and_killed_on_a_full_disk() {
    let mut project = Project::of_workers();
    if !project.state_on_small_disk("size=24m") {
        return;
    }
    let server = project.serve().await;
    let mut runs = Vec::new();
    for _ in ["stop", "kill"] {
        runs.push(server.begin("[[work lines=30000 size=1000]]").await.1);
    }
    server.until(&runs[1], |_| project.said(&runs[1]).len() > 50).await;
    server.until(&runs[0], |_| project.said(&runs[0]).len() > 50).await;
    project.fill_disk();
    for run in &runs {
        server.until(run, says_full).await;
    }
    refused_for_lack_of_room(&server).await;
    let began = Instant::now();
    for (run, verb) in runs.iter().zip(["stop", "kill"]) {
        let (status, reply) =
            server.try_post(&format!("/runs/{run}/{verb}"), &json!({})).await.unwrap();
        assert!(status < 300, "{verb}: {status} {reply:#}");
    }
    for run in &runs {
        let over = server.until_over(run).await;
        assert_eq!(over["outcome"], "stopped", "{over:#}");
        project.gapless(run);
        let said = project.said(run);
        assert_eq!(said, (1..=said.len() as u64).collect::<Vec<_>>(), "{run}");
        let cut = project.events(run).into_iter().any(|event| {
            matches!(event.kind, EventKind::Notice { code: Some(code), .. } if code == "cut_short")
        });
        assert!(cut, "{run} does not say that its last words are missing");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(project.left(), Vec::<i32>::new());
    project.make_room();
    server.post("/stories", &json!({ "title": "After" })).await;
}

#[tokio::test]
async fn promise_9_a_server_that_is_killed_on_a_full_disk_goes_on_when_there_is_room() {
    let mut project = Project::of_workers();
    if !project.state_on_small_disk("size=24m") {
        return;
    }
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=3000 size=1000]]").await;
    server.until(&run, |_| project.spoken() > 50).await;
    project.fill_disk();
    server.until(&run, says_full).await;
    server.kill();
    // It starts if it can, and says why if it cannot.
    match project.serve_with(&[]).await {
        Some(server) => {
            server.until(&run, says_full).await;
            server.kill();
        }
        None => {
            let said = std::fs::read_to_string(project.server_log()).unwrap();
            assert!(said.contains("room") || said.contains("space"), "{said}");
        }
    }
    project.make_room();
    let server = project.serve().await;
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    project.whole(&run, 3000);
}

#[tokio::test]
async fn promise_9_a_disk_without_names_left_refuses_new_runs_and_lets_old_ones_end() {
    let mut project = Project::of_workers();
    if !project.state_on_small_disk("size=24m,nr_inodes=300") {
        return;
    }
    let server = project.serve().await;
    let (_, old) = server.begin("[[work ask=make lines=2]]").await;
    let ask = server.until_ask(&old).await;
    project.fill_names();
    let (story, new) = server.begin("[[work lines=2]]").await;
    let failed = server.until_over(&new).await;
    assert_eq!(failed["outcome"], "failed", "{failed:#}");
    let why = failed["error"]["message"].as_str().unwrap();
    assert!(why.contains("No space left on device"), "{why}");
    assert!(!project.run_folder(&new).exists(), "nothing half-made is left");
    let yes = json!({ "answer": { "decision": "allow" } });
    server.post(&format!("/runs/{old}/asks/{ask}/answer"), &yes).await;
    assert_eq!(server.until_over(&old).await["outcome"], "completed");
    project.make_room();
    let again = server.post(&format!("/stories/{story}/start"), &json!({})).await;
    let again = again["run"].as_str().unwrap().to_owned();
    let over = server.until_over(&again).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    project.whole(&old, 2);
    project.whole(&again, 2);
}

#[tokio::test]
async fn promise_9_writes_that_find_no_room_lose_nothing_in_runner_and_server() {
    if !inject::possible() {
        return;
    }
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=400 every_ms=2]]").await;
    server.until(&run, |_| project.spoken() > 5).await;
    let runner = runner_pid(&project.run_folder(&run)).unwrap();
    let rule = "pwrite64:error=ENOSPC:when=1..200";
    let full = Inject::into_thread(runner, &[rule]);
    server.until(&run, says_full).await;
    let pool = thread_named(server.pid(), "pool");
    let journal = Inject::into_thread(pool, &[rule]);
    let (status, problem) =
        server.try_post("/stories", &json!({ "title": "Later" })).await.unwrap();
    assert_eq!((status, &problem["code"]), (507, &json!("no_room")), "{problem:#}");
    drop(journal);
    server.post("/stories", &json!({ "title": "Now" })).await;
    drop(full);
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    project.whole(&run, 400);
}
