//! What an act would change in files, shown with the ask that waits for a person; and what it did change.

use std::path::Path;

use musher_core::pool::{PoolInput, RunReport};
use musher_core::{Approval, Ask, AskId, Edit, EventKind, RunId, ToolKind, ToolPhase, ToolUpdate};
use serde_json::{Value as Json, json};

use crate::rig::{Log, Rig};
use crate::sse::Sse;

fn edit(path: &str, old: Option<&str>, new: &str) -> Edit {
    Edit { path: path.into(), old: old.map(str::to_owned), new: new.into(), all: false }
}

/// A live run whose agent works in a folder of its own.
async fn at_work(rig: &Rig, folder: &Path) -> (RunId, Log) {
    let run = rig.live().await;
    let log = rig.log(run);
    let spec = json!({
        "version": 1, "run": run.to_string(), "story": "s1", "agent": "coder", "mark": "0123456789",
        "runtime": "script", "prompt": "p", "cwd": folder,
    });
    std::fs::write(log.folder.join("spec.json"), spec.to_string()).unwrap();
    (run, log)
}

async fn opened(rig: &Rig, run: RunId, log: &mut Log, edits: Vec<Edit>) -> AskId {
    let seq = log.writer.next_seq();
    let ask: AskId = format!("a{seq}").into();
    let body = Ask::Approval(Box::new(Approval {
        tool: "Edit".into(),
        tool_kind: ToolKind::Edit,
        call: None,
        subject: None,
        subject_field: None,
        input: json!({}),
        edits,
        reason: None,
        always: Vec::new(),
        human_only: false,
        shortened: None,
        as_is: false,
    }));
    log.append(EventKind::AskOpened {
        ask: ask.clone(),
        body,
        deadline: None,
        rule: None,
        settled: false,
    });
    let what = RunReport::AskOpened { ask: ask.clone(), settled: false };
    rig.tell(PoolInput::Heard { run, seq, what }).await;
    rig.settled().await;
    ask
}

/// The ask as it is listed.
async fn listed(rig: &Rig, ask: &AskId) -> Json {
    let asks = rig.get("/api/v1/asks?all=true").await.json();
    let found = asks["asks"].as_array().unwrap().iter().find(|it| it["ask"] == ask.as_str());
    found.unwrap_or_else(|| panic!("{ask}: {asks}")).clone()
}

#[tokio::test]
async fn an_approval_shows_what_the_act_would_make_of_the_files_as_they_are() {
    let rig = Rig::new().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let (run, mut log) = at_work(&rig, folder.path()).await;
    let absolute = folder.path().join("a.txt").display().to_string();
    let edits = vec![
        edit(&absolute, Some("two"), "2"),
        edit("new/b.txt", None, "fresh\n"),
        edit(&absolute, Some("2\nthree"), "2\n3"),
    ];
    let ask = opened(&rig, run, &mut log, edits).await;
    let shown = listed(&rig, &ask).await;
    let change = shown["change"].as_array().unwrap();
    assert_eq!(change.len(), 2, "{shown}");
    assert_eq!((&change[0]["path"], &change[0]["status"]), (&json!("a.txt"), &json!("modified")));
    assert_eq!((&change[0]["added"], &change[0]["removed"]), (&json!(2), &json!(2)));
    let lines: Vec<_> = change[0]["hunks"][0]["lines"].as_array().unwrap().iter().collect();
    let texts: Vec<_> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one", "two", "three", "2", "3"]);
    assert_eq!((&change[1]["path"], &change[1]["status"]), (&json!("new/b.txt"), &json!("added")));
    assert_eq!(shown["change_note"], json!(null));
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    loop {
        let headline = feed.until("headline").await.json();
        if headline["ask"].is_object() {
            assert_eq!(headline["ask"]["change"], shown["change"]);
            break;
        }
    }
}

#[tokio::test]
async fn what_cannot_be_shown_is_told_and_no_file_outside_of_the_worktree_is_read() {
    let rig = Rig::new().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one one\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
    let (run, mut log) = at_work(&rig, folder.path()).await;
    for (path, old, new, note) in [
        ("a.txt", Some("gone"), "x", "not in the file as it is now"),
        ("a.txt", Some("one"), "x", "2 times"),
        ("none.txt", Some("one"), "x", "no such file"),
        ("link", Some("root"), "x", "outside of the worktree"),
        ("/etc/passwd", Some("root"), "x", "outside of the worktree"),
        ("../../etc/passwd", None, "x", "outside of the worktree"),
        ("a.txt", None, &"long".repeat(20_000), "too long"),
    ] {
        let ask = opened(&rig, run, &mut log, vec![edit(path, old, new)]).await;
        let shown = listed(&rig, &ask).await;
        assert_eq!(shown["change"], json!(null), "{path}: {shown}");
        let told = shown["change_note"].as_str().unwrap();
        assert!(told.contains(note), "{path}: {told}");
        assert!(!shown.to_string().contains("root:"), "{shown}");
    }
}

#[tokio::test]
async fn an_ask_that_is_closed_or_changes_no_file_shows_no_change() {
    let rig = Rig::new().await;
    let folder = tempfile::tempdir().unwrap();
    let (run, mut log) = at_work(&rig, folder.path()).await;
    let none = opened(&rig, run, &mut log, Vec::new()).await;
    assert_eq!(listed(&rig, &none).await["change"], json!(null));
    let ask = opened(&rig, run, &mut log, vec![edit("b", None, "x")]).await;
    assert_eq!(listed(&rig, &ask).await["change"][0]["added"], 1);
    rig.end(run, 99).await;
    let closed = listed(&rig, &ask).await;
    assert_eq!((&closed["change"], &closed["change_note"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn a_tool_call_shows_what_it_changes_by_its_own_words() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    let edits = vec![edit("/w/a", Some("old\nsame\n"), "new\nsame\n"), edit("/w/b", None, "b")];
    let update = ToolUpdate { edits, ..ToolUpdate::phase("c".into(), ToolPhase::Proposed) };
    let seq = log.append(EventKind::Tool(Box::new(update)));
    log.notices(1);
    let path = |seq: u64| format!("/api/v1/runs/{run}/events/{seq}/change");
    let shown = rig.get(&path(seq)).await.json();
    assert_eq!(shown["change"].as_array().unwrap().len(), 2, "{shown}");
    let lines = shown["change"][0]["hunks"][0]["lines"].clone();
    assert_eq!(lines[0], json!({"kind": "removed", "text": "old"}));
    assert_eq!(lines[2], json!({"kind": "context", "text": "same"}));
    assert_eq!(shown["change"][1]["hunks"][0]["lines"][0]["no_newline"], true);
    let none = rig.get(&path(seq + 1)).await.json();
    assert_eq!(none, json!({"change": null, "change_note": null}));
    rig.get(&path(99)).await.is_problem(404, "no_such_event");
    rig.get(&format!("/api/v1/runs/{run}/events/x/change")).await.is_problem(400, "bad_path");
}

#[tokio::test]
async fn what_was_done_already_and_is_only_asked_about_now_is_shown_as_it_was_done() {
    let rig = Rig::new().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".mcp.json"), "new\n").unwrap();
    let (run, mut log) = at_work(&rig, folder.path()).await;
    let edits = vec![edit(".mcp.json", Some("old\n"), "new\n"), edit("gone", Some("text\n"), "")];
    let ask = opened(&rig, run, &mut log, edits).await;
    let shown = listed(&rig, &ask).await;
    let change = shown["change"].as_array().unwrap();
    assert_eq!(
        (&change[0]["status"], &change[0]["effect"]),
        (&json!("modified"), &json!("executes"))
    );
    assert_eq!((&change[0]["added"], &change[0]["removed"]), (&json!(1), &json!(1)), "{shown}");
    assert_eq!(
        (&change[1]["status"], &change[1]["removed"]),
        (&json!("deleted"), &json!(1)),
        "{shown}"
    );
}
