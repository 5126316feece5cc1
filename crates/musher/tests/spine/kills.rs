//! Kills of the server: at seeded moments, and at every named point.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use musher_os::fail;
use musher_testkit::books::{Balance, Books};
use musher_testkit::proc;
use serde_json::{Value as Json, json};

use crate::bills;
use crate::dice::Dice;
use crate::rig::{PATIENCE, Project, Server, kill_runner};

const AGENTS: usize = 20;
const KILLS: u64 = 100;

/// Every agent's process and when it started, by session.
fn starts(project: &Project) -> BTreeMap<String, Vec<String>> {
    let mut starts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in project.worker_file("starts").lines() {
        let (process, session) = line.rsplit_once(' ').unwrap();
        starts.entry(session.to_owned()).or_default().push(process.to_owned());
    }
    starts
}

#[tokio::test]
async fn promise_1_a_hundred_kills_of_the_server_lose_nothing_of_twenty_agents() {
    let project = bills::charged_by_calls();
    let mut dice = Dice(20_261_115);
    let mut server = project.serve().await;
    let mut runs = Vec::new();
    for _ in 0..AGENTS {
        runs.push(server.begin("[[work lines=100000 every_ms=50]]").await.1);
    }
    for run in &runs {
        server.until_live(run).await;
    }
    // A runner is up before its agent is.
    while starts(&project).len() < AGENTS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let before = starts(&project);
    let mut acknowledged = Vec::new();
    let mut slowest = Duration::ZERO;
    for kill in 0..KILLS {
        let moment = Duration::from_millis(dice.roll(120));
        let busy = async {
            for n in 0.. {
                let story = json!({ "title": format!("Kill {kill}, story {n}"), "text": "later" });
                match server.try_post("/stories", &story).await {
                    Ok((201 | 200, reply)) => {
                        acknowledged.push(reply["story"].as_str().unwrap().to_owned());
                    }
                    Ok(other) => panic!("{other:?}"),
                    Err(_) => return,
                }
            }
        };
        // Commands are under way when the kill comes.
        let _cut_off = tokio::time::timeout(moment, busy).await;
        server.kill();
        let began = Instant::now();
        server = project.serve().await;
        slowest = slowest.max(began.elapsed());
    }
    println!("{} stories acknowledged, slowest start {slowest:?}", acknowledged.len());
    for run in &runs {
        server.until_live(run).await;
    }
    let alive = |starts: &BTreeMap<String, Vec<String>>| {
        let processes = starts.values().flatten().filter_map(|start| start.split_once(' '));
        processes.filter(|(pid, _)| proc::alive(pid.parse().unwrap())).count()
    };
    assert_eq!(alive(&before), AGENTS, "every agent works on after the last kill");
    for run in &runs {
        server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    }
    for run in &runs {
        let over = server.until_over(run).await;
        assert_eq!(over["outcome"], "stopped", "{over:#}");
        let lines = project.said(run).len() as u64;
        assert!(lines > 100, "{run} has worked all the time, and has said {lines} lines");
        project.whole(run, lines);
    }
    let mut over = Vec::new();
    for run in &runs {
        over.push(server.run(run).await);
    }
    let books = Books::read(&project.worker_home());
    for (session, bill) in bills::bills(&over) {
        let balance = books.judge(&session, bill).unwrap();
        assert_eq!(balance, Balance::Known, "whoever is stopped has told its total: {bill:?}");
    }
    assert_eq!(starts(&project), before, "every agent was started once, and lived through it all");
    assert_eq!(before.len(), AGENTS);
    assert!(before.values().all(|starts| starts.len() == 1));
    let kept = server.stories().await;
    let missing: Vec<_> = acknowledged.iter().filter(|story| !kept.contains(story)).collect();
    assert!(missing.is_empty(), "acknowledged and gone: {missing:?}");
    assert_eq!(project.left(), Vec::<i32>::new());
}

/// A person who wants one story done, and does not give up when the server dies under him.
struct Stubborn {
    project: Project,
    server: Option<Server>,
    died: bool,
}

impl Stubborn {
    async fn new(point: &str) -> Self {
        let project = Project::of_workers();
        let server = project.serve_with(&["--die-at", point]).await;
        Self { project, died: server.is_none(), server }
    }

    /// The server; a new one if the last has died.
    async fn server(&mut self) -> &Server {
        if self.server.is_none() {
            self.died = true;
            self.server = Some(self.project.serve().await);
        }
        self.server.as_ref().unwrap()
    }

    fn bury(&mut self) {
        self.server.take().unwrap().until_dead();
    }

    /// Reads something, however often the server dies.
    async fn get(&mut self, path: &str) -> (u16, Json) {
        loop {
            match self.server().await.try_get(path).await {
                Ok(reply) => return reply,
                Err(_) => self.bury(),
            }
        }
    }

    /// Wants something until it is so. What was cut off is said again, if it was not done.
    async fn want(&mut self, path: &str, body: &Json) {
        if self.server().await.try_post(path, body).await.is_err() {
            self.bury();
        }
    }

    /// Does what it takes until the view at `path` is as wanted.
    async fn until(&mut self, path: &str, wanted: impl Fn(&Json) -> bool, wish: (&str, Json)) {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "{path} never came to that");
            let (status, view) = self.get(path).await;
            if status == 200 && wanted(&view) {
                return;
            }
            if status == 404 || !wish.0.is_empty() {
                self.want(wish.0, &wish.1).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn promise_1_a_kill_at_every_named_point_leaves_one_run_that_ends_as_it_should() {
    // A point that only the death of a runner leads to has a test of its own.
    for point in fail::POINTS.iter().filter(|point| **point != "before_close") {
        let mut person = Stubborn::new(point).await;
        let text = "[[work lines=3 ask=\"make all\" write=made.txt text=done]]";
        let story = json!({ "id": "tale", "title": "Work", "text": text });
        person.until("/stories/tale", |view| view["id"] == "tale", ("/stories", story)).await;
        let start = ("/stories/tale/start", json!({}));
        person.until("/runs/r1", |view| view["id"] == "r1", start).await;
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "{point}: the run never ended");
            let (_, run) = person.get("/runs/r1").await;
            if run["phase"] == "over" {
                assert_eq!(run["outcome"], "completed", "{point}: {run:#}");
                break;
            }
            let (_, asks) = person.get("/asks").await;
            if let Some(ask) = asks["asks"][0]["ask"].as_str() {
                let rule = &asks["asks"][0]["rule"];
                let yes = json!({ "answer": { "decision": "allow_always", "rule": rule } });
                person.want(&format!("/runs/r1/asks/{ask}/answer"), &yes).await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let merge = ("/stories/tale/merge", json!({}));
        person.until("/stories/tale", |view| view["merged"].is_string(), merge).await;
        let archive = ("/stories/tale/archive", json!({}));
        let (mut status, began) = (0, Instant::now());
        while status != 409 {
            // The second time there is nothing left to put away.
            assert!(began.elapsed() < PATIENCE, "{point}: never archived");
            person.want(archive.0, &archive.1).await;
            let again = person.server().await.try_post(archive.0, &archive.1).await;
            status = again.map_or(0, |(status, _)| status);
            if status == 0 {
                person.bury();
            }
        }
        let released = Instant::now();
        while !person.died && released.elapsed() < PATIENCE {
            if person.server().await.try_get("/runs/r1").await.is_err() {
                person.bury();
                person.server().await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let Stubborn { project, died, server } = person;
        assert!(died, "{point} was never met");
        project.whole("r1", 3);
        assert_eq!(starts(&project).len(), 1, "{point}: one agent");
        assert!(starts(&project).values().all(|starts| starts.len() == 1), "{point}: started once");
        let answers = project.worker_file("effects");
        let given = answers.lines().filter(|line| line.starts_with("answer")).count();
        assert_eq!((given, answers.contains("stray")), (1, false), "{point}: {answers}");
        let granted = std::fs::read_to_string(project.state().join("local.toml")).unwrap();
        assert_eq!(granted.matches("[[grant]]").count(), 1, "{point}: granted once\n{granted}");
        let made = std::fs::read_to_string(project.repo().join("made.txt")).unwrap();
        assert_eq!(made.trim(), "done", "{point}");
        let merges = project.git(&["rev-list", "--merges", "--count", "main"]);
        assert_eq!(merges.trim(), "1", "{point}: merged once");
        drop(server);
    }
}

#[tokio::test]
async fn promise_1_a_server_that_dies_before_it_closes_a_lost_run_is_followed_by_one_that_does() {
    let project = Project::of_hanging_workers();
    let server = project.serve_with(&["--die-at", "before_close"]).await.unwrap();
    let (_, run) = server.begin("[[work spawn=daemon hang=1]]").await;
    server.until_live(&run).await;
    while project.left().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    kill_runner(&project.run_folder(&run)).unwrap();
    server.until_dead();
    let server = project.serve().await;
    assert_eq!(server.until_over(&run).await["outcome"], "lost");
    server.until_live("r2").await;
    server.post("/runs/r2/kill", &json!({})).await;
    server.until_over("r2").await;
    assert_eq!(project.left(), Vec::<i32>::new());
}
