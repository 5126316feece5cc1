//! Whose runs are whose: journals that were rolled back or replaced, state directories that were copied, moved or deleted.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use musher::runner::spec::RunSpec;
use musher_core::Event;
use musher_testkit::proc;
use serde_json::{Value as Json, json};

use crate::rig::{Project, Server, runner_pid};

/// How many agents were ever started.
fn agents(project: &Project) -> usize {
    project.worker_file("starts").lines().count()
}

/// Spoils one byte of the journal's log, near its beginning.
fn spoil_log(state: &Path) {
    let log = std::fs::File::options().read(true).write(true).open(state.join("journal.db-wal"));
    let log = log.unwrap();
    let mut byte = [0];
    log.read_exact_at(&mut byte, 100).unwrap();
    log.write_all_at(&[byte[0] ^ 0x40], 100).unwrap();
}

async fn check_named(server: &Server, name: &str) -> Option<Json> {
    let checks = server.get("/checks").await;
    checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).cloned()
}

/// Waits until the agent of a run and its relatives are at work.
async fn at_work(project: &Project, server: &Server, run: &str) {
    server.until_live(run).await;
    // The process between the agent and what it leaves behind is gone when the agent says so.
    let said = |event: &Event| serde_json::to_string(event).unwrap().contains("spawned ");
    while !project.events(run).iter().any(said) || project.left().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_journal_that_lost_its_end_to_one_bad_byte_says_so_and_gives_no_number_again() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    server.kill();
    // This one moves what there is from the log into the journal.
    let server = project.serve().await;
    assert_eq!(server.notices, Vec::<String>::new(), "nothing is missing yet");
    let (story, lost) = server.begin("[[work spawn=daemon hang=1]]").await;
    assert_eq!((story.as_str(), lost.as_str()), ("s2", "r2"));
    at_work(&project, &server, &lost).await;
    server.kill();
    spoil_log(&project.state());
    let server = project.serve().await;
    let said = server.notices.join("\n");
    assert!(said.contains("lost its end") && said.contains("facts"), "{said}");
    assert!(said.contains("Run r2 (story s2, agent worker)") && said.contains("stopped"), "{said}");
    assert_eq!(project.left(), Vec::<i32>::new(), "nobody would have known of them");
    assert!(project.run_folder(&lost).join("outcome.json").exists(), "its log has an end");
    let check = check_named(&server, "journal").await.expect("doctor and the API tell of it");
    assert!(check["detail"].as_str().unwrap().contains("lost its end"), "{check:#}");
    let before = agents(&project);
    let (story, run) = server.begin("[[work lines=2 write=made.txt text=done]]").await;
    assert_eq!((story.as_str(), run.as_str()), ("s3", "r3"), "no number is given again");
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    assert_eq!(agents(&project), before + 1, "by an agent of its own");
    project.whole(&run, 2);
    drop(server);
    assert_eq!(project.serve().await.notices, Vec::<String>::new(), "it is said once");
}

#[tokio::test]
async fn a_journal_that_was_replaced_gives_no_number_again_and_adopts_no_old_folder() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    let (_, live) = server.begin("[[work spawn=daemon hang=1]]").await;
    at_work(&project, &server, &live).await;
    server.kill();
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        std::fs::remove_file(project.state().join(file)).unwrap();
    }
    let server = project.serve().await;
    let said = server.notices.join("\n");
    assert!(said.contains("not the journal that was here"), "{said}");
    assert!(said.contains("Run r2") && said.contains("stopped"), "{said}");
    assert_eq!(project.left(), Vec::<i32>::new());
    let before = agents(&project);
    let (_, run) = server.begin("[[work lines=1]]").await;
    assert_eq!(run, "r3");
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    assert_eq!(agents(&project), before + 1);
}

#[tokio::test]
async fn a_lost_journal_is_told_by_the_api_until_a_person_acknowledges_it() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    assert_eq!(server.get("/notices").await, json!({ "notices": [] }));
    server.kill();
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        std::fs::remove_file(project.state().join(file)).unwrap();
    }
    drop(project.serve().await);
    let server = project.serve().await;
    let told = server.get("/notices").await;
    let notices = told["notices"].as_array().unwrap();
    assert!(told.to_string().contains("not the journal that was here"), "{told:#}");
    let newest = notices.last().unwrap()["at"].as_i64().unwrap();
    // What was found after the page was read is not acknowledged with it.
    let early = json!({ "through": newest - 1 });
    assert_eq!(server.try_post("/notices/acknowledge", &early).await.unwrap().0, 200);
    assert_eq!(server.get("/notices").await, told);
    let all = json!({ "through": newest });
    assert_eq!(server.try_post("/notices/acknowledge", &all).await.unwrap().0, 200);
    assert_eq!(server.get("/notices").await, json!({ "notices": [] }));
    assert_eq!(check_named(&server, "journal").await, None, "nothing is left to be said");
    let kept = std::fs::read_to_string(project.state().join("notices-read.jsonl")).unwrap();
    assert!(kept.contains("not the journal that was here"), "{kept}");
    drop(server);
    let again = project.serve().await.get("/notices").await;
    assert_eq!(again, json!({ "notices": [] }), "what was read is not told again");
}

#[tokio::test]
async fn a_begun_folder_is_never_adopted_by_another_run() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=1]]").await;
    server.until_over(&run).await;
    // As a backup puts it back behind a server's back: a finished run in the place of one that is to come.
    let (from, to) = (project.run_folder("r1"), project.run_folder("r2"));
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    let (_, run) = server.begin("[[work lines=3]]").await;
    assert_eq!(run, "r2");
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    assert_eq!(agents(&project), 2, "it has an agent of its own");
    project.whole(&run, 3);
    let aside = project.runs().into_iter().find(|run| run.to_string_lossy().contains("of-another"));
    assert!(aside.is_some_and(|aside| aside.join("outcome.json").exists()), "nothing is deleted");
    let check = check_named(&server, "journal").await.unwrap();
    assert!(check["detail"].as_str().unwrap().contains("another run"), "{check:#}");
}

/// Starts a server on another state directory of the same project.
fn serve_on(project: &Project, state: &Path, more: &[&str]) -> Option<Server> {
    let state = state.display().to_string();
    let mut args = vec!["serve", "--json", "--listen", "127.0.0.1:0", "--state", &state];
    args.extend(more);
    project.start(project.musher(&args))
}

fn copy_of(project: &Project) -> PathBuf {
    let copy = project.top().join("copy");
    // Files that live for a moment may be gone when their turn comes.
    let _some_gone = Command::new("cp").arg("-a").arg(project.state()).arg(&copy).output().unwrap();
    assert!(copy.join("journal.db").exists() && copy.join("runs/r1/spec.json").exists());
    copy
}

#[tokio::test]
async fn a_server_on_a_copied_state_folder_stops_and_the_originals_agents_work_on() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work spawn=daemon hang=1]]").await;
    at_work(&project, &server, &run).await;
    let agents = project.left();
    let copy = copy_of(&project);
    assert!(serve_on(&project, &copy, &[]).is_none(), "a copy is not served");
    let said = std::fs::read_to_string(project.server_log()).unwrap();
    assert!(said.contains("is a copy") && said.contains("--moved"), "{said}");
    assert!(agents.iter().all(|pid| proc::alive(*pid)), "{agents:?}");
    // Whoever means it takes the copy over, and still touches nobody.
    let other = serve_on(&project, &copy, &["--moved"]).expect("it is taken over");
    assert!(other.notices.join("\n").contains("new id"), "{:?}", other.notices);
    let over = other.until_over(&run).await;
    assert_eq!(over["outcome"], "lost", "{over:#}");
    assert!(over["error"]["message"].as_str().unwrap().contains("left alone"), "{over:#}");
    assert!(agents.iter().all(|pid| proc::alive(*pid)), "{agents:?}");
    assert_eq!(other.try_get("/runs/r2").await.unwrap().0, 404, "it is not started again");
    let (_, own) = other.begin("[[work spawn=daemon hang=1]]").await;
    other.until_live(&own).await;
    other.post(&format!("/runs/{own}/kill"), &json!({})).await;
    assert_eq!(other.until_over(&own).await["outcome"], "stopped");
    assert!(agents.iter().all(|pid| proc::alive(*pid)), "{agents:?}");
    drop(other);
    // It is at home there from now on.
    drop(serve_on(&project, &copy, &[]).expect("it was taken over for good"));
    assert_eq!(server.run(&run).await["phase"], "live");
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    assert_eq!(server.until_over(&run).await["outcome"], "stopped");
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn a_deleted_state_folder_acknowledges_nothing_and_stops_the_server() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let story = json!({ "title": "Work", "text": "later" });
    server.post("/stories", &story).await;
    std::fs::remove_dir_all(project.state()).unwrap();
    let reply = server.try_post("/stories", &story).await;
    assert!(!matches!(reply, Ok((..300, _))), "{reply:?}");
    assert!(!server.until_dead().success());
    let said = std::fs::read_to_string(project.server_log()).unwrap();
    assert!(said.contains("journal.db") && said.contains("deleted, moved or replaced"), "{said}");
}

#[tokio::test]
async fn a_state_folder_that_is_moved_away_stops_a_server_that_has_nothing_to_do() {
    let project = Project::of_workers();
    let server = project.serve().await;
    std::fs::rename(project.state(), project.top().join("away")).unwrap();
    assert!(!server.until_dead().success());
    std::fs::rename(project.top().join("away"), project.state()).unwrap();
    let server = project.serve().await;
    assert_eq!(server.notices, Vec::<String>::new(), "it is the same folder, and all is there");
}

/// Makes the files of a live run and its journal as builds before the ids of journals wrote them.
fn grow_old(project: &Project, run: &str) {
    let journal = rusqlite::Connection::open(project.state().join("journal.db")).unwrap();
    journal.execute_batch("DROP TABLE identity").unwrap();
    let sql =
        "UPDATE facts SET body = json_remove(body, '$.nonce') WHERE body ->> '$.nonce' IS NOT NULL";
    assert!(journal.execute(sql, []).unwrap() > 0);
    std::fs::remove_file(project.state().join("journal.mark")).unwrap();
    let file = project.run_folder(run).join("spec.json");
    let mut spec: Json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let fields = spec.as_object_mut().unwrap();
    assert!(fields.remove("journal").is_some() && fields.remove("nonce").is_some());
    std::fs::write(&file, spec.to_string()).unwrap();
}

#[tokio::test]
async fn promise_29_a_state_folder_of_an_older_build_is_taken_over_in_place_with_its_live_runs() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work spawn=daemon hang=1]]").await;
    at_work(&project, &server, &run).await;
    let runner = runner_pid(&project.run_folder(&run));
    server.kill();
    grow_old(&project, &run);
    let server = project.serve().await;
    assert_eq!(server.notices, Vec::<String>::new());
    server.until_live(&run).await;
    assert_eq!(runner_pid(&project.run_folder(&run)), runner);
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    assert_eq!(server.until_over(&run).await["outcome"], "stopped");
    assert_eq!(project.left(), Vec::<i32>::new());
    let (_, next) = server.begin("[[work lines=1]]").await;
    server.until_over(&next).await;
    let spec = RunSpec::read(&project.run_folder(&next)).unwrap();
    assert!(spec.journal.is_some() && spec.nonce.is_some(), "{spec:?}");
    assert!(spec.mark.starts_with(&spec.journal.unwrap()[..16]), "{}", spec.mark);
    assert!(spec.mark.ends_with(&spec.nonce.unwrap()), "{}", spec.mark);
}
