//! Kills of the server: at seeded moments, and at every named point.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use musher::fail;
use serde_json::json;

use crate::dice::Dice;
use crate::rig::{PATIENCE, Project};

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
    let project = Project::of_workers();
    let mut dice = Dice(20_261_115);
    let mut server = project.serve().await;
    let mut runs = Vec::new();
    for _ in 0..AGENTS {
        runs.push(server.begin("[[work lines=400 every_ms=50]]").await.1);
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
        let over = server.until_over(run).await;
        assert_eq!(over["outcome"], "completed", "{over:#}");
        project.whole(run, 400);
    }
    assert_eq!(starts(&project), before, "every agent was started once, and lived through it all");
    assert_eq!(before.len(), AGENTS);
    assert!(before.values().all(|starts| starts.len() == 1));
    let kept = server.stories().await;
    let missing: Vec<_> = acknowledged.iter().filter(|story| !kept.contains(story)).collect();
    assert!(missing.is_empty(), "acknowledged and gone: {missing:?}");
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_1_a_kill_at_every_named_point_leaves_one_run_that_ends_as_it_should() {
    for point in fail::POINTS {
        let project = Project::of_workers();
        let server = project.serve_with(&["--die-at", point]).await.unwrap();
        let story = json!({ "title": "Work", "text": "[[work lines=3 ask=\"make all\" write=made.txt text=done]]" });
        let reply = server.post("/stories", &story).await;
        let path = format!("/stories/{}/start", reply["story"].as_str().unwrap());
        let mut server = server;
        let mut died = false;
        // The server may die before it has said which run it is; the next one knows it.
        let _cut_off = server.try_post(&path, &json!({})).await;
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "{point}: the run never ended");
            match server.try_get("/runs/r1").await {
                Ok((200, run)) if run["phase"] == "over" => {
                    assert_eq!(run["outcome"], "completed", "{point}: {run:#}");
                    break;
                }
                Ok((200, run)) if run["open_asks"] == 1 => {
                    let asks = server.try_get("/asks").await;
                    if let Ok((200, asks)) = asks
                        && let Some(ask) = asks["asks"][0]["ask"].as_str()
                    {
                        let path = format!("/runs/r1/asks/{ask}/answer");
                        let yes = json!({ "answer": { "decision": "allow" } });
                        // It may be cut off, or have been said before the server died.
                        let _said = server.try_post(&path, &yes).await;
                    }
                }
                Ok((200, run)) if *point == "before_close" && run["phase"] == "live" && !died => {
                    // This point is met only when a runner dies.
                    crate::rig::kill_runner(&project.run_folder("r1"));
                }
                Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(_) => {
                    server.until_dead();
                    died = true;
                    server = project.serve().await;
                    if server.try_get("/runs/r1").await.is_ok_and(|(status, _)| status == 404) {
                        server.post(&path, &json!({})).await;
                    }
                }
            }
            if *point == "before_close" && died {
                break;
            }
        }
        assert!(died, "{point} was never met");
        if *point != "before_close" {
            project.whole("r1", 3);
            assert_eq!(starts(&project).len(), 1, "{point}: one agent");
            assert!(
                starts(&project).values().all(|starts| starts.len() == 1),
                "{point}: started once"
            );
            let answers = project.worker_file("effects");
            assert_eq!(
                answers.lines().filter(|line| line.starts_with("answer")).count(),
                1,
                "{point}: {answers}"
            );
            assert!(!answers.contains("stray"), "{point}: {answers}");
            assert_eq!(project.git(&["show", "musher/s1/1:made.txt"]).trim(), "done", "{point}");
        }
        drop(server);
        drop(project);
    }
}
