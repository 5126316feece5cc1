//! The shape of a run: turns, marks and spans.

use musher_core::{
    Ask, ClosedBy, Event, EventKind, EventScope, Level, Origin, Spend, Tokens, ToolPhase,
    ToolUpdate, Trigger, TurnEnded, TurnOutcome, UsageOf, UsageReport, Usd,
};
use serde_json::{Value as Json, json};

use crate::rig::{Log, Rig};

/// Appends an event of a turn, at a time that is its number in seconds.
fn put(log: &mut Log, turn: u32, kind: EventKind) -> u64 {
    let seq = log.writer.next_seq();
    let at = i64::try_from(seq).unwrap() * 1_000;
    let event = Event { seq, at, kind, turn: Some(turn), scope: EventScope::Main, raw: None };
    log.writer.append([&event]).unwrap();
    seq
}

fn call(id: &str, name: Option<&str>, phase: ToolPhase) -> EventKind {
    let name = name.map(str::to_owned);
    EventKind::Tool(Box::new(ToolUpdate { name, ..ToolUpdate::phase(id.into(), phase) }))
}

fn usage(output: u64, cost: Option<f64>) -> EventKind {
    let tokens = Tokens { output, ..Tokens::default() };
    let spend = Spend::costing(tokens, cost.map(Usd::from_dollars));
    let of = UsageOf::Turn;
    EventKind::Usage(UsageReport { of, id: None, ..UsageReport::call("", None, spend) })
}

fn turn(log: &mut Log, number: u32, prompt: &str) {
    let id = format!("p{number}");
    let (text, origin) = (prompt.to_owned(), Origin::Prompt);
    let (prompt, attachments) = (Some(id.as_str().into()), Vec::new());
    let message = EventKind::UserMessage { prompt, text, origin, attachments };
    put(log, number, message);
    let prompts = vec![id.as_str().into()];
    put(log, number, EventKind::TurnStarted { trigger: Trigger::Prompt, prompts });
}

fn end(log: &mut Log, number: u32) {
    let ended = TurnEnded::synthesised(TurnOutcome::Completed, None);
    put(log, number, EventKind::TurnEnded(Box::new(ended)));
}

async fn outline(rig: &Rig, run: musher_core::RunId) -> Json {
    rig.get(&format!("/api/v1/runs/{run}/outline")).await.json()
}

#[tokio::test]
async fn turns_marks_and_spans_are_told_and_read_on_as_the_log_grows() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    assert_eq!(
        outline(&rig, run).await,
        json!({"turns": [], "marks": [], "spans": [], "thinned": false})
    );
    let mut log = rig.log(run);
    turn(&mut log, 1, &format!("Do it.\n{}", "x".repeat(500)));
    put(&mut log, 1, call("c1", Some("Bash"), ToolPhase::Proposed));
    put(&mut log, 1, call("c1", None, ToolPhase::Failed));
    let body = Ask::Plan { plan: "Shall I?".into() };
    let (ask, deadline, settled) = ("a1".into(), None, false);
    put(&mut log, 1, EventKind::AskOpened { ask, body, deadline, rule: None, settled });
    let seen = outline(&rig, run).await;
    assert_eq!(
        seen["marks"],
        json!([{"seq": 5, "at": 5000, "kind": "approval", "text": "Shall I?", "open": true}])
    );
    assert_eq!(seen["spans"][1]["until"], json!(null));
    assert_eq!(seen["turns"][0]["prompt"].as_str().unwrap().chars().count(), 120);
    let by = ClosedBy::Person;
    put(
        &mut log,
        1,
        EventKind::AskClosed { ask: "a1".into(), by, answer: None, command: None, who: None },
    );
    put(&mut log, 1, usage(10, Some(0.25)));
    put(&mut log, 1, usage(5, Some(0.5)));
    end(&mut log, 1);
    turn(&mut log, 2, "More.");
    put(&mut log, 2, usage(7, None));
    put(&mut log, 2, call("c2", Some("Edit"), ToolPhase::Proposed));
    put(&mut log, 2, call("c2", None, ToolPhase::Denied));
    let text = "careful".to_owned();
    put(&mut log, 2, EventKind::Notice { level: Level::Warning, code: None, text });
    let seen = outline(&rig, run).await;
    let (first, second) = (&seen["turns"][0], &seen["turns"][1]);
    assert_eq!((&first["turn"], &first["seq"], &first["at"]), (&json!(1), &json!(2), &json!(2000)));
    assert_eq!((&first["end_seq"], &first["ended_at"]), (&json!(9), &json!(9000)));
    assert_eq!((&first["outcome"], &first["trigger"]), (&json!("completed"), &json!("prompt")));
    assert_eq!((&first["tools"], &first["tokens"]), (&json!(1), &json!(15)));
    assert_eq!(first["cost_usd"], 0.75);
    assert_eq!((&second["prompt"], &second["tokens"]), (&json!("More."), &json!(7)));
    assert_eq!((&second["cost_usd"], &second["outcome"]), (&json!(null), &json!(null)));
    assert_eq!(
        seen["spans"],
        json!([
            {"seq": 3, "at": 3000, "until": 4000, "kind": "tool", "name": "Bash", "failed": true},
            {"seq": 5, "at": 5000, "until": 6000, "kind": "wait", "name": "plan", "failed": false},
            {"seq": 13, "at": 13000, "until": 14000, "kind": "tool", "name": "Edit", "failed": true},
        ])
    );
    let marks: Vec<_> =
        seen["marks"].as_array().unwrap().iter().map(|mark| &mark["kind"]).collect();
    assert_eq!(marks, ["approval", "denied", "notice"]);
    assert_eq!(seen["marks"][0]["open"], false);
    assert_eq!(seen["marks"][1]["text"], "Edit");
}

#[tokio::test]
async fn an_outline_of_a_long_run_is_thinned_and_keeps_what_matters() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    turn(&mut log, 1, "Go.");
    let text = "small".to_owned();
    let error = musher_core::ErrorInfo::new(musher_core::ErrorClass::Unknown, "large");
    put(&mut log, 1, EventKind::Error { error });
    for n in 0..3_000 {
        let id = format!("c{n}");
        put(&mut log, 1, call(&id, Some("Read"), ToolPhase::Proposed));
        put(&mut log, 1, call(&id, None, ToolPhase::Completed));
        put(
            &mut log,
            1,
            EventKind::Notice { level: Level::Warning, code: None, text: text.clone() },
        );
    }
    let seen = outline(&rig, run).await;
    let count = |what: &str| seen[what].as_array().unwrap().len();
    assert!(count("marks") <= 2_000 && count("spans") <= 2_000, "{}", count("marks"));
    assert!(count("marks") >= 1_000 && count("spans") >= 1_000);
    assert_eq!((&seen["thinned"], &seen["turns"][0]["tools"]), (&json!(true), &json!(3_000)));
    assert_eq!(seen["marks"][0]["kind"], "error");
}
