//! What a page is shown of a run of a real agent, while it works, waits and when it is over.

use musher_client::Client;
use serde_json::{Value as Json, json};

use crate::rig::{Project, Server};

const TEAM: &str = "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './work.toml'\n";
const SCRIPT: &str = "[[step]]\nsay = 'First this.'\n\
    [[step]]\nedit = 'README'\nold = 'hello'\nnew = 'good bye'\nask_first = true\n\
    [[step]]\nrun = 'read line'\nask_first = true\n";

/// The next activity of a run that a feed tells.
async fn activity(server: &Server, run: &str) -> Json {
    let client = Client::new(&server.url, &server.token).unwrap();
    let mut feed = client.stream(&["feed"], &[], None).await.unwrap();
    loop {
        let message = feed.next().await.unwrap().unwrap();
        let headline: Json = serde_json::from_str(&message.data).unwrap_or_default();
        if headline["activity"]["run"] == run {
            return headline["activity"].clone();
        }
    }
}

async fn ask(server: &Server, run: &str) -> Json {
    let ask = server.until_ask(run).await;
    let asks = server.get("/asks").await;
    asks["asks"].as_array().unwrap().iter().find(|it| it["ask"] == ask).unwrap().clone()
}

async fn answer(server: &Server, run: &str, ask: &Json, decision: &Json) {
    let path = format!("/runs/{run}/asks/{}/answer", ask["ask"].as_str().unwrap());
    server.post(&path, &json!({ "answer": decision })).await;
}

#[tokio::test]
async fn a_run_of_a_real_agent_is_shown_with_its_change_its_place_its_activity_and_its_end() {
    let project = Project::new(TEAM);
    std::fs::write(project.repo().join("work.toml"), SCRIPT).unwrap();
    let server = project.serve().await;
    let shown = server.get("/project").await;
    assert!(!shown["build"].as_str().unwrap().is_empty(), "{shown:#}");
    let checks = server.get("/checks").await;
    assert!(checks["checks"].as_array().unwrap().len() > 5, "{checks:#}");
    let (story, run) = server.begin("Do it.").await;
    let asked = ask(&server, &run).await;
    assert_eq!(asked["change"][0]["path"], "README", "{asked:#}");
    assert_eq!(asked["change"][0]["hunks"][0]["lines"][1]["text"], "good bye");
    assert_eq!(asked["body"]["edits"][0]["old"], "hello");
    let live = server.run(&run).await;
    let worktree = std::path::PathBuf::from(live["worktree"].as_str().unwrap());
    assert!(worktree.join("README").is_file(), "{live:#}");
    let doing = activity(&server, &run).await;
    assert_eq!(doing["text"], "Asks for edit README", "{doing:#}");
    answer(&server, &run, &asked, &json!({ "decision": "allow" })).await;
    let next = ask(&server, &run).await;
    assert_eq!(next["change"], json!(null));
    answer(&server, &run, &next, &json!({ "decision": "deny", "reason": "no" })).await;
    let over = server.until_over(&run).await;
    assert_eq!(over["worktree"], worktree.display().to_string(), "the story keeps its slot");
    // What was counted while it waited is shown until it is counted anew.
    server.until(&run, |view| view["lines"] == json!({"added": 1, "removed": 1})).await;
    let board = server.get(&format!("/stories/{story}")).await;
    assert_eq!(board["latest"]["lines"], json!({"added": 1, "removed": 1}), "{board:#}");
    let outline = server.get(&format!("/runs/{run}/outline")).await;
    assert_eq!(outline["turns"].as_array().unwrap().len(), 1, "{outline:#}");
    assert!(!outline["turns"][0]["prompt"].as_str().unwrap().is_empty());
    let spans: Vec<_> =
        outline["spans"].as_array().unwrap().iter().map(|span| &span["name"]).collect();
    assert_eq!(spans, ["edit", "approval", "run", "approval"], "{outline:#}");
    let found = server.get(&format!("/runs/{run}/search?q=GOOD%20BYE")).await;
    assert!(!found["matches"].as_array().unwrap().is_empty(), "{found:#}");
}

#[tokio::test]
async fn the_memory_of_a_live_agent_is_told() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work hang=1]]").await;
    server.until_live(&run).await;
    let began = std::time::Instant::now();
    loop {
        let agents = server.get("/agents").await;
        let at_work = &agents["agents"][0]["runs"][0];
        if at_work["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 0) {
            break;
        }
        assert!(began.elapsed() < crate::rig::PATIENCE, "{agents:#}");
    }
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    server.until_over(&run).await;
}
