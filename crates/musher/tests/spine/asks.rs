//! What waits for a person, across the death of the server.

use serde_json::json;

use crate::rig::Project;

#[tokio::test]
async fn promise_15_an_approval_that_is_open_across_a_restart_is_answered_once() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work ask=\"make all\" lines=1]]").await;
    let ask = server.until_ask(&run).await;
    server.kill();
    let server = project.serve().await;
    assert_eq!(server.until_ask(&run).await, ask);
    let path = format!("/runs/{run}/asks/{ask}/answer");
    let yes = json!({ "answer": { "decision": "allow" } });
    let no = json!({ "answer": { "decision": "deny", "reason": "no" } });
    let (first, second) = tokio::join!(server.try_post(&path, &yes), server.try_post(&path, &no));
    let replies = [first.unwrap(), second.unwrap()];
    let won: Vec<_> = replies.iter().filter(|(status, _)| *status < 300).collect();
    assert_eq!(won.len(), 1, "{replies:?}");
    assert_eq!(won[0].1["status"], "sent");
    let lost = replies.iter().find(|(status, _)| *status >= 300).unwrap();
    assert_eq!(lost.0, 409, "{replies:?}");
    server.until_over(&run).await;
    let (status, late) = server.try_post(&path, &yes).await.unwrap();
    assert_eq!((status, late["code"].as_str()), (409, Some("already_answered")), "{late:#}");
    let effects = project.worker_file("effects");
    assert_eq!(effects.lines().count(), 1, "{effects}");
    assert_eq!(
        project.worker_file("starts").lines().count(),
        1,
        "the agent was never started again"
    );
}
