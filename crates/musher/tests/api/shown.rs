//! Promise 22: an answer hits the ask that was on the screen, and the second answer is told who was first.

use axum::http::{Method, StatusCode, header};
use musher_core::pool::{PoolInput, RunReport};
use musher_core::{Answer, Ask, AskId, ClosedBy, EventKind, RunId};
use serde_json::{Value as Json, json};

use crate::commands::deliver;
use crate::mcp::call;
use crate::rig::{Log, Rig, order};

/// A live run that asks for some plans, and its log.
async fn asking(rig: &Rig, asks: &[&str]) -> (RunId, Log) {
    let run = rig.live().await;
    let mut log = rig.log(run);
    for ask in asks {
        let (id, body) = (AskId::from(*ask), Ask::Plan { plan: format!("Do {ask}.") });
        let (deadline, rule) = (None, None);
        let seq = log.append(EventKind::AskOpened {
            ask: id.clone(),
            body,
            deadline,
            rule,
            settled: false,
        });
        let what = RunReport::AskOpened { ask: id, settled: false };
        rig.tell(PoolInput::Heard { run, seq, what }).await;
    }
    rig.settled().await;
    (run, log)
}

async fn read(rig: &Rig, ask: &str) -> Json {
    let asks = rig.get("/api/v1/asks?all=true").await.json();
    asks["asks"].as_array().unwrap().iter().find(|it| it["ask"] == ask).unwrap().clone()
}

fn path(run: RunId, ask: &str) -> String {
    format!("/api/v1/runs/{run}/asks/{ask}/answer")
}

fn yes(shown: &Json) -> Json {
    json!({ "answer": { "decision": "allow" }, "shown": shown })
}

async fn count_of_offers(rig: &Rig) -> usize {
    let facts = rig.views.facts_after(0, 1000).unwrap();
    facts.iter().filter(|fact| fact.body.contains("answer_offered")).count()
}

#[tokio::test]
async fn promise_22_an_answer_that_does_not_say_what_was_shown_is_refused_and_changes_nothing() {
    let rig = Rig::new().await;
    let (run, _log) = asking(&rig, &["a1", "a2"]).await;
    let (first, second) = (read(&rig, "a1").await, read(&rig, "a2").await);
    assert_eq!(first["digest"].as_str().unwrap().len(), 64, "{first:#}");
    assert_ne!(first["digest"], second["digest"]);
    // Nothing was shown, the neighbour was shown, or something that is no digest.
    for shown in [json!(null), second["digest"].clone(), json!(""), json!("nonsense")] {
        let reply = rig.post(&path(run, "a1"), &yes(&shown)).await;
        reply.is_problem(428, "ask_not_shown");
        let problem = reply.json();
        assert!(problem["detail"].as_str().unwrap().contains("ask a1 of run r1"), "{problem:#}");
        assert!(problem["hint"].as_str().unwrap().contains("read the ask again"), "{problem:#}");
        assert_eq!(problem["ask"]["digest"], first["digest"], "the ask as it is now comes along");
        assert_eq!(problem["ask"]["body"]["plan"], "Do a1.");
    }
    let without = json!({ "answer": { "decision": "allow" } });
    rig.post(&path(run, "a1"), &without).await.is_problem(428, "ask_not_shown");
    rig.post(&path(run, "zz"), &without).await.is_problem(404, "no_such_ask");
    rig.post("/api/v1/runs/r9/asks/a1/answer", &without).await.is_problem(404, "no_such_run");
    assert_eq!(count_of_offers(&rig).await, 0);
    assert_eq!(read(&rig, "a1").await["state"], "open");
    // What was shown is what is answered.
    let (path, answer) = (path(run, "a1"), yes(&first["digest"]));
    let (reply, ()) = tokio::join!(rig.post(&path, &answer), deliver(&rig, run, 1, Ok(())));
    assert_eq!((reply.status, reply.json()), (StatusCode::OK, json!({ "status": "sent" })));
    assert_eq!(read(&rig, "a2").await["state"], "open", "the neighbour waits on");
}

#[tokio::test]
async fn the_digest_of_an_ask_is_the_same_whenever_it_is_read_and_after_a_restart() {
    let rig = Rig::new().await;
    let (_, log) = asking(&rig, &["a1"]).await;
    let first = read(&rig, "a1").await;
    assert_eq!(read(&rig, "a1").await["digest"], first["digest"]);
    drop(log);
    let rig = rig.again().await;
    assert_eq!(read(&rig, "a1").await["digest"], first["digest"]);
}

#[tokio::test]
async fn promise_22_the_loser_is_told_which_browser_won_and_what_it_answered() {
    let rig = Rig::new().await;
    let (run, _log) = asking(&rig, &["a1"]).await;
    let digest = read(&rig, "a1").await["digest"].clone();
    let token = json!({ "name": "Firefox on Linux", "scope": "full" });
    let token = rig.post("/api/v1/tokens", &token).await.json();
    let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
    let no = json!({ "answer": { "decision": "deny", "reason": "too risky" }, "shown": digest });
    let mut request = order(Method::POST, &path(run, "a1"), no.to_string());
    request.headers_mut().insert(header::AUTHORIZATION, bearer.parse().unwrap());
    request.headers_mut().insert("idempotency-key", "mine".parse().unwrap());
    let (reply, ()) = tokio::join!(rig.send(request), deliver(&rig, run, 1, Ok(())));
    assert_eq!(reply.json(), json!({ "status": "sent" }));
    // Who won is told before anything is said of the digest.
    for shown in [digest.clone(), json!(null)] {
        let late = rig.post(&path(run, "a1"), &yes(&shown)).await;
        late.is_problem(409, "already_answered");
        let late = late.json();
        assert_eq!(
            late["detail"],
            "ask a1 of run r1 was already denied (“too risky”) by Firefox on Linux"
        );
        let won = json!({ "by": "person", "who": "Firefox on Linux",
            "answer": { "decision": "deny", "reason": "too risky" } });
        assert_eq!(late["ask"]["won"], won, "{late:#}");
    }
    // The winner's own request, sent again, hears its first receipt.
    let mut again = order(Method::POST, &path(run, "a1"), no.to_string());
    again.headers_mut().insert("idempotency-key", "mine".parse().unwrap());
    assert_eq!(rig.send(again).await.json(), json!({ "status": "sent" }));
}

#[tokio::test]
async fn promise_22_the_loser_is_told_that_the_deadline_or_a_rule_won_and_how() {
    let rig = Rig::new().await;
    let (run, mut log) = asking(&rig, &["a1", "a2", "a3"]).await;
    let deny = Some(Answer::Deny { reason: "Nobody answered in time.".into() });
    let allow = Some(Answer::Allow { input: None });
    for (ask, by, answer, told) in [
        ("a1", ClosedBy::Deadline, deny, "denied (“Nobody answered in time.”) by the deadline"),
        ("a2", ClosedBy::Rule, allow, "approved by a tool rule"),
        ("a3", ClosedBy::Agent, None, "closed by the agent"),
    ] {
        let digest = read(&rig, ask).await["digest"].clone();
        let id = AskId::from(ask);
        let seq = log.append(EventKind::AskClosed {
            ask: id.clone(),
            by,
            answer,
            command: None,
            who: None,
        });
        let what = RunReport::AskClosed { ask: id, by, command: None };
        rig.tell(PoolInput::Heard { run, seq, what }).await;
        rig.settled().await;
        let late = rig.post(&path(run, ask), &yes(&digest)).await;
        late.is_problem(409, "ask_closed");
        let wanted = format!("ask {ask} of run r1 was already {told}");
        assert_eq!(late.json()["detail"], wanted, "{}", late.text());
    }
}

#[tokio::test]
async fn promise_22_an_assistant_answers_what_its_person_has_seen_and_is_named_when_it_won() {
    let rig = Rig::new().await;
    let (run, _log) = asking(&rig, &["a1"]).await;
    let listed = call(&rig, "list_asks", json!({})).await;
    let digest = listed["structuredContent"]["asks"][0]["digest"].clone();
    assert_eq!(digest, read(&rig, "a1").await["digest"], "{listed:#}");
    let given = |shown: Json| {
        json!({ "run": run.to_string(), "ask": "a1", "answer": { "decision": "allow" },
            "shown": shown })
    };
    let refused = call(&rig, "answer_ask", given(json!("another"))).await;
    assert_eq!(refused["isError"], true, "{refused:#}");
    let mut without = given(json!(null));
    without.as_object_mut().unwrap().remove("shown");
    assert_eq!(call(&rig, "answer_ask", without).await["isError"], true);
    assert_eq!(count_of_offers(&rig).await, 0);
    let answered = call(&rig, "answer_ask", given(digest.clone()));
    let (answered, ()) = tokio::join!(answered, deliver(&rig, run, 1, Ok(())));
    assert_eq!(answered["structuredContent"]["status"], "sent", "{answered:#}");
    let late = rig.post(&path(run, "a1"), &yes(&digest)).await.json();
    assert_eq!(late["detail"], "ask a1 of run r1 was already approved by an assistant");
}

#[tokio::test]
async fn an_assistant_at_standard_input_is_told_from_the_person_at_the_command_line() {
    let rig = Rig::new().await;
    let (run, _log) = asking(&rig, &["a1"]).await;
    let digest = read(&rig, "a1").await["digest"].clone();
    let mut request = order(Method::POST, &path(run, "a1"), yes(&digest).to_string());
    request.headers_mut().insert("musher-door", "assistant".parse().unwrap());
    let (reply, ()) = tokio::join!(rig.send(request), deliver(&rig, run, 1, Ok(())));
    assert_eq!(reply.json(), json!({ "status": "sent" }));
    assert_eq!(read(&rig, "a1").await["won"]["who"], "an assistant");
}
