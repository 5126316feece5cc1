//! What a run's branch changes, as long as it runs and afterwards.

use musher_core::pool::Input;
use musher_core::{Outcome, RunId};
use serde_json::json;

use crate::rig::{Rig, git};

/// A run with a real worktree.
async fn with_worktree(rig: &Rig) -> (RunId, std::path::PathBuf) {
    let story = rig.add("Change").await;
    let run = rig.queue(&story).await;
    let head = git(&rig.repo(), &["rev-parse", "main"]);
    rig.settled().await;
    let slot = rig.views.run(run).unwrap().unwrap().slot.unwrap();
    let folder = rig.worktrees().join(slot.to_string());
    let branch = format!("musher/{story}/1");
    git(
        &rig.repo(),
        &["worktree", "add", "-q", "-b", &branch, &folder.display().to_string(), "main"],
    );
    rig.tell(Input::Prepared { run, head }).await;
    rig.tell(Input::RunnerUp { run }).await;
    rig.settled().await;
    (run, folder)
}

#[tokio::test]
async fn a_live_run_shows_its_uncommitted_and_untracked_work_too() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    std::fs::write(folder.join("README"), "hello\nworld\n").unwrap();
    std::fs::write(folder.join("new file"), "new\n").unwrap();
    let diff = rig.get(&format!("/api/v1/runs/{run}/diff")).await.json();
    assert_eq!(
        (&diff["uncommitted"], &diff["added"], &diff["removed"]),
        (&json!(true), &json!(2), &json!(0)),
        "{diff}"
    );
    let files = diff["files"].as_array().unwrap();
    assert_eq!(files.len(), 2, "{diff}");
    assert_eq!((&files[0]["path"], &files[0]["status"]), (&json!("README"), &json!("modified")));
    let lines = files[0]["hunks"][0]["lines"].as_array().unwrap();
    assert_eq!(lines[0], json!({"kind": "context", "text": "hello"}));
    assert_eq!(lines[1], json!({"kind": "added", "text": "world"}));
    assert_eq!((&files[1]["path"], &files[1]["status"]), (&json!("new file"), &json!("added")));
}

#[tokio::test]
async fn a_run_that_is_over_shows_its_branch_and_what_it_changed_once_that_is_merged() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    std::fs::write(folder.join("README"), "bye\n").unwrap();
    git(&folder, &["commit", "-qam", "work"]);
    let what =
        musher_core::pool::Heard::Ended { outcome: Outcome::Completed, error: None, session: None };
    rig.tell(Input::Heard { run, seq: 1, what }).await;
    rig.tell(Input::Finished { run, commit: None, error: None }).await;
    rig.settled().await;
    for merged in [false, true] {
        if merged {
            git(&rig.repo(), &["merge", "-q", "--no-ff", "--no-edit", "musher/s1/1"]);
        }
        for since in ["base", "start"] {
            let diff = rig.get(&format!("/api/v1/runs/{run}/diff?since={since}")).await.json();
            assert_eq!(
                (&diff["added"], &diff["removed"]),
                (&json!(1), &json!(1)),
                "{since} {merged}: {diff}"
            );
        }
    }
    git(&rig.repo(), &["worktree", "remove", &folder.display().to_string()]);
    git(&rig.repo(), &["branch", "-qD", "musher/s1/1"]);
    rig.get(&format!("/api/v1/runs/{run}/diff")).await.is_problem(404, "no_branch");
}

#[tokio::test]
async fn a_run_without_a_worktree_has_no_diff_yet() {
    let rig = Rig::new().await;
    let story = rig.add("Wait").await;
    let run = rig.queue(&story).await;
    rig.get(&format!("/api/v1/runs/{run}/diff")).await.is_problem(409, "not_started");
}
