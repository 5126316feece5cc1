//! What ends a run that would not end by itself: its limits, a stop, and the end of its process.

use std::time::{Duration, Instant};

use musher::runner::spec::RunSpec;
use musher_core::EventKind;
use serde_json::json;

use crate::rig::Project;

/// A project file with an agent for each limit.
fn limited() -> Project {
    let agent = |name: &str, limit: &str| {
        format!(
            "[[agent]]\nname = '{name}'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{{{ story.text }}}}'\nenv = {{ WORKER_HOME = '@HOME@' }}\n{limit}\n"
        )
    };
    let agents = [
        agent("silent", "inactivity = '1s'"),
        agent("slow", "wall_clock = '1s'"),
        agent("talkative", "max_turns = 3"),
        agent("costly", "budget_usd = 0.5"),
    ];
    Project::new(&agents.concat())
}

#[tokio::test]
async fn promise_6_every_limit_ends_a_run_with_an_outcome_of_its_own() {
    let project = limited();
    let server = project.serve().await;
    let cases = [
        ("silent", "[[work lines=2 every_ms=60000]]", "timed_out", "1s"),
        ("slow", "[[work lines=1000 every_ms=20]]", "timed_out", "1s"),
        ("talkative", "[[work lines=1000 every_ms=20]]", "out_of_turns", "3"),
        ("costly", "[[work lines=40 every_ms=20 cost=0.7]]", "out_of_budget", "0.5"),
    ];
    let mut runs = Vec::new();
    for (agent, text, ..) in cases {
        let story = server.post("/stories", &json!({ "title": agent, "text": text })).await;
        let start = format!("/stories/{}/start", story["story"].as_str().unwrap());
        let run = server.post(&start, &json!({ "agent": agent })).await;
        runs.push(run["run"].as_str().unwrap().to_owned());
    }
    // A turn that is paid for is not thrown away; the next one does not begin.
    server.until_live(&runs[3]).await;
    let more = json!({ "text": "[[work lines=1]]" });
    server.post(&format!("/runs/{}/prompt", runs[3]), &more).await;
    for ((agent, _, outcome, why), run) in cases.iter().zip(&runs) {
        let over = server.until_over(run).await;
        assert_eq!(over["outcome"], *outcome, "{agent}: {over:#}");
        let error = over["error"].to_string();
        assert!(error.contains(why), "{agent}: {error}");
        project.gapless(run);
    }
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_6_every_run_has_a_limit_on_silence_unless_its_project_file_says_off() {
    let agent = |name: &str, limit: &str| {
        format!(
            "[[agent]]\nname = '{name}'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{{{ story.text }}}}'\nenv = {{ WORKER_HOME = '@HOME@' }}\n{limit}\n"
        )
    };
    let agents = [agent("usual", ""), agent("patient", "inactivity = 'off'")];
    let project = Project::new(&agents.concat());
    let server = project.serve().await;
    for (agent, expected) in [("usual", Some(15 * 60 * 1000)), ("patient", None)] {
        let text = json!({ "title": agent, "text": "[[work lines=1]]" });
        let story = server.post("/stories", &text).await;
        let start = format!("/stories/{}/start", story["story"].as_str().unwrap());
        let run = server.post(&start, &json!({ "agent": agent })).await;
        let run = run["run"].as_str().unwrap();
        server.until_over(run).await;
        let spec = RunSpec::read(&project.run_folder(run)).unwrap();
        assert_eq!(spec.bounds.inactivity_ms, expected, "{agent}");
    }
}

#[tokio::test]
async fn promise_6_a_rate_limit_reset_extends_inactivity() {
    let project = limited();
    let server = project.serve().await;
    let mut runs = Vec::new();
    for text in ["[[work limited=3 lines=1]]", "[[work lines=2 every_ms=5000]]"] {
        let story = server.post("/stories", &json!({ "title": "Wait", "text": text })).await;
        let start = format!("/stories/{}/start", story["story"].as_str().unwrap());
        let run = server.post(&start, &json!({ "agent": "silent" })).await;
        runs.push(run["run"].as_str().unwrap().to_owned());
    }
    let (patient, twin) = (&runs[0], &runs[1]);
    let over = server.until_over(patient).await;
    assert_eq!(over["outcome"], "completed", "{over:#}");
    assert_eq!(project.said(patient), [1]);
    let events = project.events(patient);
    let (told, resets) = events
        .iter()
        .find_map(|event| match &event.kind {
            EventKind::RateLimit(limit) => Some((event.at, limit.resets_at.unwrap())),
            _ => None,
        })
        .unwrap();
    assert!(resets > told + 2000, "it was silent for longer than its limit of a second");
    assert!(events.last().unwrap().at >= resets, "it was not ended before the reset");
    // The same silence without a word about it is too long.
    let over = server.until_over(twin).await;
    assert_eq!(
        (&over["outcome"], &over["error"]["code"]),
        (&json!("timed_out"), &json!("inactivity"))
    );
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_4_a_grandchild_that_holds_the_output_never_hangs_a_run() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, leaves) = server.begin("[[work spawn=setsid lines=2 exit=0]]").await;
    let (_, ends) = server.begin("[[work spawn=setsid spawn=daemon lines=2]]").await;
    let (_, crashes) = server.begin("[[work spawn=setsid lines=2 crash=11]]").await;
    let began = Instant::now();
    for (run, outcome) in [(leaves, "failed"), (ends, "completed"), (crashes, "lost")] {
        let over = server.until_over(&run).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{run} hung");
        assert_eq!(over["outcome"], outcome, "{over:#}");
        assert_eq!(project.said(&run), [1, 2], "an exit never overtakes the last words");
    }
    // What was lost is taken up again.
    server.until_over("r4").await;
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_3_an_agent_that_heeds_nothing_is_stopped_within_twenty_seconds() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work ignore_term=1 spawn=setsid lines=1 hang=1]]").await;
    server.until(&run, |_| project.spoken() == 1).await;
    let began = Instant::now();
    server.post(&format!("/runs/{run}/stop"), &json!({})).await;
    let over = server.until_over(&run).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(over["outcome"], "stopped", "{over:#}");
    assert!(over["session"].is_string(), "{over:#}");
    assert_eq!(project.left(), Vec::<i32>::new());
}
