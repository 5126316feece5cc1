//! What happens to the files of a run behind everybody's back: the run ends all the same, and nothing waits for ever.

use std::time::Duration;

use musher_log::{Lock, Writer};
use serde_json::json;

use crate::rig::{Project, WORKERS, kill_runner};

#[tokio::test]
async fn a_runner_that_could_not_be_reached_is_reached_again_while_its_agent_keeps_talking() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=6000 every_ms=20]]").await;
    server.until_live(&run).await;
    server.kill();
    let (door, away) = (project.run_folder(&run).join("s"), project.run_folder(&run).join("away"));
    std::fs::rename(&door, &away).unwrap();
    let server = project.serve().await;
    let before = project.events(&run).len();
    while project.events(&run).len() < before + 20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    std::fs::rename(&away, &door).unwrap();
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    assert_eq!(server.until_over(&run).await["outcome"], "stopped");
}

#[tokio::test]
async fn a_runner_that_died_before_its_first_event_is_lost_and_its_run_is_taken_up_again() {
    let project = Project::of_workers();
    let server = project.serve_with(&["--die-at", "before_spawn"]).await.unwrap();
    let story = json!({ "title": "Work", "text": "[[work lines=1]]" });
    let story = server.post("/stories", &story).await["story"].as_str().unwrap().to_owned();
    // The server may die before it replies.
    let _cut_off = server.try_post(&format!("/stories/{story}/start"), &json!({})).await;
    server.until_dead();
    let lock = Lock::take(&project.run_folder("r1")).unwrap();
    drop(Writer::create(lock, "r1").unwrap());
    let server = project.serve().await;
    let lost = server.until_over("r1").await;
    assert_eq!(lost["outcome"], "lost", "{lost:#}");
    assert_eq!(server.until_over("r2").await["outcome"], "completed");
}

#[tokio::test]
async fn an_attendant_that_breaks_is_begun_again_and_nothing_on_its_way_is_lost() {
    for point in ["before_heard", "after_deliver"] {
        let project = Project::of_workers();
        let server = project.serve_with(&["--break-at", point]).await.unwrap();
        let (_, run) = server.begin("[[work ask=make lines=1]]").await;
        let ask = server.until_ask(&run).await;
        let yes = json!({ "answer": { "decision": "allow" } });
        let reply = server.post(&format!("/runs/{run}/asks/{ask}/answer"), &yes).await;
        assert_eq!(reply["status"], "sent", "{point}: {reply:#}");
        let over = server.until_over(&run).await;
        assert_eq!((&over["outcome"], &over["note"]), (&json!("completed"), &json!(null)));
        assert_eq!(project.worker_file("effects").lines().count(), 1, "{point}");
        let said = std::fs::read_to_string(project.server_log()).unwrap();
        assert!(said.contains(&format!("broken at {point}")), "{said}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_back_is_not_on_its_way_for_ever() {
    let project = Project::new(&WORKERS.replace("runs = 64", "runs = 1"));
    let server = project.serve().await;
    let (_, first) = server.begin("[[work ask=wait]]").await;
    let ask = server.until_ask(&first).await;
    let (_, second) = server.begin("[[work ask=more]]").await;
    let yes = json!({ "answer": { "decision": "allow" } });
    let prompt = format!("/runs/{second}/prompt");
    let prompt = async { server.try_post(&prompt, &json!({ "text": "secret" })).await.unwrap() };
    let erase = async {
        let journal = rusqlite::Connection::open(project.state().join("journal.db")).unwrap();
        let erase = || journal.execute("DELETE FROM texts WHERE body = 'secret'", []).unwrap();
        server.until(&second, |_| erase() == 1).await;
        server.post(&format!("/runs/{first}/asks/{ask}/answer"), &yes).await;
    };
    let ((status, problem), ()) = tokio::join!(prompt, erase);
    assert_eq!((status, &problem["code"]), (409, &json!("undelivered")), "{problem:#}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("its text was erased"), "{detail}");
    let ask = server.until_ask(&second).await;
    server.post(&format!("/runs/{second}/asks/{ask}/answer"), &yes).await;
    assert_eq!(server.until_over(&second).await["outcome"], "completed");
}

/// A server that finds the run of an agent that never ends dead, after something was done to the run's folder.
async fn found_dead(harm: impl FnOnce(&std::path::Path)) {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=3 hang=1]]").await;
    server.until(&run, |view| view["session"].is_string()).await;
    server.kill();
    let folder = project.run_folder(&run);
    let spec = musher::runner::spec::RunSpec::read(&folder).unwrap();
    kill_runner(&folder).unwrap();
    musher_runtime::sweep(&spec.mark, spec.group.as_deref());
    harm(&folder);
    let server = project.serve().await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "lost", "{over:#}");
    // It is taken up again, and may be over before it is told to end.
    server.until("r2", |view| view["phase"] != "queued").await;
    let _over = server.try_post("/runs/r2/kill", &json!({})).await;
    assert_eq!(server.until_over("r2").await["kind"], "restart");
}

#[tokio::test]
async fn a_dead_run_whose_folder_was_deleted_is_lost_and_does_not_wait_for_ever() {
    found_dead(|folder| std::fs::remove_dir_all(folder).unwrap()).await;
}

#[tokio::test]
async fn a_dead_run_whose_outcome_cannot_be_read_is_lost_and_does_not_wait_for_ever() {
    found_dead(|folder| std::fs::write(folder.join("outcome.json"), "{").unwrap()).await;
}

#[tokio::test]
async fn a_dead_run_whose_log_has_lost_what_was_heard_of_it_still_has_an_end() {
    // As after a loss of power: the facts were synced, the events were not.
    let forget = |folder: &std::path::Path| {
        std::fs::remove_file(folder.join("head")).unwrap();
        let log = folder.join("events-00000001.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        let first = text.lines().next().unwrap();
        std::fs::write(&log, format!("{first}\n")).unwrap();
    };
    found_dead(forget).await;
}

#[tokio::test]
async fn a_dead_run_whose_log_is_damaged_is_lost_and_does_not_wait_for_ever() {
    let damage = |folder: &std::path::Path| {
        let log = folder.join("events-00000001.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        // A later segment whose numbers do not follow on.
        let header = text.lines().next().unwrap().replace("\"first\":1", "\"first\":900");
        std::fs::write(folder.join("events-00000900.jsonl"), format!("{header}\n")).unwrap();
    };
    found_dead(damage).await;
}

#[tokio::test]
async fn a_runner_of_a_newer_musher_is_told_to_end_and_nothing_else() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=1 hang=1]]").await;
    server.until(&run, |view| view["session"].is_string()).await;
    server.kill();
    let folder = project.run_folder(&run);
    std::fs::rename(folder.join("s"), folder.join("away")).unwrap();
    let listener = tokio::net::UnixListener::bind(folder.join("s")).unwrap();
    let newer = async {
        let (stream, _) = listener.accept().await.unwrap();
        let (read, mut write) = stream.into_split();
        let hello = json!({ "type": "hello", "protocol": 99, "run": run, "pid": 1 });
        write.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
        let line = BufReader::new(read).lines().next_line().await.unwrap().unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        let reply = json!({ "type": "reply", "id": told["id"] });
        write.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
        told
    };
    let asking = async {
        let server = project.serve().await;
        let steer = json!({ "text": "Go left." });
        let refused = server.try_post(&format!("/runs/{run}/steer"), &steer).await.unwrap();
        let kill = server.try_post(&format!("/runs/{run}/kill"), &json!({})).await.unwrap();
        (server, refused, kill)
    };
    let (told, (server, refused, killed)) = tokio::join!(newer, asking);
    assert_eq!(killed.0, 200, "{killed:?}");
    assert_eq!(told["command"]["verb"], "kill", "{told:#}");
    assert!(refused.0 >= 400, "{refused:?}");
    assert!(refused.1.to_string().contains("newer"), "{refused:?}");
    drop(listener);
    kill_runner(&folder).unwrap();
    server.until_over(&run).await;
}

#[tokio::test]
async fn promise_5_a_start_that_fails_before_its_runner_leaves_no_folder_behind() {
    let project = Project::of_workers();
    let server = project.serve_with(&["--die-at", "after_prepare"]).await.unwrap();
    let story = json!({ "title": "Work", "text": "[[work lines=1]]" });
    let story = server.post("/stories", &story).await["story"].as_str().unwrap().to_owned();
    // The server may die before it replies.
    let _cut_off = server.try_post(&format!("/stories/{story}/start"), &json!({})).await;
    server.until_dead();
    let server = project.serve_with(&["--die-at", "before_spawn"]).await.unwrap();
    server.until_dead();
    // The agent is on the team no more when the run is to be started.
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("'worker'", "'other'");
    std::fs::write(&file, text).unwrap();
    let server = project.serve().await;
    assert_eq!(server.until_over("r1").await["outcome"], "failed");
    assert_eq!(project.runs(), Vec::<std::path::PathBuf>::new());
}

/// Cuts what is written of a run's log, as a person or an agent with a shell can.
fn cut_log(folder: &std::path::Path) {
    let log = std::fs::File::options().write(true).open(folder.join("events-00000001.jsonl"));
    let log = log.unwrap();
    log.set_len(log.metadata().unwrap().len() / 2).unwrap();
}

#[tokio::test]
async fn a_live_log_that_was_cut_ends_its_run_which_is_never_told_as_completed() {
    for restart in [false, true] {
        let project = Project::new(
            &WORKERS.replace("[limits]", "continue_prompt = '[[work hang=1]]'\n[limits]"),
        );
        let server = project.serve().await;
        let (_, run) = server.begin("[[work lines=20 ask=go lines=5]]").await;
        let ask = server.until_ask(&run).await;
        cut_log(&project.run_folder(&run));
        let server = match restart {
            true => {
                server.kill();
                project.serve().await
            }
            false => server,
        };
        let yes = json!({ "answer": { "decision": "allow" } });
        // Its runner finds that it cannot keep what comes next, so that nobody acknowledges this.
        let _unkept = server.try_post(&format!("/runs/{run}/asks/{ask}/answer"), &yes).await;
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "lost", "restart {restart}: {over:#}");
        assert!(over["error"]["message"].as_str().unwrap().contains("cut"), "{over:#}");
        project.gapless(&run);
        // It is taken up again, as every lost run is.
        server.until_live("r2").await;
        server.post("/runs/r2/kill", &json!({})).await;
        server.until_over("r2").await;
    }
}

#[tokio::test]
async fn a_log_that_was_cut_after_its_end_was_recorded_still_ends_its_run_as_it_ended() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let work = "[[work lines=20 every_ms=50 input=7 output=3 cost=0.5]]";
    let (_, run) = server.begin(work).await;
    server.until_live(&run).await;
    server.kill();
    let folder = project.run_folder(&run);
    while !folder.join("outcome.json").exists() || Lock::is_held(&folder).unwrap() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    cut_log(&folder);
    let server = project.serve().await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "its outcome is on the disk: {over:#}");
    project.gapless(&run);
    let told = serde_json::to_string(&project.events(&run)).unwrap();
    assert!(told.contains("log_cut"), "what is missing is said: {told}");
    let usage = server.get("/usage?by=run").await;
    assert_eq!(usage["rows"][0]["spent"]["input"], 7, "the bill is whole: {usage:#}");
    assert_eq!(usage["rows"][0]["spent"]["known_cost_usd"], 0.5, "{usage:#}");
}
