//! Merges through the HTTP door with real git: one after the other, in the order in which they were asked for.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::rig::Project;

const STORIES: usize = 6;
const SOON: Duration = Duration::from_secs(60);

#[tokio::test]
async fn merges_asked_for_at_once_land_in_the_order_in_which_they_were_asked_for() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let mut stories = Vec::new();
    for n in 0..STORIES {
        let (story, run) = server.begin(&format!("[[work write=f{n}.txt text=x]]")).await;
        assert!(server.until_over(&run).await["commit"].is_string());
        stories.push(story);
    }
    let http = reqwest::Client::new();
    // Every second one needs no search, and could be merged while the one before it is still searched.
    for (n, story) in stories.iter().enumerate() {
        let body = json!({ "with_secrets": n % 2 == 1 });
        let request = http.post(format!("{}/api/v1/stories/{story}/merge", server.url));
        let request = request.bearer_auth(&server.token).header("prefer", "wait=0").json(&body);
        let reply = request.send().await.unwrap();
        assert!(reply.status().is_success(), "{}", reply.text().await.unwrap());
    }
    let began = Instant::now();
    for story in &stories {
        while !server.get(&format!("/stories/{story}")).await["merged"].is_string() {
            assert!(began.elapsed() < SOON, "{story} was never merged");
        }
    }
    let log =
        project.git(&["log", "--first-parent", "--merges", "--reverse", "--format=%s", "main"]);
    let landed: Vec<&str> = log.lines().filter_map(|line| line.split([' ', ':']).nth(2)).collect();
    assert_eq!(landed, stories, "{log}");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}
