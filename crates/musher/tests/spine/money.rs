//! The bill of agents that are killed, through the whole stack: it is never below the books of the model, and the day's
//! cap holds.

use std::time::Duration;

use musher_testkit::model::{ModelServer, Usage};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::dice::Dice;
use crate::real::project;
use crate::rig::{Project, Server, kill_runner};

/// The sum of all runs, as everybody is shown it.
async fn billed(server: &Server) -> Json {
    let reply = server.get("/usage?by=model").await;
    let rows = reply["rows"].as_array().cloned().unwrap_or_default();
    let count = |name: &str| -> u64 {
        rows.iter().map(|row| row["spent"][name].as_u64().unwrap_or(0)).sum()
    };
    // A sum that is marked as the least that it can be does not say that it is all.
    let is_whole = |row: &Json| {
        row["spent"]["cost_usd"].is_number() && row["spent"]["estimated"] == json!(false)
    };
    json!({
        "input": count("input"), "cache_read": count("cache_read"), "output": count("output"),
        "whole": rows.iter().all(is_whole),
    })
}

fn kill(pids: Vec<i32>) {
    for pid in pids {
        // One may have ended with another.
        let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}

/// Waits until no run is under way, those that the pool restarts included.
async fn until_quiet(server: &Server) {
    for _ in 0..6000 {
        let live = server.get("/runs?state=live").await;
        if live["runs"].as_array().is_none_or(Vec::is_empty) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the runs never ended");
}

#[tokio::test]
async fn promise_20_agents_runners_and_trees_killed_at_seeded_moments_are_never_billed_below_the_books()
 {
    let mut dice = Dice(20_261_116);
    for round in 0..3 {
        let model = ModelServer::start().await.unwrap();
        let project = without_rules(&model);
        let server = project.serve().await;
        let (_, run) = server.begin("[[scn:seq n=8 delay=100]] go").await;
        server.until_live(&run).await;
        tokio::time::sleep(Duration::from_millis(600 + dice.roll(1500))).await;
        let agents = project.left();
        match round {
            0 => kill(agents),
            1 => drop(kill_runner(&project.run_folder(&run))),
            _ => {
                let _gone = kill_runner(&project.run_folder(&run));
                kill(agents);
            }
        }
        until_quiet(&server).await;
        let Usage { input, cache_read, output, .. } = model.ledger().told();
        let ours = billed(&server).await;
        let below = ours["input"].as_u64() < Some(input)
            || ours["cache_read"].as_u64() < Some(cache_read)
            || ours["output"].as_u64() < Some(output);
        let books = format!("round {round}: {ours} against {input}, {cache_read}, {output}");
        assert!(!below || ours["whole"] == false, "{books}");
        assert_eq!(project.left(), Vec::<i32>::new());
    }
}

/// The same project with an agent that asks nobody.
fn without_rules(model: &ModelServer) -> Project {
    let project = project(model);
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("rules = { ask = ['execute'] }", "rules = { allow = ['execute'] }");
    std::fs::write(&file, text).unwrap();
    project.git(&["commit", "-qam", "no rules"]);
    project
}

#[tokio::test]
async fn promise_20_killed_runs_cannot_spend_more_than_the_days_cap_together() {
    let model = ModelServer::start().await.unwrap();
    let project = project(&model);
    let server = project.serve().await;
    project.cli(&["cap", "0.30"]).await;
    // A call costs ten cents, and then waits for a person.
    let text = "[[scn:bash in=25000 cr=0 cw=0 out=1]] go";
    for _ in 0..2 {
        let (_, run) = server.begin(text).await;
        server.until_ask(&run).await;
        server.post(&format!("/runs/{run}/kill"), &json!({})).await;
        let over = server.until_over(&run).await;
        assert!(over["spent"]["known_cost_usd"].as_f64() >= Some(0.1), "it is not free: {over:#}");
        assert_eq!(over["spent"]["estimated"], true, "{over:#}");
    }
    // The third one uses up with its first call what the cap has left it.
    let (_, run) = server.begin(text).await;
    let over = server.until_over(&run).await;
    assert_eq!(over["outcome"], "out_of_budget", "{over:#}");
    assert!(over["spent"]["cost_usd"].as_f64() >= Some(0.1), "it is not free: {over:#}");
    let calls = model.ledger().requests();
    assert!(calls <= 3, "{calls} calls of ten cents each");
    let (_, run) = server.begin(text).await;
    let waits = |view: &Json| view["note"].as_str().is_some_and(|note| note.contains("cap"));
    server.until(&run, waits).await;
    let day = &server.get("/project").await["day"];
    assert!(day["spent_usd"].as_f64() >= Some(0.3), "{day:#}");
    let shown = project.cli(&["usage", "--by", "run"]).await;
    assert!(shown.contains("≈ $0.10"), "{shown}");
}
