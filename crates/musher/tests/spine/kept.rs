//! Worktrees that serve one story after another: nothing of the first is lost, and nothing of it reaches the second.

use std::fs;

use musher_client::Client;
use serde_json::json;

use crate::rig::{PATIENCE, Project, Server};

/// A project that commits nothing by itself and keeps a build cache.
fn careless() -> Project {
    let project = Project::new(
        "auto_commit = false\n[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{ story.text }}'\nenv = { WORKER_HOME = '@HOME@' }\n[worktree]\nkeep = ['cache']\n",
    );
    fs::write(project.repo().join(".gitignore"), "*.log\ncache/\n").unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "ignore"]);
    project
}

async fn slot(server: &Server, project: &Project, run: &str) -> std::path::PathBuf {
    let slot = server.run(run).await["slot"].as_u64().unwrap();
    project.state().join("worktrees").join(slot.to_string())
}

/// Waits until no story holds the worktree any more.
async fn until_released(server: &Server) {
    let client = Client::new(&server.url, &server.token).unwrap();
    let mut feed = client.stream(&["feed"], &[], Some("f0")).await.unwrap();
    loop {
        let told = tokio::time::timeout(PATIENCE, feed.next()).await.unwrap().unwrap().unwrap();
        if told.event.as_deref() == Some("fact") && told.data.contains("slot_released") {
            return;
        }
    }
}

/// The recovery refs, with what each of them points to.
fn kept(project: &Project) -> Vec<String> {
    let list = project.git(&["for-each-ref", "--format=%(refname)", "refs/musher/recovery/"]);
    list.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn promise_12_work_that_was_never_committed_is_on_a_recovery_ref_and_not_in_the_next_story() {
    let project = careless();
    let server = project.serve().await;
    let (story, run) = server
        .begin("[[work write=new.txt text=untracked]] [[work write=README text=changed]] [[work write=debug.log text=secret]] [[work write=cache/object text=warm]]")
        .await;
    let over = server.until_over(&run).await;
    assert_eq!((&over["outcome"], &over["commit"]), (&json!("completed"), &json!(null)));
    let first = slot(&server, &project, &run).await;
    // A person looks into the folder after the run, and leaves something there.
    fs::write(first.join("note.txt"), "by hand\n").unwrap();
    fs::create_dir_all(first.join(".hidden")).unwrap();
    fs::write(first.join(".hidden/settings.log"), "mine\n").unwrap();
    server.post(&format!("/stories/{story}/archive"), &json!({})).await;
    until_released(&server).await;
    let (_, next) = server.begin("[[work ask=make write=other.txt text=second]]").await;
    server.until_ask(&next).await;
    let second = slot(&server, &project, &next).await;
    assert_eq!(second, first, "the worktree is used again");
    let left = fs::read_dir(&second).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
    left.sort();
    assert_eq!(left, [".git", ".gitignore", ".musher", "README", "cache"]);
    assert_eq!(fs::read_to_string(second.join("README")).unwrap(), "hello\n");
    assert_eq!(fs::read_to_string(second.join("cache/object")).unwrap(), "warm\n");
    let refs = kept(&project);
    assert_eq!(refs.len(), 1, "{refs:?}");
    for (file, text) in [("new.txt", "untracked"), ("README", "changed"), ("note.txt", "by hand")] {
        assert_eq!(project.git(&["show", &format!("{}:{file}", refs[0])]).trim(), text);
    }
    server.post(&format!("/runs/{next}/kill"), &json!({})).await;
    server.until_over(&next).await;
}

#[tokio::test]
async fn promise_12_work_is_kept_when_the_server_dies_while_it_puts_a_story_away() {
    for round in 0..3_u64 {
        let project = careless();
        let server = project.serve().await;
        let (story, run) = server.begin("[[work write=new.txt text=untracked]]").await;
        server.until_over(&run).await;
        let archive = format!("/stories/{story}/archive");
        let nothing = json!({});
        let archived = server.try_post(&archive, &nothing);
        let moment = std::time::Duration::from_millis(round * 12);
        // The server is killed before, while or after it does so.
        let _cut_off = tokio::time::timeout(moment, archived).await;
        server.kill();
        let server = project.serve().await;
        let (_, reply) = server.try_post(&archive, &json!({})).await.unwrap();
        assert!(reply.is_object(), "{reply}");
        until_released(&server).await;
        let (_, next) = server.begin("[[work lines=1]]").await;
        server.until_over(&next).await;
        let refs = kept(&project);
        let found = refs.iter().filter(|name| {
            project.git(&["show", &format!("{name}:new.txt")]).trim() == "untracked"
        });
        // A crash between the ref and the fact may make a second one, which does no harm.
        assert!(found.count() >= 1, "{refs:?}");
        let slot = slot(&server, &project, &next).await;
        assert!(!slot.join("new.txt").exists());
    }
}

#[tokio::test]
async fn a_worktree_that_is_gone_is_made_anew_from_its_branch_and_set_up_again() {
    let project = Project::new(
        "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{ story.text }}'\nenv = { WORKER_HOME = '@HOME@' }\n[worktree]\nsetup = ['echo done >> @HOME@/setups']\n",
    );
    let server = project.serve().await;
    let (_, mut run) = server.begin("[[work write=made.txt text=done]]").await;
    server.until_over(&run).await;
    let slot = slot(&server, &project, &run).await;
    let entry = project.repo().join(".git/worktrees/1");
    for n in 1..=2 {
        match n {
            // A person cleans up, here or there.
            1 => fs::remove_dir_all(&slot).unwrap(),
            _ => fs::remove_dir_all(&entry).unwrap(),
        }
        let more = json!({ "text": format!("[[work write={n}.txt text=more]]") });
        let reply = server.post(&format!("/runs/{run}/prompt"), &more).await;
        run = reply["run"].as_str().unwrap().to_owned();
        let over = server.until_over(&run).await;
        assert_eq!((&over["outcome"], &over["finish_error"]), (&json!("completed"), &json!(null)));
        let branch = over["branch"].as_str().unwrap();
        assert_eq!(project.git(&["show", &format!("{branch}:made.txt")]).trim(), "done");
        assert_eq!(project.git(&["show", &format!("{branch}:{n}.txt")]).trim(), "more");
        assert_eq!(project.worker_file("setups").lines().count(), n + 1);
    }
}

#[tokio::test]
async fn a_worktree_of_which_a_power_cut_left_empty_files_is_mended_with_the_work_in_it() {
    let project = careless();
    let server = project.serve().await;
    let (_, mut run) = server.begin("[[work write=made.txt text=done]]").await;
    server.until_over(&run).await;
    let slot = slot(&server, &project, &run).await;
    let entry = project.repo().join(".git/worktrees/1");
    let files = ["HEAD", "index", "commondir", "gitdir"].map(|name| entry.join(name));
    for file in files.iter().chain([&slot.join(".git")]) {
        fs::write(file, "").unwrap();
        // Others can go on too.
        let (_, other) = server.begin("[[work lines=1]]").await;
        let over = server.until_over(&other).await;
        assert_eq!(over["outcome"], "completed", "{}: {over:#}", file.display());
        let more = json!({ "text": "[[work lines=1]]" });
        let reply = server.post(&format!("/runs/{run}/prompt"), &more).await;
        run = reply["run"].as_str().unwrap().to_owned();
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "completed", "{}: {over:#}", file.display());
        assert_eq!(fs::read_to_string(slot.join("made.txt")).unwrap(), "done\n");
        assert_eq!(project.git_in(&slot, &["status", "--short"]).trim(), "?? made.txt");
        project.git(&["fsck"]);
    }
}
