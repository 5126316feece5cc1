//! What a run's branch changes, as long as it runs and afterwards.

use musher_core::pool::PoolInput;
use musher_core::{Outcome, RunId};
use serde_json::json;

use crate::rig::{Rig, SECRET, TOKEN, git};

/// A run with a real worktree.
pub(crate) async fn with_worktree(rig: &Rig) -> (RunId, std::path::PathBuf) {
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
    rig.tell(PoolInput::Prepared { run, head }).await;
    rig.tell(PoolInput::RunnerUp { run }).await;
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
    let what = musher_core::pool::RunReport::Ended {
        outcome: Outcome::Completed,
        error: None,
        session: None,
    };
    rig.tell(PoolInput::Heard { run, seq: 1, what }).await;
    rig.tell(PoolInput::Finished { run, commit: None, error: None }).await;
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

#[tokio::test]
async fn the_list_of_files_has_their_numbers_and_no_lines() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    for n in 0..6_000 {
        std::fs::write(folder.join(format!("f{n}")), "one\ntwo\n").unwrap();
    }
    let diff = rig.get(&format!("/api/v1/runs/{run}/diff?files=only")).await.json();
    let files = diff["files"].as_array().unwrap();
    assert_eq!((files.len(), &diff["truncated"]), (6_000, &json!(false)));
    assert!(files.iter().all(|file| file["added"] == 2 && file["hunks"] == json!([])));
    assert_eq!(diff["added"], 12_000);
}

#[tokio::test]
async fn one_file_is_shown_with_as_much_around_its_changes_as_is_wanted() {
    let rig = Rig::new().await;
    let long: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    std::fs::write(rig.repo().join("old name"), &long).unwrap();
    git(&rig.repo(), &["add", "."]);
    git(&rig.repo(), &["commit", "-qm", "long"]);
    let (run, folder) = with_worktree(&rig).await;
    git(&folder, &["mv", "--", "old name", "-new [name]*"]);
    std::fs::write(folder.join("-new [name]*"), long.replace("line 50\n", "line fifty\n")).unwrap();
    std::fs::create_dir(folder.join("beside")).unwrap();
    std::fs::write(folder.join("beside/-new"), "x\n").unwrap();
    let path = |query: &str| format!("/api/v1/runs/{run}/diff?path=-new%20%5Bname%5D*{query}");
    let diff = rig.get(&path("")).await.json();
    let file = &diff["files"][0];
    assert_eq!(diff["files"].as_array().unwrap().len(), 1, "{diff}");
    assert_eq!((&file["status"], &file["old_path"]), (&json!("renamed"), &json!("old name")));
    assert_eq!(file["hunks"][0]["lines"].as_array().unwrap().len(), 8);
    let whole = rig.get(&path("&context=1000&since=start")).await.json();
    assert_eq!(whole["files"][0]["hunks"][0]["lines"].as_array().unwrap().len(), 101);
    let none = rig.get(&format!("/api/v1/runs/{run}/diff?path=../../etc/passwd")).await;
    none.is_problem(404, "no_such_file");
}

#[tokio::test]
async fn the_words_that_changed_are_marked_and_an_endless_line_is_cut() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    let endless = "é".repeat(10_000);
    std::fs::write(folder.join("README"), format!("hello, you\n{endless}\n")).unwrap();
    let diff = rig.get(&format!("/api/v1/runs/{run}/diff")).await.json();
    let lines = diff["files"][0]["hunks"][0]["lines"].as_array().unwrap();
    assert_eq!(lines[0], json!({"kind": "removed", "text": "hello"}));
    assert_eq!(lines[1], json!({"kind": "added", "text": "hello, you", "marks": [[5, 10]]}));
    assert_eq!(
        (&lines[2]["cut"], lines[2]["text"].as_str().unwrap().chars().count()),
        (&json!(true), 4_000)
    );
}

#[tokio::test]
async fn files_that_agents_run_or_obey_are_marked() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    std::fs::create_dir_all(folder.join("docs/.claude")).unwrap();
    for path in ["AGENTS.md", "docs/CLAUDE.md", "docs/.claude/settings.json", ".mcp.json", "src.rs"]
    {
        std::fs::write(folder.join(path), "x\n").unwrap();
    }
    for query in ["", "?files=only"] {
        let diff = rig.get(&format!("/api/v1/runs/{run}/diff{query}")).await.json();
        let effect = |path: &str| {
            let files = diff["files"].as_array().unwrap();
            files.iter().find(|file| file["path"] == path).unwrap()["effect"].clone()
        };
        assert_eq!(effect("AGENTS.md"), "obeys", "{diff}");
        assert_eq!(effect("docs/CLAUDE.md"), "obeys");
        assert_eq!(effect("docs/.claude/settings.json"), "executes");
        assert_eq!(effect(".mcp.json"), "executes");
        assert!(effect("src.rs").is_null());
    }
}

#[tokio::test]
async fn promise_19_a_secret_in_a_file_is_hidden_in_the_diff_and_its_place_is_named() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    let long = format!("{}{SECRET}", "x".repeat(3_990));
    let text = format!("one\nkey = \"{SECRET}\"\nthree\n{long}\n\"token\": \"{TOKEN}\"\n");
    std::fs::write(folder.join("settings.json"), text).unwrap();
    for query in ["", "?path=settings.json", "?since=start"] {
        let reply = rig.get(&format!("/api/v1/runs/{run}/diff{query}")).await;
        let shown = reply.text();
        assert!(!shown.contains(&SECRET[..10]) && !shown.contains(TOKEN), "{query}: {shown}");
        let diff = reply.json();
        let lines = diff["files"][0]["hunks"][0]["lines"].as_array().unwrap();
        assert_eq!(lines[1]["text"], "key = \"[redacted DEMO_API_KEY]\"", "{diff:#}");
        let found = json!([
            { "path": "settings.json", "line": 2, "name": "DEMO_API_KEY" },
            { "path": "settings.json", "line": 4, "name": "DEMO_API_KEY" },
            { "path": "settings.json", "line": 5, "name": "the token of the server" },
        ]);
        assert_eq!(diff["secrets"], found, "{diff:#}");
    }
}

#[tokio::test]
async fn a_diff_without_secrets_says_nothing_of_them() {
    let rig = Rig::new().await;
    let (run, folder) = with_worktree(&rig).await;
    std::fs::write(folder.join("README"), "hello\nworld\n").unwrap();
    let diff = rig.get(&format!("/api/v1/runs/{run}/diff")).await.json();
    assert!(diff.get("secrets").is_none(), "{diff:#}");
}
