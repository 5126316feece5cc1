//! Commands: what their senders hear, and that sending one twice does it once.

use axum::http::{Method, StatusCode};
use musher_core::pool::{PoolInput, RunReport, Undelivered, UndeliveredCode};
use musher_core::{Ask, AskId, CommandId, EventKind, RunId};
use serde_json::{Value as Json, json};

use crate::rig::{Rig, order, until};

fn keyed(path: &str, body: &Json, key: &str) -> axum::http::Request<axum::body::Body> {
    let mut request = order(Method::POST, path, body.to_string());
    request.headers_mut().insert("idempotency-key", key.parse().unwrap());
    request
}

/// The commands that were offered, the last one first.
fn offered(rig: &Rig) -> Vec<CommandId> {
    let offers =
        ["prompt_offered", "steer_offered", "interrupt_offered", "end_wished", "answer_offered"];
    let facts = rig.views.facts_after(0, 1000).unwrap();
    let facts = facts.iter().rev().map(|fact| serde_json::from_str::<Json>(&fact.body).unwrap());
    let offered = facts.filter(|fact| offers.contains(&fact["type"].as_str().unwrap()));
    offered.map(|fact| fact["command"].as_str().unwrap().parse().unwrap()).collect()
}

/// Plays the runner: says what becomes of the `n`th command that is offered.
pub(crate) async fn deliver(rig: &Rig, run: RunId, n: usize, result: Result<(), Undelivered>) {
    until("an offer", async || offered(rig).len() >= n).await;
    let command = offered(rig).remove(0);
    rig.tell(PoolInput::Delivered { run, command, result }).await;
}

#[tokio::test]
async fn a_story_goes_from_its_first_word_to_the_archive() {
    let rig = Rig::new().await;
    let body = json!({"id": "login", "title": "Log in", "text": "With a key."});
    let reply = rig.post("/api/v1/stories", &body).await;
    assert_eq!(
        (reply.status, reply.json()),
        (StatusCode::CREATED, json!({"status": "added", "story": "login"}))
    );
    rig.post("/api/v1/stories", &body).await.is_problem(409, "story_exists");
    let edit =
        order(Method::PATCH, "/api/v1/stories/login", json!({"title": "Sign in"}).to_string());
    assert_eq!(rig.send(edit).await.json(), json!({"status": "done"}));
    let story = rig.get("/api/v1/stories/login").await.json();
    assert_eq!((&story["title"], &story["text"]), (&json!("Sign in"), &json!("With a key.")));
    for (verb, state) in [("done", "done"), ("reopen", "open"), ("archive", "archived")] {
        let reply = rig.post(&format!("/api/v1/stories/login/{verb}"), &json!({})).await;
        assert_eq!(
            (reply.status, reply.json()),
            (StatusCode::OK, json!({"status": "done"})),
            "{verb}"
        );
        assert_eq!(rig.get("/api/v1/stories/login").await.json()["state"], state);
    }
    assert_eq!(rig.get("/api/v1/stories").await.json()["stories"], json!([]));
    assert_eq!(rig.get("/api/v1/stories?archived=true").await.json()["stories"][0]["id"], "login");
    rig.post("/api/v1/stories/login/start", &json!({})).await.is_problem(409, "story_archived");
    rig.post("/api/v1/stories", &json!({"title": ""})).await.is_problem(422, "bad_text");
}

#[tokio::test]
async fn two_starts_at_the_same_moment_give_one_run_and_one_clear_refusal() {
    let rig = Rig::new().await;
    let story = rig.add("Race").await;
    let path = format!("/api/v1/stories/{story}/start");
    let body = json!({"agent": "tester", "prompt": "Go."});
    let (one, other) = tokio::join!(rig.post(&path, &body), rig.post(&path, &body));
    let (won, lost) = if one.status == StatusCode::CREATED { (one, other) } else { (other, one) };
    assert_eq!(won.json(), json!({"status": "queued", "run": "r1"}));
    lost.is_problem(409, "already_running");
    rig.post(&path, &json!({"agent": "nobody"})).await.is_problem(404, "no_such_agent");
    assert_eq!(rig.get(&format!("/api/v1/runs/{story}:tester")).await.json()["id"], "r1");
}

#[tokio::test]
async fn a_prompt_is_sent_when_the_run_has_it_and_not_before() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let (path, body) = (format!("/api/v1/runs/{run}/prompt"), json!({"text": "More."}));
    let (reply, ()) = tokio::join!(rig.post(&path, &body), deliver(&rig, run, 1, Ok(())));
    assert_eq!((reply.status, reply.json()), (StatusCode::OK, json!({"status": "sent"})));
    for (n, verb) in [(2, "stop"), (3, "kill")] {
        let (path, body) = (format!("/api/v1/runs/{run}/{verb}"), json!({}));
        let (reply, ()) = tokio::join!(rig.post(&path, &body), deliver(&rig, run, n, Ok(())));
        assert_eq!(reply.status, StatusCode::OK, "{verb}: {}", reply.text());
    }
}

#[tokio::test]
async fn what_a_run_does_not_take_is_refused_with_its_reason() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let (path, body) = (format!("/api/v1/runs/{run}/steer"), json!({"text": "Left!"}));
    let why = Undelivered { code: UndeliveredCode::Unfit, message: "it cannot be steered".into() };
    let (reply, ()) = tokio::join!(rig.post(&path, &body), deliver(&rig, run, 1, Err(why)));
    reply.is_problem(409, "undelivered");
    assert!(reply.text().contains("it cannot be steered"));
}

#[tokio::test]
async fn a_command_whose_last_word_is_long_in_coming_is_pending() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut request = order(Method::POST, &format!("/api/v1/runs/{run}/interrupt"), "{}");
    request.headers_mut().insert("prefer", "respond-async, wait=0".parse().unwrap());
    let reply = rig.send(request).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    assert_eq!(reply.json()["status"], "pending");
    assert_eq!(reply.json()["command"], offered(&rig)[0].as_str());
}

#[tokio::test]
async fn an_ask_shows_what_it_says_takes_one_answer_and_refuses_the_second() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(3);
    let ask: AskId = "a1".into();
    let body = Ask::Plan { plan: "First this, then that.".into() };
    let opened = EventKind::AskOpened {
        ask: ask.clone(),
        body,
        deadline: Some(99),
        rule: None,
        settled: false,
    };
    let seq = log.append(opened);
    rig.tell(PoolInput::Heard { run, seq, what: RunReport::AskOpened { ask, settled: false } })
        .await;
    rig.settled().await;
    let asks = rig.get("/api/v1/asks").await.json();
    let shown = &asks["asks"][0];
    assert_eq!(shown["body"], json!({"kind": "plan", "plan": "First this, then that."}));
    assert_eq!(
        (&shown["deadline"], &shown["state"], &shown["run"]),
        (&json!(99), &json!("open"), &json!("r1"))
    );

    let path = format!("/api/v1/runs/{run}/asks/a1/answer");
    let digest = shown["digest"].clone();
    let yes = json!({"answer": {"decision": "allow"}, "shown": digest});
    let (reply, ()) = tokio::join!(rig.post(&path, &yes), deliver(&rig, run, 1, Ok(())));
    assert_eq!((reply.status, reply.json()), (StatusCode::OK, json!({"status": "sent"})));
    let no = json!({"answer": {"decision": "deny", "reason": "no"}});
    let late = rig.post(&path, &no).await;
    assert_eq!(late.status, StatusCode::CONFLICT, "{}", late.text());
    assert_eq!(rig.get("/api/v1/asks").await.json()["asks"], json!([]));
    assert_eq!(rig.get("/api/v1/asks?all=true").await.json()["asks"][0]["state"], "answered");
    rig.post(&format!("/api/v1/runs/{run}/asks/zz/answer"), &yes)
        .await
        .is_problem(404, "no_such_ask");
    let wrong = json!({"answer": {"decision": "perhaps"}});
    rig.post(&path, &wrong).await.is_problem(422, "wrong_body");
}

#[tokio::test]
async fn the_same_key_does_it_once_and_another_request_under_it_is_refused() {
    let rig = Rig::new().await;
    let body = json!({"title": "Once"});
    let first = rig.send(keyed("/api/v1/stories", &body, "key-1")).await;
    let second = rig.send(keyed("/api/v1/stories", &body, "key-1")).await;
    assert_eq!(first.json(), second.json());
    assert_eq!((first.status, second.status), (StatusCode::CREATED, StatusCode::CREATED));
    let other = json!({"title": "Twice"});
    rig.send(keyed("/api/v1/stories", &other, "key-1")).await.is_problem(422, "key_reused");
    rig.send(keyed("/api/v1/stories/s1/done", &json!({}), "key-1"))
        .await
        .is_problem(422, "key_reused");
    let rig = rig.again().await;
    let after = rig.send(keyed("/api/v1/stories", &body, "key-1")).await;
    assert_eq!(after.json(), first.json(), "a restart forgets no key");
    assert_eq!(rig.get("/api/v1/stories").await.json()["stories"].as_array().unwrap().len(), 1);
    for wrong in ["a b", "", &"x".repeat(129), "caf\u{e9}"] {
        let mut request = keyed("/api/v1/stories", &body, "k");
        let key = axum::http::HeaderValue::from_bytes(wrong.as_bytes()).unwrap();
        request.headers_mut().insert("idempotency-key", key);
        rig.send(request).await.is_problem(422, "bad_key");
    }
}

#[tokio::test]
async fn a_run_that_is_over_is_gone_on_with() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let heard = RunReport::Session { session: "sess-1".into() };
    rig.tell(PoolInput::Heard { run, seq: 1, what: heard }).await;
    rig.end(run, 2).await;
    rig.post(&format!("/api/v1/runs/{run}/steer"), &json!({"text": "x"}))
        .await
        .is_problem(404, "no_such_run");
    let reply = rig.post(&format!("/api/v1/runs/{run}/prompt"), &json!({"text": "And?"})).await;
    assert_eq!(
        (reply.status, reply.json()),
        (StatusCode::CREATED, json!({"status": "queued", "run": "r2"}))
    );
    for verb in ["resume", "retry"] {
        let reply = rig.post(&format!("/api/v1/runs/{run}/{verb}"), &json!({})).await;
        reply.is_problem(409, "already_running");
    }
    let reply = rig.post(&format!("/api/v1/runs/{run}/fork"), &json!({"text": "Else."})).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
    rig.post("/api/v1/runs/r1/prompt", &json!({})).await.is_problem(422, "wrong_body");
}
