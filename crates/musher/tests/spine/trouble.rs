//! What happens to the files of a run behind everybody's back: the run ends all the same, and nothing waits for ever.

use std::time::Duration;

use serde_json::json;

use crate::rig::Project;

#[tokio::test]
async fn a_runner_that_could_not_be_reached_is_reached_again_while_its_agent_keeps_talking() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=6000 every_ms=20]]").await;
    server.until_live(&run).await;
    server.kill();
    let (door, away) = (project.run_folder(&run).join("s"), project.run_folder(&run).join("away"));
    std::fs::rename(&door, &away).unwrap();
    let server = project.serve().await;
    let before = project.events(&run).len();
    while project.events(&run).len() < before + 20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    std::fs::rename(&away, &door).unwrap();
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    assert_eq!(server.until_over(&run).await["outcome"], "stopped");
}
