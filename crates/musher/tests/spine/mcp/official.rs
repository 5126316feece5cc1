//! The official client of the protocol's makers lists and calls our tools, in both generations.

use std::process::Stdio;

use musher_testkit::real::require_mcp_client;
use serde_json::{Value as Json, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::agent::{Endpoint, project};
use crate::rig::{PATIENCE, Project};

/// What the client calls the two generations, and the version that each must come to.
fn generations() -> [(Json, &'static str); 2] {
    [(json!("legacy"), "2025-11-25"), (json!({ "pin": "2026-07-28" }), "2026-07-28")]
}

/// Runs the client with what it is told, and gives what it has to say.
async fn client(told: Json) -> Json {
    try_client(told.clone()).await.unwrap_or_else(|errors| panic!("{told:#}\n{errors}"))
}

/// The same; what goes wrong is given back.
async fn try_client(mut told: Json) -> Result<Json, String> {
    told["package"] = json!(require_mcp_client());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/spine/mcp/client.mjs");
    let mut node = Command::new("node");
    let node = node.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = node.kill_on_drop(true).spawn().unwrap();
    child.stdin.take().unwrap().write_all(told.to_string().as_bytes()).await.unwrap();
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn names(heard: &Json) -> Vec<&str> {
    let tools = heard["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// What an assistant does with a project; each generation gets a story of its own.
async fn operates(project: &Project, transport: Json, mode: Json, version: &str, story: &str) {
    let call = |name: &str, arguments| json!({ "name": name, "arguments": arguments });
    let heard = client(json!({
        "transport": transport,
        "mode": mode,
        "calls": [
            call("add_story", json!({ "title": "Work", "text": "[[work write=a.txt]]", "id": story })),
            call("start_run", json!({ "story": story })),
            call("wait_for_runs", json!({ "runs": [story], "until": "over" })),
            call("read_diff", json!({ "run": story })),
            call("read_events", json!({ "run": story, "kinds": ["session_ended"] })),
            call("list_runs", json!({ "story": story, "limit": 1 })),
            call("read_story", json!({ "story": "no-such-story" })),
            call("read_story", json!({ "story": "../../etc/passwd" })),
        ],
        // The first word of progress makes the client change its mind.
        "cancel": call("wait_for_runs", json!({ "runs": ["r1"], "until": "over", "timeout_seconds": 60 })),
    }))
    .await;
    assert_eq!(heard["version"], version, "{heard:#}");
    assert_eq!(names(&heard)[..3], ["list_stories", "read_story", "add_story"]);
    let results = heard["results"].as_array().unwrap();
    let structured = |at: usize| &results[at]["structuredContent"];
    let text = |at: usize| results[at]["content"][0]["text"].as_str().unwrap();
    assert_eq!(structured(0), &json!({ "status": "added", "story": story }));
    assert_eq!(structured(1)["status"], "queued", "{heard:#}");
    assert_eq!(structured(2)["reached"], "over", "{heard:#}");
    assert!(text(3).contains("+++ b/a.txt"), "{}", text(3));
    assert_eq!(structured(3)["files"][0]["path"], "a.txt");
    assert_eq!(structured(4)["events"][0]["type"], "session_ended");
    assert_eq!(structured(5)["runs"][0]["outcome"], "completed");
    for at in [6, 7] {
        assert_eq!(results[at]["isError"], true, "{heard:#}");
        assert!(!text(at).is_empty());
    }
    let progress = heard["progress"].as_array().unwrap();
    assert!(!progress.is_empty(), "a wait says how far it is: {heard:#}");
    assert!(heard["cancelled"].as_str().unwrap().contains("changed my mind"), "{heard:#}");
    assert!(project.worker_file("starts").lines().count() > 1);
}

#[tokio::test]
async fn the_official_client_operates_a_project_over_http_in_both_generations() {
    let project = Project::of_workers();
    let server = project.serve().await;
    // It never ends, so that a wait for it can be cancelled.
    server.begin("[[work hang=1]]").await;
    let made = project.cli(&["token", "add", "assistant", "--scope", "operator", "--json"]).await;
    let made: Json = serde_json::from_str(&made).unwrap();
    let transport = json!({ "url": format!("{}/mcp", server.url), "token": made["token"] });
    for ((mode, version), story) in generations().into_iter().zip(["one", "two"]) {
        operates(&project, transport.clone(), mode, version, story).await;
    }
    assert!(project.cli(&["token", "list"]).await.contains("assistant"));
    project.cli(&["token", "revoke", made["id"].as_str().unwrap()]).await;
    for (mode, _) in generations() {
        let errors = try_client(json!({ "transport": transport, "mode": mode })).await.unwrap_err();
        assert!(errors.contains("401") || errors.contains("nauthorized"), "{errors}");
    }
}

#[tokio::test]
async fn the_official_client_operates_a_project_over_stdio_in_both_generations() {
    let project = Project::of_workers();
    let server = project.serve().await;
    server.begin("[[work hang=1]]").await;
    let transport = json!({
        "command": env!("CARGO_BIN_EXE_musher"),
        "args": ["mcp", "--state", project.state()],
        "cwd": project.repo(),
        "env": { "HOME": project.home() },
    });
    for ((mode, version), story) in generations().into_iter().zip(["one", "two"]) {
        operates(&project, transport.clone(), mode, version, story).await;
    }
}

#[tokio::test]
async fn the_official_client_uses_the_tools_of_a_run_in_both_generations() {
    let project = project();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work hang=1]] the words of the story").await;
    let Endpoint { command, args, env } = Endpoint::of(&project, &run).await;
    let transport = json!({ "command": command, "args": args, "env": env });
    for (mode, version) in generations() {
        let heard = client(json!({
            "transport": transport,
            "mode": mode,
            "calls": [{ "name": "story", "arguments": {} }],
        }))
        .await;
        assert_eq!(heard["version"], version);
        assert_eq!(names(&heard), ["story", "plan", "ask_person", "report_progress", "finish"]);
        let story = &heard["results"][0];
        assert!(story["content"][0]["text"].as_str().unwrap().contains("the words of the story"));
        assert_eq!(story["structuredContent"]["run"], run);
    }
}

#[tokio::test]
async fn the_official_client_keeps_its_session_beside_abandoned_ones_and_begins_a_new_one_when_told()
 {
    let project = Project::of_workers();
    let server = project.serve().await;
    let transport = json!({ "url": format!("{}/mcp", server.url), "token": server.token });
    let (mode, version) = generations()[0].clone();
    let calls = [json!({ "name": "list_stories", "arguments": {} })];
    let told = json!({ "transport": transport, "mode": mode, "calls": calls, "abandon": 1_000 });
    let heard = client(told).await;
    assert_eq!(heard["kept"], 16, "{heard:#}");
    assert!(heard["gone"].as_str().unwrap().contains("404"), "{heard:#}");
    assert_eq!(heard["version"], version, "{heard:#}");
    assert_eq!(heard["results"][0]["isError"], false, "{heard:#}");
    // Another client, with a token of its own, notices nothing.
    let made = project.cli(&["token", "add", "other", "--scope", "operator", "--json"]).await;
    let made: Json = serde_json::from_str(&made).unwrap();
    let transport = json!({ "url": format!("{}/mcp", server.url), "token": made["token"] });
    for (mode, version) in generations() {
        let told = json!({ "transport": transport, "mode": mode, "calls": calls });
        assert_eq!(client(told).await["version"], version);
    }
}
