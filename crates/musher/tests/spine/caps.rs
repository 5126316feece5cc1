//! The day's cap with real runners: what is left of it bounds a run, and what waits for it begins when it is raised.

use serde_json::{Value as Json, json};

use crate::rig::{Project, Server};

const AGENT: &str =
    "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = '.musher/work.toml'\n";

/// Each turn costs half a dollar, and asks before it costs the next.
const WORK: &str = "[[step]]\nusage = { input = 1, output = 1, cost_usd = 0.5 }\n\
    [[step]]\nrun = 'true'\nask_first = true\n\
    [[step]]\nusage = { input = 1, output = 1, cost_usd = 0.5 }\n\
    [[step]]\nsay = 'Done.'\n";

fn project() -> Project {
    let project = Project::new(AGENT);
    std::fs::write(project.repo().join(".musher/work.toml"), WORK).unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "script"]);
    project
}

async fn approve(server: &Server, run: &str) {
    let ask = server.until_ask(run).await;
    let yes = json!({ "answer": { "decision": "allow" } });
    server.post(&format!("/runs/{run}/asks/{ask}/answer"), &yes).await;
}

fn waits(view: &Json) -> bool {
    view["phase"] == "queued" && view["note"].as_str().is_some_and(|note| note.contains("cap"))
}

#[tokio::test]
async fn a_queued_run_waits_for_money_says_so_and_begins_when_the_cap_is_raised() {
    let project = project();
    let server = project.serve().await;
    let said = project.cli(&["cap", "1.20"]).await;
    assert!(said.contains("$1.20"), "{said}");
    let (_, first) = server.begin("").await;
    server.until_ask(&first).await;
    let (_, second) = server.begin("").await;
    let waiting = server.until(&second, waits).await;
    assert_eq!(waiting["error"], Json::Null, "to wait is no error: {waiting:#}");
    let shown = project.cli(&["ps"]).await;
    assert!(shown.contains("the cap of $1.20 for today is reached"), "{shown}");
    approve(&server, &first).await;
    let over = server.until_over(&first).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");

    // Twenty cents are left, so the second run begins and ends by them.
    let over = server.until_over(&second).await;
    assert_eq!(over["outcome"], "out_of_budget", "{over:#}");
    assert!(over["error"].to_string().contains("$0.20 "), "{over:#}");

    let (_, third) = server.begin("").await;
    server.until(&third, waits).await;
    server.kill();
    let server = project.serve().await;
    server.until(&third, waits).await;
    assert_eq!(server.get("/local").await["caps"]["day_usd"], 1.2, "it outlives the server");
    project.cli(&["cap", "none"]).await;
    approve(&server, &third).await;
    let over = server.until_over(&third).await;
    assert_eq!((&over["outcome"], &over["note"]), (&json!("completed"), &Json::Null), "{over:#}");
    assert_eq!(server.get("/local").await["caps"]["day_usd"], Json::Null);
}
