//! The views: pages, filters, the team, usage and the project at a glance.

use axum::http::StatusCode;
use musher_core::pool::{PoolInput, RunReport};
use musher_core::{ErrorClass, ErrorInfo, Spend, Tokens, Usd};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn lists_come_in_pages_that_follow_each_other() {
    let rig = Rig::new().await;
    for n in 0..5 {
        rig.add(&format!("Story {n}")).await;
    }
    let mut seen = Vec::new();
    let mut path = "/api/v1/stories?limit=2".to_owned();
    loop {
        let page = rig.get(&path).await.json();
        seen.extend(page["stories"].as_array().unwrap().iter().map(|story| story["id"].clone()));
        match page["next"].as_u64() {
            Some(next) => path = format!("/api/v1/stories?limit=2&before={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["s5", "s4", "s3", "s2", "s1"]);
}

#[tokio::test]
async fn runs_can_be_narrowed_down() {
    let rig = Rig::new().await;
    let over = rig.live().await;
    rig.end(over, 1).await;
    let live = rig.live().await;
    let ids = async |query: &str| {
        let page = rig.get(&format!("/api/v1/runs{query}")).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text());
        let page = page.json();
        page["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("").await, [live.to_string(), over.to_string()]);
    assert_eq!(ids("?state=live").await, [live.to_string()]);
    assert_eq!(ids("?story=s1").await, [over.to_string()]);
    assert_eq!(ids("?agent=tester").await, Vec::<String>::new());
    assert_eq!(ids("?limit=1&before=r2").await, [over.to_string()]);
    let run = rig.get(&format!("/api/v1/runs/{over}")).await.json();
    assert_eq!(
        (&run["phase"], &run["outcome"], &run["note"]),
        (&json!("over"), &json!("completed"), &json!(null))
    );
}

#[tokio::test]
async fn a_run_says_what_it_waits_for_outside_of_itself() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let _held = rig.bus.wakes(run);
    rig.bus.set_note(run, Some("paused: the disk is full".into()));
    let shown = rig.get(&format!("/api/v1/runs/{run}")).await.json();
    assert_eq!(shown["note"], "paused: the disk is full");
}

#[tokio::test]
async fn a_story_shows_its_newest_run_so_that_a_board_needs_no_list_of_runs() {
    let rig = Rig::new().await;
    let story = rig.add("Board").await;
    let latest =
        async || rig.get(&format!("/api/v1/stories/{story}")).await.json()["latest"].clone();
    assert_eq!(latest().await, json!(null));
    let first = rig.queue(&story).await;
    let error = ErrorInfo::new(ErrorClass::Config, "\n  no such program\nsecond line");
    rig.tell(PoolInput::PrepareFailed { run: first, error }).await;
    rig.settled().await;
    let shown = latest().await;
    assert_eq!(
        (&shown["run"], &shown["agent"], &shown["phase"], &shown["outcome"]),
        (&json!("r1"), &json!("coder"), &json!("over"), &json!("failed"))
    );
    assert_eq!((&shown["error"], &shown["parked"]), (&json!("no such program"), &json!(false)));
    assert!(shown["ended_at"].is_i64());
    let second = rig.queue(&story).await;
    assert_eq!(latest().await["run"], second.to_string());
    let listed = rig.get("/api/v1/stories").await.json();
    assert_eq!(listed["stories"][0]["latest"]["run"], second.to_string());
}

#[tokio::test]
async fn a_run_shows_where_it_works_and_the_head_of_what_it_was_told() {
    let rig = Rig::new().await;
    let story = rig.add("Work").await;
    let prompt = "é".repeat(300);
    let reply =
        rig.post(&format!("/api/v1/stories/{story}/start"), &json!({"prompt": prompt})).await;
    let run = reply.json()["run"].as_str().unwrap().to_owned();
    rig.settled().await;
    let shown = rig.get(&format!("/api/v1/runs/{run}")).await.json();
    assert_eq!(shown["worktree"], rig.worktrees().join("1").display().to_string());
    assert_eq!(shown["prompt"], "é".repeat(200));
    assert_eq!(shown["lines"], json!(null));
    let other = rig.live().await;
    rig.end(other, 1).await;
    let shown = rig.get(&format!("/api/v1/runs/{other}")).await.json();
    assert_eq!((&shown["worktree"], &shown["prompt"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn the_team_and_the_project_are_shown_with_what_goes_on() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let agents = rig.get("/api/v1/agents").await.json();
    let coder = &agents["agents"][0];
    assert_eq!((&coder["name"], &coder["runtime"]), (&json!("coder"), &json!("script")));
    assert_eq!(coder["forks_turns"], json!(false), "{coder}");
    let at_work = &coder["runs"][0];
    assert_eq!(
        (&at_work["run"], &at_work["story"], &at_work["phase"], &at_work["open_asks"]),
        (&json!(run.to_string()), &json!("s1"), &json!("live"), &json!(0))
    );
    assert!(at_work["started_at"].is_i64() && at_work["memory_bytes"].is_null(), "{at_work}");
    assert_eq!((&coder["health"]["state"], &coder["program"]), (&json!("missing"), &json!(null)));
    assert!(coder["health"]["fix"].as_str().unwrap().contains("work.toml"), "{coder}");
    assert_eq!(agents["agents"][1]["model"], "m2");
    let project = rig.get("/api/v1/project").await.json();
    assert_eq!((&project["name"], &project["base_branch"]), (&json!("demo"), &json!("main")));
    assert_eq!(project["counts"]["running"], 1);
    assert_eq!(project["limits"]["runs"], 8);
    assert_eq!(project["repo"], rig.repo().display().to_string());
    assert_eq!(project["build"], "build-1");
    assert_eq!(
        project["day"],
        json!({
            "date": "2023-11-14", "spent_usd": 0.0, "unknown": false, "estimated": false,
            "held_usd": 0.0, "cap_usd": null
        })
    );
}

#[tokio::test]
async fn usage_is_summed_by_what_is_asked_for_and_unknown_cost_stays_unknown() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let tokens = Tokens { input: 10, output: 5, ..Tokens::default() };
    for (seq, model, cost) in [(1, "m1", Some(0.25)), (2, "m2", None)] {
        let spend = Spend::costing(tokens, cost.map(Usd::from_dollars));
        let what = RunReport::Usage { model: Some(model.into()), entry: spend.into() };
        rig.tell(PoolInput::Heard { run, seq, what }).await;
    }
    rig.settled().await;
    let by =
        async |by: &str| rig.get(&format!("/api/v1/usage?by={by}")).await.json()["rows"].clone();
    assert_eq!(by("run").await[0]["key"], run.to_string());
    assert_eq!(by("run").await[0]["spent"]["input"], 20);
    assert_eq!(by("run").await[0]["spent"]["cost_usd"], json!(null));
    assert_eq!(by("model").await[0]["spent"]["cost_usd"], 0.25);
    assert_eq!(
        (by("story").await[0]["key"].clone(), by("agent").await[0]["key"].clone()),
        (json!("s1"), json!("coder"))
    );
    assert_eq!(by("day").await.as_array().unwrap().len(), 1);
    let split = rig.get("/api/v1/usage?by=day&split=model").await.json();
    let parts: Vec<_> = split["rows"].as_array().unwrap().iter().map(|row| &row["part"]).collect();
    assert_eq!(parts, ["m1", "m2"]);
    assert_eq!(split["split"], "model");
    assert_eq!(split["rows"][0]["key"], split["rows"][1]["key"]);
    assert_eq!(split["rows"][0]["spent"]["cost_usd"], 0.25);
    for (by, part) in [("agent", "coder"), ("story", "s1")] {
        let split = rig.get(&format!("/api/v1/usage?by=day&split={by}")).await.json();
        assert_eq!(split["rows"][0]["part"], part, "{split}");
    }
    let day = rig.get("/api/v1/project").await.json()["day"].clone();
    assert_eq!((&day["spent_usd"], &day["unknown"]), (&json!(0.25), &json!(true)));
    assert_eq!(rig.get("/api/v1/usage?by=run&since=9999999999999").await.json()["rows"], json!([]));
}

#[tokio::test]
async fn a_live_run_that_has_been_silent_for_minutes_says_since_when_unless_it_waits_for_a_person()
{
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(1);
    let view = async || rig.get(&format!("/api/v1/runs/{run}")).await.json();
    assert_eq!(view().await.get("quiet_since"), None, "it has just spoken");
    // The clock of the rig stands in 2023, so the log is made a little older than that.
    let then = 1_699_999_000_000_i64;
    let age = || {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(then.unsigned_abs());
        for entry in std::fs::read_dir(rig.bus.folder(run)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "jsonl") {
                std::fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
            }
        }
    };
    age();
    let quiet = view().await;
    assert_eq!(quiet["quiet_since"], then, "{quiet:#}");
    let what = RunReport::AskOpened { ask: "a".into(), settled: false };
    rig.tell(PoolInput::Heard { run, seq: 2, what }).await;
    rig.settled().await;
    assert_eq!(view().await.get("quiet_since"), None, "it waits for a person");
}
