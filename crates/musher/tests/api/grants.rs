//! What may be granted in answer to an ask, and what may not.

use axum::http::{Method, StatusCode};
use musher_core::pool::{PoolInput, RunReport};
use musher_core::{Approval, Ask, AskId, EventKind, Rule, RunId, ToolKind};
use serde_json::{Value as Json, json};

use crate::rig::{Rig, order, until};

const OFFERED: &str = "execute(cargo test *)";

async fn asks(rig: &Rig, rule: Option<&str>) -> (RunId, String) {
    let run = rig.live().await;
    let mut log = rig.log(run);
    let body = Ask::Approval(Box::new(Approval {
        tool: "Bash".into(),
        tool_kind: ToolKind::Execute,
        call: None,
        subject: Some("cargo test -p core".into()),
        subject_field: Some("command".into()),
        input: json!({ "command": "cargo test -p core" }),
        edits: vec![],
        reason: None,
        always: vec![],
        human_only: false,
        shortened: None,
        as_is: false,
    }));
    let ask: AskId = "a1".into();
    let rule: Option<Rule> = rule.map(|rule| rule.parse().unwrap());
    let seq = log.append(EventKind::AskOpened {
        ask: ask.clone(),
        body,
        deadline: None,
        rule,
        settled: false,
    });
    rig.tell(PoolInput::Heard { run, seq, what: RunReport::AskOpened { ask, settled: false } })
        .await;
    rig.settled().await;
    (run, format!("/api/v1/runs/{run}/asks/a1/answer"))
}

async fn always(rig: &Rig, rule: &str) -> Json {
    let asks = rig.get("/api/v1/asks").await.json();
    let shown = &asks["asks"][0]["digest"];
    json!({ "answer": { "decision": "allow_always", "rule": rule }, "shown": shown })
}

/// How often the pool has decided to grant a rule.
fn wanted(rig: &Rig) -> usize {
    let facts = rig.views.facts_after(0, 100).unwrap();
    facts.iter().filter(|fact| fact.body.contains(r#""grant":"wanted""#)).count()
}

async fn grants(rig: &Rig) -> Json {
    rig.get("/api/v1/local").await.json()["grants"].clone()
}

#[tokio::test]
async fn a_rule_that_covers_what_is_asked_is_granted_and_every_other_is_refused_in_words() {
    let rig = Rig::new().await;
    let (run, path) = asks(&rig, Some(OFFERED)).await;
    let shown = rig.get("/api/v1/asks").await.json();
    assert_eq!(shown["asks"][0]["rule"], OFFERED);
    let scopes = shown["asks"][0]["scopes"].as_array().unwrap();
    let rules: Vec<&str> = scopes.iter().map(|scope| scope["rule"].as_str().unwrap()).collect();
    assert_eq!(
        rules,
        ["execute(cargo test -p core)", OFFERED, "execute(cargo *)", "execute"],
        "from exact to wide"
    );
    assert!(scopes.iter().all(|scope| scope["label"].as_str().is_some_and(|it| !it.is_empty())));
    let other = always(&rig, "execute(cargo test -p other)").await;
    let refused = rig.post(&path, &other).await;
    refused.is_problem(422, "rule_not_offered");
    let words = refused.text();
    assert!(words.contains("does not cover what is asked"), "{words}");
    assert!(words.contains("cargo test -p core"), "{words}");
    for (rule, code) in [
        ("*", "rule_not_offered"),
        ("edit", "rule_not_offered"),
        ("execute(cargo test -p other)", "rule_not_offered"),
        ("execute(", "bad_rule"),
        ("", "bad_rule"),
    ] {
        rig.post(&path, &always(&rig, rule).await).await.is_problem(422, code);
    }
    assert_eq!(wanted(&rig), 0);
    // Written by the person: narrower than what was offered, and not among the scopes.
    let edited = always(&rig, "execute(cargo test -p *)").await;
    let mut request = order(Method::POST, &path, edited.to_string());
    request.headers_mut().insert("prefer", "wait=0".parse().unwrap());
    let reply = rig.send(request).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    assert_eq!(wanted(&rig), 1, "the pool has decided it");
    assert_eq!(grants(&rig).await, json!([]), "no door writes it");
    // The ask has its answer by now, so that nothing more is granted for it.
    rig.post(&path, &always(&rig, OFFERED).await).await.is_problem(409, "already_answered");
    rig.post(&path, &other).await.is_problem(422, "rule_not_offered");
    assert_eq!(wanted(&rig), 1);

    let kept =
        format!("[[grant]]\nagent = 'coder'\nrule = 'execute(cargo test -p *)'\nrun = '{run}'\n");
    std::fs::write(rig.state().join("local.toml"), kept).unwrap();
    let revoke = |rule: &str| {
        let body = json!({ "agent": "coder", "rule": rule }).to_string();
        order(Method::DELETE, "/api/v1/local/grants", body)
    };
    rig.send(revoke(OFFERED)).await.is_problem(404, "no_such_grant");
    let done = rig.send(revoke("execute(cargo test -p *)")).await;
    assert_eq!(done.json(), json!({ "status": "done" }));
    assert_eq!(grants(&rig).await, json!([]));
}

#[tokio::test]
async fn where_no_rule_is_safe_none_is_granted() {
    let rig = Rig::new().await;
    let (_, path) = asks(&rig, None).await;
    rig.post(&path, &always(&rig, OFFERED).await).await.is_problem(422, "rule_not_offered");
    until("nothing is granted", async || grants(&rig).await == json!([])).await;
}

#[tokio::test]
async fn a_wider_rule_is_granted_when_the_person_chose_it() {
    let rig = Rig::new().await;
    let (_, path) = asks(&rig, Some(OFFERED)).await;
    let wider = always(&rig, "execute(cargo *)").await;
    let mut request = order(Method::POST, &path, wider.to_string());
    request.headers_mut().insert("prefer", "wait=0".parse().unwrap());
    assert_eq!(rig.send(request).await.status, StatusCode::ACCEPTED);
    assert_eq!(wanted(&rig), 1);
}
