//! The views: pages, filters, the team, usage and the project at a glance.

use axum::http::StatusCode;
use musher_core::pool::{Heard, Input};
use musher_core::{Spend, Tokens, Usd};
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
async fn the_team_and_the_project_are_shown_with_what_goes_on() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let agents = rig.get("/api/v1/agents").await.json();
    let coder = &agents["agents"][0];
    assert_eq!((&coder["name"], &coder["runtime"]), (&json!("coder"), &json!("script")));
    assert_eq!(coder["runs"], json!([{"run": run.to_string(), "story": "s1", "phase": "live"}]));
    assert_eq!(agents["agents"][1]["model"], "m2");
    let project = rig.get("/api/v1/project").await.json();
    assert_eq!((&project["name"], &project["base_branch"]), (&json!("demo"), &json!("main")));
    assert_eq!(project["counts"]["running"], 1);
    assert_eq!(project["limits"]["runs"], 8);
}

#[tokio::test]
async fn usage_is_summed_by_what_is_asked_for_and_unknown_cost_stays_unknown() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let tokens = Tokens { input: 10, output: 5, ..Tokens::default() };
    for (seq, model, cost) in [(1, "m1", Some(0.25)), (2, "m2", None)] {
        let spend = Spend { tokens, cost_usd: cost.map(Usd::from_dollars) };
        let what = Heard::Usage { model: Some(model.into()), spend };
        rig.tell(Input::Heard { run, seq, what }).await;
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
    assert_eq!(rig.get("/api/v1/usage?by=run&since=9999999999999").await.json()["rows"], json!([]));
}
