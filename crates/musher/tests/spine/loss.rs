//! Kills of runners: what they started is gone, what they wrote is kept, and the run is taken up again, up to a point.

use std::time::{Duration, Instant};

use musher::runner::log::{Lock, Writer};
use serde_json::json;

use crate::rig::{PATIENCE, Project, kill_runner};

#[tokio::test]
async fn promise_2_a_killed_runner_takes_its_tree_along_within_two_seconds_and_its_session_goes_on()
{
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server
        .begin("[[work spawn=setsid spawn=daemon lines=2 ask=\"make all\" lines=3 write=made.txt text=done]]")
        .await;
    server.until_ask(&run).await;
    assert!(project.left().len() >= 3, "{:?}", project.left());
    let mark = musher::runner::spec::RunSpec::read(&project.run_folder(&run)).unwrap().mark;
    let mark = format!("{}={mark}", musher_runtime::MARK);
    kill_runner(&project.run_folder(&run)).unwrap();
    let began = Instant::now();
    while !musher_testkit::proc::marked(&mark).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(2), "its tree outlives it");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let lost = server.until_over(&run).await;
    assert_eq!(lost["outcome"], "lost");
    assert_eq!(lost["open_asks"], 0, "{lost:#}");
    // The pool takes it up again, with the session that was lost.
    let again = server.until("r2", |view| view["phase"] != "queued").await;
    assert_eq!((&again["kind"], &again["of"]), (&json!("restart"), &json!(run)), "{again:#}");
    let over = server.until_over("r2").await;
    assert_eq!((&over["outcome"], &over["session"]), (&json!("completed"), &lost["session"]));
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_2_a_runner_that_died_while_no_server_ran_is_found_by_the_next_one() {
    let project = Project::of_hanging_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work spawn=daemon hang=1]]").await;
    server.until_live(&run).await;
    while project.left().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.kill();
    kill_runner(&project.run_folder(&run)).unwrap();
    let server = project.serve().await;
    assert_eq!(server.until_over(&run).await["outcome"], "lost");
    server.post("/runs/r2/kill", &json!({})).await;
    server.until_over("r2").await;
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_7_a_run_that_is_lost_again_and_again_waits_for_a_person() {
    let project = Project::of_hanging_workers();
    let server = project.serve().await;
    server.begin("[[work hang=1]]").await;
    for n in 1..=4 {
        let run = format!("r{n}");
        let began = Instant::now();
        while server.try_get(&format!("/runs/{run}")).await.unwrap().1["phase"] != "live" {
            assert!(began.elapsed() < PATIENCE, "{run} never lived");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        kill_runner(&project.run_folder(&run)).unwrap();
        assert_eq!(server.until_over(&run).await["outcome"], "lost");
    }
    // Three restarts were enough; the fourth loss is brought to a person.
    let ask = server.until_ask("r4").await;
    assert_eq!(ask, "restart");
    assert_eq!(server.try_get("/runs/r5").await.unwrap().0, 404);
    drop(server);
    let server = project.serve().await;
    assert_eq!(server.until_ask("r4").await, "restart", "it waits across a restart too");
    let yes = json!({ "answer": { "decision": "allow" } });
    server.post("/runs/r4/asks/restart/answer", &yes).await;
    server.until_live("r5").await;
    server.post("/runs/r5/kill", &json!({})).await;
    assert_eq!(server.until_over("r5").await["outcome"], "stopped");
}

#[tokio::test]
async fn promise_2_a_runner_that_died_before_its_first_word_is_lost_and_its_run_is_taken_up_again()
{
    for left in ["a log without events", "a torn log"] {
        let project = Project::of_workers();
        let server = project.serve_with(&["--die-at", "before_spawn"]).await.unwrap();
        let text = "[[work lines=1]]";
        let story = server.post("/stories", &json!({ "title": "Work", "text": text })).await;
        let start = format!("/stories/{}/start", story["story"].as_str().unwrap());
        let _cut_off = server.try_post(&start, &json!({})).await;
        server.until_dead();
        let folder = project.run_folder("r1");
        match left {
            "a torn log" => std::fs::write(folder.join("events-00000001.jsonl"), "").unwrap(),
            _ => drop(Writer::create(Lock::take(&folder).unwrap(), "r1").unwrap()),
        }
        let server = project.serve().await;
        let lost = server.until_over("r1").await;
        assert_eq!(lost["outcome"], "lost", "{left}: {lost:#}");
        assert_eq!(project.gapless("r1"), 1);
        let over = server.until_over("r2").await;
        assert_eq!((&over["kind"], &over["outcome"]), (&json!("restart"), &json!("completed")));
    }
}
