//! A merge conflict is known before anybody tries to merge.

use std::time::Duration;

use musher_core::pool::{PoolInput, RunReport};
use musher_core::{Outcome, RunId};
use serde_json::json;

use crate::rig::{Rig, git, until};
use crate::sse::Sse;

/// A look at a branch takes no longer, except where nobody looks.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let what = RunReport::Ended { outcome: Outcome::Completed, error: None, session: None };
    rig.tell(PoolInput::Heard { run, seq: 1, what }).await;
    rig.tell(PoolInput::Finished { run, commit: None, error: None }).await;
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

#[tokio::test]
async fn a_commit_by_hand_on_the_base_is_told_to_who_listens_though_nobody_reads_the_story() {
    let rig = Rig::new().await;
    finished(&rig).await;
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    feed.until("ready").await;
    let mut merge = async || {
        let told = async {
            loop {
                let told = feed.until("headline").await.json();
                if let Some(merge) = told.get("merge") {
                    break merge.clone();
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.expect("nobody has looked at the branch")
    };
    change_main(&rig, "ours\n");
    assert_eq!(merge().await, json!({ "story": "s1", "conflict": { "files": ["README"] } }));
    // What was found is known by now, so only a look at the branch itself can bring more.
    change_main(&rig, "theirs\n");
    assert_eq!(merge().await, json!({ "story": "s1", "conflict": null }));
    // Where branches are packed into one file it is seen as well.
    change_main(&rig, "ours again\n");
    assert_eq!(merge().await["conflict"], json!({ "files": ["README"] }));
    change_main(&rig, "theirs\n");
    git(&rig.repo(), &["pack-refs", "--all"]);
    assert_eq!(merge().await["conflict"], json!(null));
}
