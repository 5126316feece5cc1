//! Disks that fail: what was acknowledged is there afterwards, and what could not be kept is never called kept.

use std::time::{Duration, Instant};

use musher_core::{ClosedBy, Event, EventKind};
use musher_log::{Lock, LogReader};
use musher_runtime::MARK;
use serde_json::{Value as Json, json};

use crate::dice::Dice;
use crate::disk::Mount;
use crate::inject::{self, Inject, thread_named};
use crate::rig::{PATIENCE, Project, Server, WORKERS, kill_runner, runner_pid};

/// What people have said to a run, as its log has it.
fn heard(project: &Project, run: &str) -> Vec<String> {
    let events = project.events(run).into_iter();
    let texts = events.filter_map(|event| match event.kind {
        EventKind::UserMessage { text, .. } => Some(text),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn promise_8_a_runner_whose_disk_fails_loses_its_run_and_nothing_that_it_acknowledged() {
    if !inject::possible() {
        return;
    }
    for fails_at in [1, 4] {
        let project = Project::of_workers();
        let server = project.serve().await;
        let (_, run) =
            server.begin("[[work spawn=setsid spawn=daemon lines=100000 every_ms=5]]").await;
        server.until_live(&run).await;
        server.until(&run, |_| project.spoken() > 3).await;
        let mark = musher::runner::spec::RunSpec::read(&project.run_folder(&run)).unwrap().mark;
        let mark = format!("{MARK}={mark}");
        assert!(musher_testkit::proc::marked(&mark).len() >= 3);
        let runner = runner_pid(&project.run_folder(&run)).unwrap();
        let rule = format!("fdatasync,fsync:error=EIO:when={fails_at}+");
        let _failing = Inject::into_thread(runner, &[&rule]);
        let mut sent = Vec::new();
        for n in 0.. {
            let text = format!("word {n}");
            let words = json!({ "text": text });
            let (status, reply) =
                server.try_post(&format!("/runs/{run}/steer"), &words).await.unwrap();
            match status {
                200 => sent.push(text),
                _ => {
                    assert_eq!(status, 409, "{reply:#}");
                    break;
                }
            }
        }
        let began = Instant::now();
        while !musher_testkit::proc::marked(&mark).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(2), "its tree outlives it");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "lost", "{over:#}");
        let why = over["error"]["message"].as_str().unwrap();
        assert!(why.contains("sync") && why.contains("events-00000001.jsonl"), "{why}");
        project.gapless(&run);
        let heard = heard(&project, &run);
        for text in &sent {
            assert_eq!(heard.iter().filter(|heard| *heard == text).count(), 1, "{text}");
        }
        let again = server.until("r2", |view| view["phase"] != "queued").await;
        assert_eq!((&again["kind"], &again["of"]), (&json!("restart"), &json!(run)));
        server.post("/runs/r2/kill", &json!({})).await;
        server.until_over("r2").await;
        assert_eq!(project.left(), Vec::<i32>::new());
    }
}

#[tokio::test]
async fn promise_8_a_journal_that_cannot_be_kept_stops_the_server_and_nothing_acknowledged_is_gone()
{
    if !inject::possible() {
        return;
    }
    for fails_at in [1, 5] {
        let project = Project::of_workers();
        let server = project.serve().await;
        let (_, run) = server.begin("[[work lines=100 every_ms=10]]").await;
        server.until_live(&run).await;
        let pool = thread_named(server.pid(), "pool");
        let rule = format!("fdatasync,fsync:error=EIO:when={fails_at}+");
        let _failing = Inject::into_thread(pool, &[&rule]);
        let mut added = Vec::new();
        for n in 0.. {
            let story = json!({ "title": format!("Story {n}") });
            match server.try_post("/stories", &story).await {
                Ok((201, reply)) => added.push(reply["story"].as_str().unwrap().to_owned()),
                Ok((status, problem)) => {
                    assert_eq!((status, &problem["code"]), (500, &json!("pool_broken")));
                    let detail = problem["detail"].as_str().unwrap();
                    assert!(detail.contains("journal.db"), "{detail}");
                    break;
                }
                Err(error) => panic!("the server must answer before it ends: {error}"),
            }
        }
        let status = server.until_dead();
        let said = std::fs::read_to_string(project.server_log()).unwrap();
        assert_eq!(status.code(), Some(6), "{said}");
        assert!(said.contains("journal.db"), "{said}");
        assert!(said.contains("start the server again"), "{said}");
        let server = project.serve().await;
        let kept = server.stories().await;
        for story in &added {
            assert!(kept.contains(story), "{story} is gone: {kept:?}");
        }
        assert_eq!(server.until_over(&run).await["outcome"], "completed");
        project.whole(&run, 100);
        server.post("/stories", &json!({ "title": "After" })).await;
    }
}

/// What was acknowledged before the power went.
#[derive(Default)]
struct Acknowledged {
    stories: Vec<String>,
    /// What was said to a run.
    words: Vec<(String, String)>,
    answers: Vec<(String, String)>,
    completed: Vec<String>,
    /// The events of each run that were said to be on the disk.
    events: Vec<(String, Vec<Event>)>,
}

impl Acknowledged {
    /// Keeps a server busy until the moment comes or it fails, and notes what it says is done.
    async fn busy(&mut self, server: &Server, talking: &str, asking: &str, moment: Duration) {
        let _cut_off =
            tokio::time::timeout(moment, self.busy_for_good(server, talking, asking)).await;
    }

    async fn busy_for_good(&mut self, server: &Server, talking: &str, asking: &str) -> Option<()> {
        for n in 0.. {
            let text = "[[work lines=2 write=made.txt text=done]]";
            let story = json!({ "title": format!("Story {n}"), "text": text });
            let reply = done(server, "/stories", &story).await?;
            let story = reply["story"].as_str().unwrap().to_owned();
            self.stories.push(story.clone());
            let words = format!("word {n}");
            done(server, &format!("/runs/{talking}/steer"), &json!({ "text": words })).await?;
            self.words.push((talking.to_owned(), words));
            if n % 4 == 0 {
                done(server, &format!("/stories/{story}/start"), &json!({})).await?;
            }
            let asks = server.try_get("/asks").await.ok()?.1;
            if let Some(ask) = asks["asks"][0]["ask"].as_str() {
                let yes = json!({ "answer": { "decision": "allow" } });
                done(server, &format!("/runs/{asking}/asks/{ask}/answer"), &yes).await?;
                self.answers.push((asking.to_owned(), ask.to_owned()));
            }
            let runs = server.try_get("/runs").await.ok()?.1;
            let runs = runs["runs"].as_array()?.iter();
            let over = runs.filter(|run| run["phase"] == "over" && run["outcome"] == "completed");
            self.completed = over.map(|run| run["id"].as_str().unwrap().to_owned()).collect();
        }
        None
    }

    /// Notes what every log says is on the disk.
    fn note_logs(&mut self, project: &Project) {
        for folder in project.runs() {
            let run = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let Ok(reader) = LogReader::open(&folder, None) else { continue };
            let synced = reader.head().unwrap().map_or(0, |head| head.synced);
            let events = project.events(&run).into_iter().take_while(|event| event.seq <= synced);
            self.events.push((run, events.collect()));
        }
    }

    /// Checks that every run comes to an end, and that nothing of all that is gone.
    async fn check(&self, project: &Project, server: &Server) {
        for (run, _) in &self.events {
            server.until_over(run).await;
            project.gapless(run);
            let last = project.events(run).pop().map(|event| event.kind);
            let view = server.run(run).await;
            assert!(matches!(last, Some(EventKind::SessionEnded(_))), "{last:?} {view:#}");
        }
        let stories = server.stories().await;
        for story in &self.stories {
            assert!(stories.contains(story), "story {story} is gone");
        }
        for (run, before) in &self.events {
            let after = project.events(run);
            assert!(
                after.starts_with(before),
                "{run}: {} events were synced, {} are there",
                before.len(),
                after.len()
            );
        }
        for (run, text) in &self.words {
            let times = heard(project, run).into_iter().filter(|heard| heard == text).count();
            assert_eq!(times, 1, "{run}: {text}");
        }
        for (run, ask) in &self.answers {
            let closed = |event: &Event| matches!(&event.kind, EventKind::AskClosed { ask: closed, by: ClosedBy::Person, .. } if closed.as_str() == ask);
            assert!(project.events(run).iter().any(closed), "{run}: {ask}");
        }
        for run in &self.completed {
            let view = server.run(run).await;
            assert_eq!(view["outcome"], "completed", "{view:#}");
            assert!(
                project
                    .events(run)
                    .iter()
                    .any(|event| matches!(event.kind, EventKind::SessionEnded(_))),
                "{run} has no end"
            );
            let branch = view["branch"].as_str().unwrap();
            assert_eq!(project.git(&["show", &format!("{branch}:made.txt")]).trim(), "done");
        }
        println!(
            "{} stories, {} words, {} answers, {} completed runs, {} logs",
            self.stories.len(),
            self.words.len(),
            self.answers.len(),
            self.completed.len(),
            self.events.len()
        );
    }
}

/// What a command was replied with, if it is done and not only under way.
async fn done(server: &Server, path: &str, body: &Json) -> Option<Json> {
    let (status, reply) = server.try_post(path, body).await.ok()?;
    matches!(status, 200 | 201).then_some(reply)
}

/// Starts a run that talks and one that asks.
async fn two_runs(project: &Project, server: &Server) -> (String, String) {
    let (_, talking) = server.begin("[[work lines=100000 every_ms=2]]").await;
    let asks = "ask=\"make\" lines=3 ".repeat(50);
    let (_, asking) = server.begin(&format!("[[work {asks}]]")).await;
    server.until(&talking, |_| !project.said(&talking).is_empty()).await;
    server.until_ask(&asking).await;
    (talking, asking)
}

#[tokio::test]
async fn promise_8_a_power_cut_takes_nothing_that_was_acknowledged() {
    let mut dice = Dice(20_261_116);
    for _ in 0..5 {
        let top = tempfile::tempdir().unwrap();
        let Some(disk) = Mount::image(top.path()) else {
            println!("no disk could be mounted; calls are made to fail instead");
            return;
        };
        let mut project = Project::on(top, disk, WORKERS);
        std::fs::create_dir(project.state()).unwrap();
        project.program_elsewhere();
        let server = project.serve().await;
        let (talking, asking) = two_runs(&project, &server).await;
        let mut acknowledged = Acknowledged::default();
        let moment = Duration::from_millis(150 + dice.roll(600));
        acknowledged.busy(&server, &talking, &asking, moment).await;
        acknowledged.note_logs(&project);
        project.mounts[0].cut_power();
        server.kill();
        project.mounts.remove(0).unmount();
        project.mounts.push(Mount::again(project.top()).unwrap());
        let server = project.serve().await;
        acknowledged.check(&project, &server).await;
        // A worktree that is just being made again looks unsound for a moment.
        let began = Instant::now();
        while !sound(&project) {
            assert!(began.elapsed() < PATIENCE, "git found damage that stays");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        drop(server);
    }
}

/// Whether git finds nothing wrong with the repository.
fn sound(project: &Project) -> bool {
    let fsck = std::process::Command::new("git")
        .arg("fsck")
        .current_dir(project.repo())
        .env("HOME", project.top())
        .output()
        .unwrap();
    fsck.status.success()
}

#[tokio::test]
async fn promise_8_a_disk_that_fails_everybody_at_any_call_takes_nothing_that_was_acknowledged() {
    if !inject::possible() {
        return;
    }
    let mut dice = Dice(20_261_117);
    for _ in 0..4 {
        let project = Project::of_workers();
        let server = project.serve().await;
        let (talking, asking) = two_runs(&project, &server).await;
        let mut failing = Vec::new();
        let pool = thread_named(server.pid(), "pool");
        let runners = [&talking, &asking].map(|run| runner_pid(&project.run_folder(run)).unwrap());
        for thread in [pool, runners[0], runners[1]] {
            let writes = format!("pwrite64:error=EIO:when={}+", 20 + dice.roll(400));
            let syncs = format!("fdatasync,fsync:error=EIO:when={}+", 3 + dice.roll(30));
            failing.push(Inject::into_thread(thread, &[&writes, &syncs]));
        }
        let mut acknowledged = Acknowledged::default();
        let moment = Duration::from_millis(600);
        acknowledged.busy(&server, &talking, &asking, moment).await;
        acknowledged.note_logs(&project);
        server.kill();
        for run in project.runs() {
            kill_runner(&run);
        }
        drop(failing);
        let server = project.serve().await;
        acknowledged.check(&project, &server).await;
    }
}

#[tokio::test]
async fn promise_8_a_log_whose_head_went_back_in_a_power_cut_is_read_to_its_end() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=40 every_ms=10]]").await;
    server.until(&run, |_| project.said(&run).len() > 3).await;
    server.kill();
    let folder = project.run_folder(&run);
    let head = std::fs::read(folder.join("head")).unwrap();
    let began = Instant::now();
    while Lock::is_held(&folder).unwrap() {
        assert!(began.elapsed() < PATIENCE, "the run never ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::write(folder.join("head"), head).unwrap();
    let server = project.serve().await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    project.whole(&run, 40);
}

#[tokio::test]
async fn promise_8_nobody_acts_on_an_event_that_a_power_cut_could_take_back() {
    if !inject::possible() {
        return;
    }
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=30 every_ms=10 ask=make]]").await;
    server.until(&run, |_| project.said(&run).len() > 3).await;
    let runner = runner_pid(&project.run_folder(&run)).unwrap();
    let _slow = Inject::into_thread(runner, &["fdatasync:delay_enter=500000"]);
    let ask = server.until_ask(&run).await;
    let head = LogReader::open(&project.run_folder(&run), None).unwrap().head().unwrap().unwrap();
    let opened = |event: &Event| matches!(&event.kind, EventKind::AskOpened { ask: opened, .. } if opened.as_str() == ask);
    let asked = project.events(&run).iter().find(|event| opened(event)).unwrap().seq;
    assert!(head.synced >= asked, "event {asked} was acted on, and {} is synced", head.synced);
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    server.until_over(&run).await;
}
