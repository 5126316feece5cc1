//! Kills of runners: what they started is gone, what they wrote is kept, and the run is taken up again, up to a point.

use std::time::{Duration, Instant};

use musher_log::{Lock, Writer};
use serde_json::json;

use crate::rig::{PATIENCE, Project, Server, WORKERS, kill_runner};

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

/// A project whose agents wait for a yes in the turn with which they go on.
fn waiting() -> Project {
    let waits = "continue_prompt = '[[work ask=go]]'\n[limits]";
    Project::new(&WORKERS.replace("[limits]", waits))
}

/// Begins a run in whose first turn two prompts wait, and gives them.
async fn with_prompts(server: &Server) -> [String; 2] {
    let (_, run) = server.begin("[[work ask=go]]").await;
    server.until_ask(&run).await;
    // The log would cut the second one.
    let texts = ["first".to_owned(), format!("long {}", "x".repeat(100 * 1024))];
    for text in &texts {
        let reply = server.post(&format!("/runs/{run}/prompt"), &json!({ "text": text })).await;
        assert_eq!(reply["status"], "sent", "{reply:#}");
    }
    texts
}

/// Lets a run go on, and checks that it says what waited, once and in order.
async fn says_once(project: &Project, server: &Server, run: &str, texts: [String; 2]) {
    let ask = server.until_ask(run).await;
    let yes = json!({ "answer": { "decision": "allow" } });
    server.post(&format!("/runs/{run}/asks/{ask}/answer"), &yes).await;
    let over = server.until_over(run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    let told = project.worker_file("told");
    let told = told.lines().map(|line| serde_json::from_str::<String>(line).unwrap());
    let said: Vec<String> = told.filter(|text| texts.contains(text)).collect();
    assert_eq!(said, texts);
}

#[tokio::test]
async fn a_prompt_that_waited_in_a_lost_run_is_said_once_in_the_run_that_takes_its_place() {
    for kills in [1, 2] {
        let project = waiting();
        let server = project.serve().await;
        let texts = with_prompts(&server).await;
        for n in 1..=kills {
            let run = format!("r{n}");
            server.until_ask(&run).await;
            kill_runner(&project.run_folder(&run)).unwrap();
            assert_eq!(server.until_over(&run).await["outcome"], "lost");
        }
        says_once(&project, &server, &format!("r{}", kills + 1), texts).await;
    }
}

#[tokio::test]
async fn a_prompt_is_handed_on_by_a_runner_that_died_before_its_first_word() {
    let project = waiting();
    let server = project.serve().await;
    let texts = with_prompts(&server).await;
    server.kill();
    kill_runner(&project.run_folder("r1")).unwrap();
    project.serve_with(&["--die-at", "before_spawn"]).await.unwrap().until_dead();
    let folder = project.run_folder("r2");
    drop(Writer::create(Lock::take(&folder).unwrap(), "r2").unwrap());
    let server = project.serve().await;
    assert_eq!(server.until_over("r2").await["outcome"], "lost");
    says_once(&project, &server, "r3", texts).await;
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

#[tokio::test]
async fn a_killed_step_of_a_script_is_not_played_again_and_what_was_not_approved_is_asked_again() {
    let agent = "[[agent]]\nname = 'player'\nruntime = 'script'\ncommand = '.musher/work.toml'\n";
    let project = Project::new(agent);
    let played = project.home().join("played");
    let steps = format!(
        "[[step]]\nrun = 'echo once >> {0}; sleep 300'\n[[step]]\napprove = 'go on'\n\
         [[step]]\nrun = 'echo after >> {0}'\n",
        played.display()
    );
    std::fs::write(project.repo().join(".musher/work.toml"), steps).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "script"]);
    let server = project.serve().await;
    let (_, run) = server.begin("go").await;
    let lines = || std::fs::read_to_string(&played).unwrap_or_default();
    while lines().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    kill_runner(&project.run_folder(&run)).unwrap();
    assert_eq!(server.until_over(&run).await["outcome"], "lost");
    server.until_ask("r2").await;
    assert_eq!(lines(), "once\n", "the step that was killed is not played again");
    let told = serde_json::to_string(&project.events("r2")).unwrap();
    assert!(told.contains("step_cut_short") && told.contains("step 1 was begun"), "{told}");
    kill_runner(&project.run_folder("r2")).unwrap();
    assert_eq!(server.until_over("r2").await["outcome"], "lost");
    let ask = server.until_ask("r3").await;
    assert_eq!(lines(), "once\n", "what nobody has approved is not done");
    let yes = json!({ "answer": { "decision": "allow" } });
    server.post(&format!("/runs/r3/asks/{ask}/answer"), &yes).await;
    assert_eq!(server.until_over("r3").await["outcome"], "completed");
    assert_eq!(lines(), "once\nafter\n");
}

#[tokio::test]
async fn a_script_whose_runner_was_killed_in_mid_turn_has_cost_what_it_said_and_nothing_unknown() {
    let agent = "[[agent]]\nname = 'player'\nruntime = 'script'\ncommand = '.musher/work.toml'\n";
    for (first, cost) in [("", "0"), ("[[step]]\nusage = { input = 7, cost_usd = 0.25 }\n", "0.25")]
    {
        let project = Project::new(agent);
        let begun = project.home().join("begun");
        let steps = format!("{first}[[step]]\nrun = 'touch {}; sleep 300'\n", begun.display());
        std::fs::write(project.repo().join(".musher/work.toml"), steps).unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "-qm", "script"]);
        let server = project.serve().await;
        let (_, run) = server.begin("go").await;
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        kill_runner(&project.run_folder(&run)).unwrap();
        let lost = server.until_over(&run).await;
        assert_eq!(lost["outcome"], "lost");
        let told = lost["spent"]["cost_usd"].to_string();
        assert_eq!(told.parse::<f64>().ok(), cost.parse::<f64>().ok(), "{lost:#}");
    }
}
