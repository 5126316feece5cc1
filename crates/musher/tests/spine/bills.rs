//! Bills of agents that were killed, cut off or stopped, beside the books that the agents kept of every call.

use std::collections::BTreeMap;
use std::time::Duration;

use musher_testkit::books::{Balance, Bill, Books, sum};
use musher_testkit::proc;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::dice::Dice;
use crate::rig::{Project, Server, WORKERS, kill_runner};

/// So many runs are broken off, in turn by each way.
const RUNS: usize = 16;

/// A project whose agents tell every call by itself, and go on for a while when they are taken up again.
pub(crate) fn charged_by_calls() -> Project {
    let calls = "WORKER_CALLS = '1' }\ncontinue_prompt = '[[work lines=5]]'\n[limits]";
    Project::new(&WORKERS.replace(" }\n[limits]", &format!(", {calls}")))
}

#[derive(Debug, Clone, Copy)]
enum Way {
    KillAgent,
    KillRunner,
    Stop,
    Kill,
}

const WAYS: [Way; 4] = [Way::KillAgent, Way::KillRunner, Way::Stop, Way::Kill];

async fn break_off(project: &Project, server: &Server, run: &str, way: Way) {
    match way {
        Way::KillAgent => {
            let session = server.until(run, |view| view["session"].is_string()).await;
            let session = session["session"].as_str().unwrap();
            let starts = project.worker_file("starts");
            let start = starts.lines().find(|line| line.ends_with(session)).unwrap();
            let pid = start.split(' ').next().unwrap().parse().unwrap();
            if proc::alive(pid) {
                kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
            }
        }
        Way::KillRunner => kill_runner(&project.run_folder(run)).unwrap(),
        Way::Stop => _ = server.post(&format!("/runs/{run}/stop"), &json!({})).await,
        Way::Kill => _ = server.post(&format!("/runs/{run}/kill"), &json!({})).await,
    }
}

/// What each session was charged for, as everybody is told.
pub(crate) fn bills(runs: &[Json]) -> BTreeMap<String, Bill> {
    let mut bills: BTreeMap<String, Bill> = BTreeMap::new();
    for run in runs {
        let Some(session) = run["session"].as_str() else { continue };
        let bill = bills.entry(session.to_owned()).or_default();
        let tokens = |name: &str| run["spent"][name].as_u64().unwrap();
        bill.tokens = sum(bill.tokens, (tokens("input"), tokens("output")));
        bill.unknown |= run["spent"]["cost_usd"].is_null();
        bill.broken_off |= run["outcome"] != "completed";
        bill.lost |= run["outcome"] == "lost";
    }
    bills
}

#[tokio::test]
async fn promise_20_no_bill_of_a_run_that_was_broken_off_is_below_the_books_of_its_agent() {
    let project = charged_by_calls();
    let server = project.serve().await;
    let mut dice = Dice(20_261_116);
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(server.begin("[[work lines=100000 every_ms=60]]").await.1);
    }
    for run in &runs {
        server.until(run, |view| view["session"].is_string()).await;
    }
    for (run, way) in runs.iter().zip(WAYS.iter().cycle()) {
        tokio::time::sleep(Duration::from_millis(dice.roll(40))).await;
        break_off(&project, &server, run, *way).await;
    }
    for run in &runs {
        server.until_over(run).await;
    }
    // Lost runs are taken up again, and come to a good end.
    let runs = loop {
        let page = server.get("/runs?limit=1000").await;
        let runs = page["runs"].as_array().unwrap().clone();
        if runs.iter().all(|run| run["phase"] == "over") {
            break runs;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let (books, bills) = (Books::read(&project.worker_home()), bills(&runs));
    let mut known = 0;
    for session in books.sessions() {
        let bill = bills.get(session).copied().unwrap_or_default();
        let balance =
            books.judge(session, bill).unwrap_or_else(|wrong| panic!("{wrong}\n{runs:#?}"));
        known += usize::from(balance == Balance::Known);
    }
    // A run that was asked to stop has told its total, and so has one that was taken up again after its runner died.
    assert!(known >= RUNS / 4, "only {known} bills are known: {bills:#?}");
}
