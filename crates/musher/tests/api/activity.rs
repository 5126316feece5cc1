//! What live runs are at, told to those who look.

use musher_core::{EventKind, ItemBody, RunId, ToolPhase, ToolUpdate};
use serde_json::{Value as Json, json};

use crate::diff::with_worktree;
use crate::rig::{Rig, git, until};
use crate::sse::Sse;

fn tool(subject: &str) -> EventKind {
    let update = ToolUpdate {
        name: Some("Edit".into()),
        subject: Some(subject.into()),
        ..ToolUpdate::phase("c".into(), ToolPhase::Proposed)
    };
    EventKind::Tool(Box::new(update))
}

fn text(text: &str) -> EventKind {
    let body = ItemBody::Text { text: text.into() };
    EventKind::ItemDone { item: "i".into(), body, aborted: false }
}

/// The next activity of a run that is told.
async fn next(feed: &mut Sse, run: RunId) -> Json {
    loop {
        let headline = feed.until("headline").await.json();
        if headline["activity"]["run"] == run.to_string() {
            return headline["activity"].clone();
        }
    }
}

#[tokio::test]
async fn the_last_action_of_every_live_run_is_told_at_the_beginning_and_as_it_goes_on() {
    let rig = Rig::new().await;
    let (run, other, silent) = (rig.live().await, rig.live().await, rig.live().await);
    let (mut log, mut second) = (rig.log(run), rig.log(other));
    let facts = rig.views.facts_after(0, 1000).unwrap().len();
    log.append(text("Hello.\nMore."));
    let slot = rig.views.run(run).unwrap().unwrap().slot.unwrap();
    let path = rig.worktrees().join(slot.to_string()).join("src/main.rs");
    log.append(tool(&path.display().to_string()));
    let done = ToolUpdate::phase("c".into(), ToolPhase::Completed);
    log.append(EventKind::Tool(Box::new(done)));
    log.notices(100);
    second.append(text(&"é".repeat(500)));
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    let mut seen = Vec::new();
    loop {
        let message = feed.next().await.unwrap();
        if message.event == "ready" {
            break;
        }
        seen.extend(message.json().get("activity").cloned());
    }
    assert_eq!(seen.len(), 2, "a run that has done nothing yet is at nothing: {seen:?} {silent}");
    assert_eq!(seen[0]["text"], "Edit src/main.rs", "{seen:?}");
    assert_eq!((&seen[0]["at"], &seen[0]["lines"]), (&json!(1000), &json!(null)));
    assert_eq!(seen[1]["text"], format!("{}…", "é".repeat(160)));
    for n in 0..50 {
        log.append(text(&format!("Step {n}")));
    }
    let told = next(&mut feed, run).await;
    assert_eq!(told["text"], "Step 49", "one word for all of it");
    assert_eq!(rig.views.facts_after(0, 1000).unwrap().len(), facts, "nothing of it is kept");
}

#[tokio::test]
async fn the_lines_of_a_live_run_are_counted_while_somebody_looks() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    let mut log = rig.log(run);
    std::fs::write(folder.join("README"), "one\ntwo\nthree\n").unwrap();
    log.append(text("Writing."));
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    loop {
        let told = next(&mut feed, run).await;
        if !told["lines"].is_null() {
            assert_eq!(told["lines"], json!({"added": 3, "removed": 1}));
            break;
        }
    }
    let shown = rig.get(&format!("/api/v1/runs/{run}")).await.json();
    assert_eq!(shown["lines"], json!({"added": 3, "removed": 1}));
    let story = rig.get("/api/v1/stories/s1").await.json();
    assert_eq!(story["latest"]["lines"], json!({"added": 3, "removed": 1}));
}

#[tokio::test]
async fn the_lines_of_a_run_that_is_over_are_counted_when_they_are_wanted() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    std::fs::write(folder.join("README"), "bye\n").unwrap();
    git(&folder, &["commit", "-qam", "work"]);
    rig.end(run, 1).await;
    let lines = async || rig.get(&format!("/api/v1/runs/{run}")).await.json()["lines"].clone();
    until("the count", async || !lines().await.is_null()).await;
    assert_eq!(lines().await, json!({"added": 1, "removed": 1}));
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    let story = feed.until("headline").await.json();
    assert_eq!(story["story"]["latest"]["lines"], json!({"added": 1, "removed": 1}));
    let path = folder.display().to_string();
    assert_eq!(rig.get(&format!("/api/v1/runs/{run}")).await.json()["worktree"], path);
}

#[tokio::test]
async fn a_feed_hears_when_the_lines_of_a_run_that_is_over_were_counted() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    std::fs::write(folder.join("new"), "a\nb\n").unwrap();
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-qm", "work"]);
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    feed.until("ready").await;
    rig.end(run, 1).await;
    let told = next(&mut feed, run).await;
    assert_eq!((&told["lines"], &told["text"]), (&json!({"added": 2, "removed": 0}), &json!("")));
}

#[tokio::test]
async fn nobody_looks_at_the_logs_when_no_feed_is_open() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    rig.log(run).append(text("Hello."));
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    feed.until("ready").await;
    assert!(tasks() > before);
    drop(feed);
    until("the end of the watch", async || tasks() == before).await;
}
