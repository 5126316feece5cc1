//! Whatever an agent puts over a file of its own run's folder, the server answers, ends and begins, and the run ends.

use futures_util::future::join_all;
use serde_json::json;

use crate::rig::Project;
use crate::tricks::{at_work, pipe, soon};

#[tokio::test]
async fn a_pipe_over_a_file_of_a_runs_folder_holds_up_nobody_and_the_run_ends() {
    let project = Project::of_workers();
    let mut server = project.serve().await;
    let mut played = Vec::new();
    let names =
        ["head", "lock", "events-00000001.jsonl", "outcome.json", "spec.json", "runner.log", "s"];
    for name in names {
        let (_, run, _) = at_work(&project, &server).await;
        pipe(&project.run_folder(&run).join(name));
        played.push((name, run));
    }
    for (name, run) in &played {
        for path in ["", "/events", "/outline", "/diff"] {
            let path = format!("/runs/{run}{path}");
            // What cannot be read is told; nobody waits for it.
            let _told = soon(&format!("{name}: {path}"), server.try_get(&path)).await;
        }
        server.is_well().await;
    }
    server.ends().await;
    server = soon("the next server", project.serve()).await;
    let ends = played.iter().map(async |(name, run)| {
        server.post(&format!("/runs/{run}/stop"), &json!({})).await;
        let over = server.until_over(run).await;
        println!("{name}: {}", over["outcome"]);
        assert!(["stopped", "lost"].contains(&over["outcome"].as_str().unwrap()), "{over:#}");
        server.is_well().await;
    });
    join_all(ends).await;
    server.ends().await;
}

#[tokio::test]
async fn a_pipe_over_the_journals_log_or_index_is_named_by_a_server_that_does_not_start() {
    for name in ["journal.db-wal", "journal.db-shm"] {
        let project = Project::of_workers();
        let server = project.serve().await;
        server.post("/stories", &json!({ "title": "Kept" })).await;
        let (file, away) = (project.state().join(name), project.top().join("away"));
        std::fs::rename(&file, &away).unwrap();
        pipe(&file);
        // It answers, or it has ended because its journal is not the one that it opened.
        let _told = soon(name, server.try_get("/stories")).await;
        server.kill();
        assert!(project.serve_with(&[]).await.is_none(), "{name}");
        let said = std::fs::read_to_string(project.server_log()).unwrap();
        assert!(said.contains(name) && said.contains("a pipe"), "{name}: {said}");
        std::fs::remove_file(&file).unwrap();
        std::fs::rename(&away, &file).unwrap();
        let server = project.serve().await;
        assert_eq!(server.stories().await.len(), 1, "{name}: nothing is lost");
    }
}
