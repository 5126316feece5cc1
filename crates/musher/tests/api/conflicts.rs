//! A merge conflict is known before anybody tries to merge.

use musher_core::pool::{Heard, Input};
use musher_core::{Outcome, RunId};
use serde_json::json;

use crate::rig::{Rig, git, until};
use crate::sse::Sse;

/// A finished run on a branch that changed the first line of the README.
async fn finished(rig: &Rig) -> RunId {
    let run = rig.live().await;
    let view = rig.get(&format!("/api/v1/runs/{run}")).await.json();
    let branch = view["branch"].as_str().unwrap().to_owned();
    let repo = rig.repo();
    git(&repo, &["checkout", "-q", "-b", &branch]);
    std::fs::write(repo.join("README"), "theirs\n").unwrap();
    git(&repo, &["commit", "-qam", "theirs"]);
    git(&repo, &["checkout", "-q", "main"]);
    let what = Heard::Ended { outcome: Outcome::Completed, error: None, session: None };
    rig.tell(Input::Heard { run, seq: 1, what }).await;
    rig.tell(Input::Finished { run, commit: None, error: None }).await;
    rig.settled().await;
    run
}

fn change_main(rig: &Rig, text: &str) {
    let repo = rig.repo();
    std::fs::write(repo.join("README"), text).unwrap();
    git(&repo, &["commit", "-qam", "ours"]);
}

#[tokio::test]
async fn a_merge_conflict_is_on_the_card_before_the_attempt_and_goes_when_it_is_gone() {
    let rig = Rig::new().await;
    finished(&rig).await;
    let story = async || rig.get("/api/v1/stories/s1").await.json();
    assert_eq!(story().await.get("conflict"), None);
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    feed.until("ready").await;
    change_main(&rig, "ours\n");
    until("the conflict", async || story().await["conflict"] == json!({ "files": ["README"] }))
        .await;
    let told = loop {
        let told = feed.until("headline").await.json();
        if told.get("merge").is_some() {
            break told;
        }
    };
    assert_eq!(told["merge"], json!({ "story": "s1", "conflict": { "files": ["README"] } }));
    let listed = rig.get("/api/v1/stories").await.json();
    assert_eq!(listed["stories"][0]["conflict"]["files"], json!(["README"]), "{listed:#}");
    change_main(&rig, "theirs\n");
    until("no conflict", async || story().await.get("conflict").is_none()).await;
}
