//! An agent's tools about its own run: it can act as itself, as nobody else, and no longer than it lives.

use std::time::{Duration, Instant};

use musher_core::{EventKind, PlanEntry};
use serde_json::json;

use super::agent::{Endpoint, Generation, project, said};
use crate::rig::{PATIENCE, Project};

const BOTH: [Generation; 2] = [Generation::Initialize, Generation::Stateless];

fn notices(project: &Project, run: &str) -> Vec<(String, String)> {
    let notice = |kind| match kind {
        EventKind::Notice { code: Some(code), text, .. } => Some((code, text)),
        _ => None,
    };
    project.events(run).into_iter().filter_map(|event| notice(event.kind)).collect()
}

#[tokio::test]
async fn promise_18_a_run_acts_only_as_itself() {
    let project = project();
    let server = project.serve().await;
    let (_, first) = server.begin("[[work hang=1]] the first").await;
    let (_, second) = server.begin("[[work hang=1]] the second").await;
    let one = Endpoint::of(&project, &first).await;
    let two = Endpoint::of(&project, &second).await;
    for generation in BOTH {
        let tools = one.connect(generation).await;
        assert_eq!(
            tools.names().await,
            ["story", "plan", "ask_person", "report_progress", "finish"]
        );
        // Nothing that a tool takes could name another run, a story or a file.
        for field in tools.fields().await {
            assert!(["steps", "text", "questions", "summary"].contains(&field.as_str()), "{field}");
        }
        let (story, failed) = said(&tools.call("story", json!({})).await);
        assert!(!failed && story.contains("the first") && !story.contains("the second"), "{story}");
        let (why, failed) = said(&tools.call("story", json!({ "run": second })).await);
        assert!(failed && why.contains("run"), "{why}");
    }
    let tools = one.connect(Generation::Stateless).await;
    tools.call("report_progress", json!({ "text": "half way" })).await;
    let entries = json!([{ "text": "look", "status": "in_progress" }]);
    tools.call("plan", json!({ "steps": entries })).await;
    tools.call("finish", json!({ "summary": "all is well" })).await;
    // It is in the record a moment after it was said.
    let began = Instant::now();
    while notices(&project, &first).len() < 2 && began.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(
        notices(&project, &first),
        [("progress".into(), "half way".into()), ("summary".into(), "all is well".into())]
    );
    let plan = vec![PlanEntry { text: "look".into(), status: "in_progress".into() }];
    let planned = |run: &str| {
        let mut events = project.events(run).into_iter();
        events.any(|event| event.kind == EventKind::Plan { entries: plan.clone() })
    };
    assert!(planned(&first) && !planned(&second));
    assert_eq!(notices(&project, &second), []);
    let other = two.connect(Generation::Initialize).await;
    assert!(said(&other.call("story", json!({})).await).0.contains("the second"));
}

#[tokio::test]
async fn promise_18_the_secret_of_another_run_and_none_at_all_are_refused() {
    let project = project();
    let server = project.serve().await;
    let (_, first) = server.begin("[[work hang=1]]").await;
    let (_, second) = server.begin("[[work hang=1]]").await;
    let one = Endpoint::of(&project, &first).await;
    let two = Endpoint::of(&project, &second).await;
    for env in [two.env.clone(), [("MUSHER_RUN_SECRET".into(), String::new())].into(), [].into()] {
        let thief = Endpoint { env, ..one.clone() };
        let why = thief.refusal().await;
        assert!(why.contains("refuses its tools"), "{why}");
    }
    // The secret is in no argument, in no file of the run, and nowhere in its record.
    let secret = &one.env["MUSHER_RUN_SECRET"];
    assert!(secret.len() == 64 && *secret != two.env["MUSHER_RUN_SECRET"]);
    assert!(!project.worker_file("arguments").contains(secret.as_str()));
    for file in std::fs::read_dir(project.run_folder(&first)).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let found = memchr::memmem::find(&bytes, secret.as_bytes());
        assert_eq!(found, None, "{}", file.path().display());
    }
}

#[tokio::test]
async fn promise_18_the_door_is_gone_when_the_run_has_ended() {
    let project = project();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work hang=1]]").await;
    let endpoint = Endpoint::of(&project, &run).await;
    let tools = endpoint.connect(Generation::Initialize).await;
    tools.call("story", json!({})).await;
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    server.until_over(&run).await;
    tools.until_gone().await;
    let why = endpoint.refusal().await;
    assert!(why.contains("is over or not under way"), "{why}");
    // A later run of the same session has a secret of its own.
    let again =
        server.post(&format!("/runs/{run}/prompt"), &json!({ "text": "[[work hang=1]]" })).await;
    let again = again["run"].as_str().unwrap().to_owned();
    let fresh = Endpoint::of(&project, &again).await;
    let folder = fresh.args.clone();
    let why = Endpoint { args: folder, ..endpoint }.refusal().await;
    assert!(why.contains("refuses its tools"), "{why}");
}

#[tokio::test]
async fn an_agent_asks_its_person_while_the_server_is_away() {
    let project = project();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work hang=1]]").await;
    let endpoint = Endpoint::of(&project, &run).await;
    server.until_live(&run).await;
    server.kill();
    let tools = endpoint.connect(Generation::Stateless).await;
    let question = json!({ "questions": [{
        "text": "Which colour?",
        "options": [{ "label": "Red" }, { "label": "Blue" }],
    }] });
    let asked = tools.call("ask_person", question);
    let answered = async {
        let server = project.serve().await;
        let ask = server.until_ask(&run).await;
        let asks = server.get("/asks").await;
        assert_eq!(asks["asks"][0]["body"]["questions"][0]["text"], "Which colour?", "{asks:#}");
        let answer = json!({ "decision": "replies", "replies": [{ "chosen": ["Blue"] }] });
        let path = format!("/runs/{run}/asks/{ask}/answer");
        server.post(&path, &json!({ "answer": answer })).await;
        server
    };
    let (result, server) = tokio::join!(asked, answered);
    assert_eq!(said(&result), ("Which colour?\n> Blue".into(), false));
    assert_eq!(result.structured_content.unwrap()["answers"][0]["answer"], "Blue");
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    server.until_over(&run).await;
    assert_eq!(project.left(), Vec::<i32>::new());
}

#[tokio::test]
async fn what_an_agent_gives_wrongly_is_told_and_ends_nothing() {
    let project = project();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work hang=1]]").await;
    let tools = Endpoint::of(&project, &run).await.connect(Generation::Initialize).await;
    for (name, input) in [
        ("no_such_tool", json!({})),
        ("../story", json!({})),
        ("plan", json!({ "steps": "all" })),
        ("plan", json!({ "steps": [{ "text": "x", "status": "maybe" }] })),
        ("report_progress", json!({})),
        ("report_progress", json!({ "text": "" })),
        ("report_progress", json!({ "text": "x".repeat(1 << 20) })),
        ("ask_person", json!({ "questions": [] })),
        ("ask_person", json!({ "questions": [{ "text": " " }] })),
        ("finish", json!({ "summary": 3 })),
    ] {
        let (why, failed) = said(&tools.call(name, input.clone()).await);
        assert!(failed && !why.is_empty(), "{name} {input}: {why}");
    }
    assert!(!said(&tools.call("story", json!({})).await).1);
    assert_eq!(server.run(&run).await["phase"], "live");
}
