//! What a person does with a story, from its first word to its merge.

use musher_core::EventKind;
use serde_json::json;

use crate::rig::Project;

#[tokio::test]
async fn a_story_is_worked_on_in_a_worktree_of_its_own_committed_shown_and_merged() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (story, run) =
        server.begin("[[work lines=3 write=made.txt text=hello input=7 output=3 cost=0.5]]").await;
    let over = server.until_over(&run).await;
    assert_eq!((&over["outcome"], &over["branch"]), (&json!("completed"), &json!("musher/s1/1")));
    assert_eq!(project.git(&["show", "musher/s1/1:made.txt"]).trim(), "hello");
    let usage = server.get("/usage?by=story").await;
    assert_eq!(usage["rows"][0]["spent"]["input"], 7, "{usage:#}");
    server.post(&format!("/stories/{story}/merge"), &json!({})).await;
    assert_eq!(std::fs::read_to_string(project.repo().join("made.txt")).unwrap().trim(), "hello");
    assert_eq!(server.get(&format!("/stories/{story}")).await["state"], "done");
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_5_two_starts_at_the_same_moment_give_one_run_and_one_clear_refusal() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let story =
        server.post("/stories", &json!({ "title": "Work", "text": "[[work lines=1]]" })).await;
    let path = format!("/stories/{}/start", story["story"].as_str().unwrap());
    let starts: Vec<_> = (0..50)
        .map(|_| {
            let path = path.clone();
            let server = &server;
            async move { server.try_post(&path, &json!({})).await.unwrap() }
        })
        .collect();
    let replies = futures_util::future::join_all(starts).await;
    let won: Vec<_> = replies.iter().filter(|(status, _)| *status < 300).collect();
    assert_eq!(won.len(), 1, "{replies:?}");
    for (status, problem) in replies.iter().filter(|(status, _)| *status >= 300) {
        assert_eq!((*status, &problem["code"]), (409, &json!("already_running")), "{problem:#}");
    }
    let run = won[0].1["run"].as_str().unwrap().to_owned();
    server.until_over(&run).await;
    assert_eq!(project.worker_file("starts").lines().count(), 1);
}

#[tokio::test]
async fn runs_beyond_the_limit_wait_and_start_by_themselves() {
    let project = Project::new(
        "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{ story.text }}'\nenv = { WORKER_HOME = '@HOME@' }\n[limits]\nruns = 2\n",
    );
    let server = project.serve().await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(server.begin("[[work lines=5 every_ms=40]]").await.1);
    }
    let live = server.get("/runs").await;
    let busy = live["runs"].as_array().unwrap().iter();
    assert!(busy.filter(|run| run["phase"] != "queued" && run["phase"] != "over").count() <= 2);
    for run in &runs {
        assert_eq!(server.until_over(run).await["outcome"], "completed");
    }
}

#[tokio::test]
async fn an_ended_run_is_prompted_resumed_retried_and_forked() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, first) = server.begin("[[work lines=2 write=a.txt text=one]]").await;
    let session = server.until_over(&first).await["session"].clone();
    let prompted = server
        .post(
            &format!("/runs/{first}/prompt"),
            &json!({ "text": "[[work lines=1 write=b.txt text=two]]" }),
        )
        .await;
    let second = prompted["run"].as_str().unwrap().to_owned();
    let view = server.until_over(&second).await;
    assert_eq!((&view["kind"], &view["session"]), (&json!("resume"), &session), "{view:#}");
    assert_eq!(view["slot"], server.run(&first).await["slot"], "the same worktree");
    let forked = server
        .post(
            &format!("/runs/{second}/fork"),
            &json!({ "text": "[[work lines=1 write=c.txt text=three]]" }),
        )
        .await;
    let third = forked["run"].as_str().unwrap().to_owned();
    let view = server.until_over(&third).await;
    assert_ne!(view["session"], session, "{view:#}");
    assert_ne!(view["slot"], server.run(&first).await["slot"]);
    let branch = view["branch"].as_str().unwrap();
    for (file, text) in [("a.txt", "one"), ("b.txt", "two"), ("c.txt", "three")] {
        assert_eq!(project.git(&["show", &format!("{branch}:{file}")]).trim(), text);
    }
    let retried = server.post(&format!("/runs/{first}/retry"), &json!({})).await;
    let fourth = retried["run"].as_str().unwrap().to_owned();
    assert_eq!(server.until_over(&fourth).await["kind"], "retry");
    let texts = project
        .events(&fourth)
        .into_iter()
        .filter(|event| matches!(event.kind, EventKind::ItemDone { .. }));
    assert_eq!(texts.count(), 2, "a retry begins anew with the same words");
}

#[tokio::test]
async fn promise_3_a_stop_is_true_and_keeps_session_and_worktree() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server
        .begin("[[work write=half.txt text=done spawn=setsid spawn=daemon lines=1000 every_ms=20]]")
        .await;
    server.until_live(&run).await;
    while project.left().len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "stopped");
    assert!(over["session"].is_string(), "{over:#}");
    assert_eq!(project.left(), Vec::<i32>::new());
    let branch = over["branch"].as_str().unwrap();
    assert_eq!(project.git(&["show", &format!("{branch}:half.txt")]).trim(), "done");
}
