//! Messages that wait for the end of the turn: they are shown as such, and can be taken back.

use musher_core::EventKind;
use serde_json::{Value as Json, json};

use crate::rig::{Project, Server};

/// The messages that wait in a run.
fn texts(view: &Json) -> Vec<&str> {
    let queued = view["queued"].as_array().map(Vec::as_slice).unwrap_or_default();
    queued.iter().filter_map(|it| it["text"].as_str()).collect()
}

async fn until_queued(server: &Server, run: &str, wanted: &[&str]) -> Json {
    server.until(run, |view| texts(view) == wanted).await
}

#[tokio::test]
async fn a_queued_message_is_shown_as_queued_and_is_taken_back_until_the_agent_is_told() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work ask=go lines=1]]").await;
    server.until_ask(&run).await;
    let view = server.run(&run).await;
    assert_eq!(view.get("queued"), None, "the agent has what it began with: {view:#}");
    let say = async |text: &str| {
        server.post(&format!("/runs/{run}/prompt"), &json!({ "text": text })).await
    };
    say("[[work lines=1]] one").await;
    say("[[work lines=1]] two").await;
    let view = until_queued(&server, &run, &["[[work lines=1]] one", "[[work lines=1]] two"]).await;
    let id = |view: &Json, at: usize| view["queued"][at]["id"].as_str().unwrap().to_owned();
    assert!(view["queued"][0]["at"].as_i64().unwrap() > 0, "{view:#}");
    let path = |id: &str| format!("/runs/{run}/queued/{id}");
    let (kept, back) = (id(&view, 0), id(&view, 1));
    let (status, reply) = server.try_delete(&path(&back)).await.unwrap();
    assert_eq!((status, &reply["status"]), (200, &json!("sent")), "{reply:#}");
    until_queued(&server, &run, &["[[work lines=1]] one"]).await;
    let (status, reply) = server.try_delete(&path(&back)).await.unwrap();
    assert_eq!((status, &reply["code"]), (409, &json!("undelivered")), "{reply:#}");
    // The next server knows it too.
    server.kill();
    let server = project.serve().await;
    until_queued(&server, &run, &["[[work lines=1]] one"]).await;
    let ask = server.until_ask(&run).await;
    let yes = json!({ "answer": { "decision": "allow" } });
    server.post(&format!("/runs/{run}/asks/{ask}/answer"), &yes).await;
    let over = server.until_over(&run).await;
    assert_eq!((&over["outcome"], over.get("queued")), (&json!("completed"), None), "{over:#}");
    let (status, late) = server.try_delete(&path(&kept)).await.unwrap();
    assert!(matches!(status, 404 | 409), "the agent was told: {status} {late:#}");
    let begun: Vec<String> = project
        .events(&run)
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::TurnStarted { prompts, .. } => Some(prompts),
            _ => None,
        })
        .flatten()
        .map(|prompt| prompt.to_string())
        .collect();
    assert!(begun.contains(&kept) && !begun.contains(&back), "{begun:?}");
}

/// A project in which one run at a time is at work.
fn with_one_slot() -> Project {
    let project = Project::of_workers();
    let file = project.repo().join(".musher/project.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let at = text.find("[limits]").unwrap();
    std::fs::write(&file, format!("{}[limits]\nruns = 1\n", &text[..at])).unwrap();
    project.git(&["commit", "-qam", "one slot"]);
    project
}

/// Says something to a run, and does not wait until its agent hears it.
async fn leave(server: &Server, run: &str, text: &str) {
    musher_client::prepare();
    let request = reqwest::Client::new().post(format!("{}/api/v1/runs/{run}/prompt", server.url));
    let request = request.bearer_auth(&server.token).header("prefer", "wait=0");
    let reply = request.json(&json!({ "text": text })).send().await.unwrap();
    assert_eq!(reply.status().as_u16(), 202, "{:?}", reply.text().await);
}

#[tokio::test]
async fn a_message_to_a_run_that_has_not_begun_is_shown_as_queued_and_can_be_taken_back() {
    let project = with_one_slot();
    let server = project.serve().await;
    let (_, first) = server.begin("[[work ask=go]]").await;
    server.until_ask(&first).await;
    // It ends as soon as it has begun, and what waits for it is said all the same.
    let (_, second) = server.begin("[[work lines=1]]").await;
    let (one, two) = ("[[work lines=1]] one", "[[work lines=1]] two");
    leave(&server, &second, one).await;
    leave(&server, &second, two).await;
    let view = until_queued(&server, &second, &[one, two]).await;
    assert_eq!(view["phase"], "queued", "{view:#}");
    assert!(view["queued"][0]["at"].as_i64() >= view["queued_at"].as_i64(), "{view:#}");
    // At the terminal they are listed, and one is taken back by its short id.
    let listed = project.cli(&["take-back", &second]).await;
    assert!(listed.contains(one) && listed.contains(two), "{listed}");
    let short = listed.lines().find(|line| line.contains(two)).unwrap();
    let short = short.split_whitespace().next().unwrap();
    let said = project.cli(&["take-back", &second, short]).await;
    assert!(said.contains(&format!("withdrawn from {second}: {two}")), "{said}");
    until_queued(&server, &second, &[one]).await;
    // The next server knows it too.
    server.kill();
    let server = project.serve().await;
    until_queued(&server, &second, &[one]).await;
    let document = project.cli(&["take-back", &second, "--json"]).await;
    let document: Json = serde_json::from_str(&document).unwrap();
    assert_eq!((&document["run"], texts(&document)), (&json!(second), vec![one]), "{document:#}");
    server.post(&format!("/runs/{first}/stop"), &json!({})).await;
    let over = server.until_over(&second).await;
    assert_eq!((&over["outcome"], over.get("queued")), (&json!("completed"), None), "{over:#}");
    let events = project.events(&second);
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::UserMessage { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let told: Vec<&str> = told.collect();
    assert!(told.contains(&one) && !told.contains(&two), "{told:?}");
    assert!(project.cli(&["take-back", &second]).await.contains("No messages are queued"));
}

#[tokio::test]
async fn a_queued_run_says_for_what_it_waits() {
    let project = with_one_slot();
    let server = project.serve().await;
    let (_, first) = server.begin("[[work ask=go]]").await;
    server.until_ask(&first).await;
    let (_, second) = server.begin("[[work lines=1]]").await;
    let view = server.until(&second, |view| view["note"].is_string()).await;
    assert_eq!(
        (&view["phase"], &view["note"]),
        (&json!("queued"), &json!("waits for a free slot: 1 of 1 busy")),
        "{view:#}"
    );
    assert!(project.cli(&["ps"]).await.contains("waits for a free slot"));
    server.post(&format!("/runs/{first}/stop"), &json!({})).await;
    server.until_over(&second).await;
}

/// What a person said reaches the agent even if no server lives to hand it over.
#[tokio::test]
async fn a_message_to_a_run_that_has_not_begun_is_heard_though_the_server_dies_at_its_start() {
    let project = with_one_slot();
    let server = project.serve().await;
    let (_, first) = server.begin("[[work ask=go]]").await;
    server.until_ask(&first).await;
    let (_, second) = server.begin("[[work lines=1]]").await;
    let words = "[[work lines=1]] one";
    leave(&server, &second, words).await;
    server.kill();
    let server = project.serve_with(&["--die-at", "after_spawn"]).await.unwrap();
    // The server may die before it replies.
    let _stopped = server.try_post(&format!("/runs/{first}/stop"), &json!({})).await;
    server.until_dead();
    let ended = |event: &musher_core::Event| matches!(event.kind, EventKind::SessionEnded(_));
    while !project.run_folder(&second).exists() || !project.events(&second).iter().any(ended) {
        tokio::task::yield_now().await;
    }
    let said = |event: &musher_core::Event| matches!(&event.kind, EventKind::UserMessage { text, .. } if text == words);
    assert_eq!(project.events(&second).iter().filter(|it| said(it)).count(), 1, "it is said once");
    let server = project.serve().await;
    assert_eq!(server.until_over(&second).await["outcome"], "completed");
    let feed = server.get(&format!("/runs/{second}/events?last=200")).await;
    assert_eq!(feed.to_string().matches(words).count(), 1, "{feed:#}");
}
