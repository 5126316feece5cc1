//! The agent under the real driver: every word is understood, and every answer takes effect once.

use std::time::{Duration, Instant};

use musher_runtime::EventKind;
use musher_runtime::core::{
    Answer, Ask, Outcome, QuestionReply, ToolPhase, ToolRules, TurnOutcome, Usd,
};
use musher_testkit::proc::alive;

use crate::run::{Ended, Place, Run};

#[tokio::test]
async fn the_lines_come_numbered_and_nothing_is_misunderstood() {
    let place = Place::new();
    let ended = place.run("[[work lines=3 size=30]] and [[work lines=2]]").end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed);
    let texts = ended.texts();
    assert_eq!(texts[0], format!("line 1 {}", "x".repeat(23)));
    let numbers = texts.iter().map(|text| text.split(' ').nth(1).unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), ["1", "2", "3", "4", "5"]);
    assert_eq!(ended.end.model_calls, 5);
    assert_eq!(ended.end.exit_code, Some(0));
    assert!(ended.end.survivors.is_empty());
}

#[tokio::test]
async fn without_a_directive_it_says_ok() {
    let ended = Place::new().run("Good morning.").end().await;
    assert_eq!(ended.texts(), ["ok"]);
    assert_eq!(ended.turns()[0].final_text.as_deref(), Some("ok"));
}

#[tokio::test]
async fn the_pieces_in_flight_add_up_to_the_lines() {
    let ended = Place::new().run("[[work lines=2 size=40 deltas=1]]").end().await;
    assert_eq!(ended.texts().len(), 2);
    assert_eq!(ended.pieces, ended.texts().concat());
}

#[tokio::test]
async fn usage_and_cost_are_what_was_asked_for() {
    let place = Place::new();
    let run = place.run("[[work lines=1 input=1000 output=77 cost=0.3]]");
    run.handle.prompt("[[work lines=1 input=1 output=2 cost=0.0625]]").await.unwrap();
    let ended = run.end().await;
    assert_eq!((ended.end.usage.input, ended.end.usage.output), (1001, 79));
    assert_eq!(ended.end.cost_usd, Some(Usd::from_dollars(0.3625)));
    assert_eq!(ended.end.turns, 2);

    let ended = place.run("hello").end().await;
    assert_eq!((ended.end.usage.input, ended.end.usage.output), (10, 5));
    assert_eq!(ended.end.cost_usd, Some(Usd::from_dollars(0.001)));
}

/// Runs an ask to its end and gives it the answer.
async fn asked(place: &Place, answer: Answer) -> (String, Ended) {
    let mut run = place.run(r#"[[work ask="make test"]]"#);
    let (ask, body) = run.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("{body:?}") };
    assert_eq!((approval.tool.as_str(), approval.subject.as_deref()), ("Bash", Some("make test")));
    run.handle.answer(ask.clone(), answer).await.unwrap();
    (ask.as_str().to_owned(), run.end().await)
}

#[tokio::test]
async fn an_answer_takes_effect_once_and_is_said() {
    let place = Place::new();
    let (yes, ended) = asked(&place, Answer::Allow { input: None }).await;
    assert_eq!(ended.end.outcome, Outcome::Completed);
    assert_eq!(ended.texts(), [format!("answer {yes} allow")]);
    assert_eq!(tools(&ended), [ToolPhase::Proposed, ToolPhase::Completed]);
    let (no, ended) = asked(&place, Answer::Deny { reason: "not now".into() }).await;
    assert_eq!(ended.texts(), [format!("answer {no} deny")]);
    assert_eq!(tools(&ended), [ToolPhase::Proposed, ToolPhase::Denied]);
    assert_eq!(ended.turns()[0].denials, ["Bash"]);
    assert_ne!(yes, no);
    assert_eq!(place.effects(), [format!("answer {yes} allow"), format!("answer {no} deny")]);
}

#[tokio::test]
async fn a_no_that_interrupts_ends_the_turn() {
    let place = Place::new();
    let (id, ended) = asked(&place, Answer::DenyAndInterrupt { reason: "stop".into() }).await;
    assert_eq!(ended.turns()[0].outcome, TurnOutcome::Interrupted);
    assert_eq!(place.effects(), [format!("answer {id} deny")]);
}

#[tokio::test]
async fn a_question_gets_the_answer_that_was_given() {
    let place = Place::new();
    let mut run = place.run(r#"[[work question="Which colour?" options=Red|Blue]]"#);
    let (ask, body) = run.until_ask().await;
    let Ask::Question { questions } = body else { panic!("{body:?}") };
    let labels = questions[0].options.iter().map(|option| option.label.as_str());
    assert_eq!(labels.collect::<Vec<_>>(), ["Red", "Blue"]);
    let replies = vec![QuestionReply { chosen: vec!["Blue".into()], text: None }];
    run.handle.answer(ask.clone(), Answer::Replies { replies }).await.unwrap();
    let ended = run.end().await;
    assert_eq!(ended.texts(), [format!("answer {ask} allow: Blue")]);
    assert_eq!(place.effects(), [format!("answer {ask} allow")]);
}

#[tokio::test]
async fn a_limit_is_told_with_its_reset_and_waited_for() {
    let place = Place::new();
    let ended = place.run("[[work limited=1 lines=1]]").end().await;
    assert_eq!((ended.end.outcome, ended.texts()), (Outcome::Completed, vec!["line 1"]));
    let limit = ended.events.iter().find_map(|event| match &event.kind {
        EventKind::RateLimit(limit) => Some((event.at, limit.clone())),
        _ => None,
    });
    let (told, limit) = limit.unwrap();
    let resets_at = limit.resets_at.unwrap();
    assert!(limit.exhausted && told < resets_at, "{limit:?}");
    assert!(ended.events.last().unwrap().at >= resets_at);
    assert_eq!(crate::lines(place.home.path(), "told"), ["\"[[work limited=1 lines=1]]\""]);
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_keeps_the_session() {
    let place = Place::new();
    let mut run = place.run("[[work lines=100000 every_ms=5]]");
    run.until_text("line 3").await;
    let handle = run.handle.clone();
    handle.prompt("[[work ask=later]]").await.unwrap();
    handle.interrupt().await.unwrap();
    let (ask, _) = run.until_ask().await;
    handle.interrupt().await.unwrap();
    let ended = run.end().await;
    let outcomes = ended.turns().iter().map(|turn| turn.outcome).collect::<Vec<_>>();
    assert_eq!(outcomes, [TurnOutcome::Interrupted, TurnOutcome::Interrupted]);
    assert_eq!(ended.end.outcome, Outcome::Interrupted);
    let closed = ended.events.iter().any(|event| {
        matches!(&event.kind, EventKind::AskClosed { ask: closed, answer: None, .. } if *closed == ask)
    });
    assert!(closed, "the ask was withdrawn");
    assert!(ended.end.usage.total() > 0, "what was told of a turn that was cut off is counted");
    assert!(place.effects().is_empty());
}

#[tokio::test]
async fn what_is_said_into_a_turn_is_heard_at_the_next_line() {
    let place = Place::new();
    let mut run = place.run("[[work lines=100000 every_ms=5]]");
    run.until_text("line 2").await;
    run.handle.steer("look left").await.unwrap();
    run.until_text("heard: look left").await;
    run.handle.interrupt().await.unwrap();
    assert_eq!(run.end().await.end.turns, 1);
}

#[tokio::test]
async fn an_exit_in_the_middle_of_a_turn_fails_the_run_and_a_signal_loses_it() {
    let place = Place::new();
    let ended = place.run("[[work lines=2 exit=3]]").end().await;
    assert_eq!((ended.end.outcome, ended.end.exit_code), (Outcome::Failed, Some(3)));
    assert_eq!(ended.texts(), ["line 1", "line 2"]);
    let ended = place.run("[[work lines=1 crash=11]]").end().await;
    assert_eq!((ended.end.outcome, ended.end.signal), (Outcome::Lost, Some(11)));
}

#[tokio::test]
async fn a_turn_fails_when_it_is_told_to_or_not_understood() {
    let place = Place::new();
    let ended = place.run("[[work lines=1 fail=1 input=4]]").end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed);
    assert_eq!((ended.end.usage.input, ended.end.exit_code), (4, Some(1)));
    let ended = place.run("[[work dance=1]]").end().await;
    assert!(ended.end.error.unwrap().message.contains("no directive knows `dance`"));
}

#[tokio::test]
async fn garbage_is_told_apart_and_the_work_goes_on() {
    let place = Place::new();
    let mut run = place.run("[[work lines=1 garbage=500]] [[work lines=1]]");
    let ended = run.end_whatever_came().await;
    let unparsed = |kind: &EventKind| matches!(kind, EventKind::Unparsed { .. });
    assert!(ended.events.iter().any(|event| unparsed(&event.kind)));
    assert_eq!(ended.texts(), ["line 1", "line 2"]);
    assert_eq!(ended.end.outcome, Outcome::Completed);
}

#[tokio::test]
async fn a_gate_holds_back_what_the_rules_forbid() {
    let place = Place::new();
    let mut spec = place.spec("[[work write=a.txt]] [[work write=sub/b.txt text=hello ask=ls]]");
    spec.rules = ToolRules {
        deny: vec!["Write(a.txt)".parse().unwrap()],
        allow: vec!["Bash(ls)".parse().unwrap()],
        ..ToolRules::default()
    };
    let ended = Run::begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{:#?}", ended.events);
    assert_eq!(ended.turns()[0].denials, ["Write"]);
    assert!(!place.work.path().join("a.txt").exists());
    assert_eq!(std::fs::read_to_string(place.work.path().join("sub/b.txt")).unwrap(), "hello\n");
    assert_eq!(ended.texts(), ["allowed by the hook"]);
}

#[tokio::test]
async fn a_kill_ends_a_deaf_agent_with_all_it_has_spawned() {
    let place = Place::new();
    let prompt = "[[work spawn=setsid spawn=daemon lines=1]]";
    let mut run = place.run(&format!("{prompt} [[work ignore_term=1 ask=x hang=1]]"));
    let (ask, _) = run.until_ask().await;
    run.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    run.handle.kill().await.unwrap();
    let ended = run.end().await;
    assert!(ended.end.survivors.is_empty());
    let spawned = place.effects();
    let pids = spawned.iter().filter_map(|line| line.strip_prefix("spawned ")?.split(' ').nth(1));
    let pids = pids.map(|pid| pid.parse::<i32>().unwrap()).collect::<Vec<_>>();
    assert_eq!(pids.len(), 2, "{spawned:?}");
    assert!(pids.iter().all(|pid| !alive(*pid)));
}

#[tokio::test]
async fn twenty_at_once_are_done_in_five_seconds() {
    let places = (0..20).map(|_| Place::new()).collect::<Vec<_>>();
    let start = Instant::now();
    let runs = places.iter().map(|place| place.run("[[work lines=50 every_ms=2]]"));
    let runs = runs.collect::<Vec<_>>();
    for run in runs {
        let ended = run.end().await;
        let expected = (1..=50).map(|n| format!("line {n}")).collect::<Vec<_>>();
        assert_eq!(ended.texts(), expected);
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

fn tools(ended: &Ended) -> Vec<ToolPhase> {
    let phase = |kind: &EventKind| match kind {
        EventKind::Tool(update) => Some(update.phase),
        _ => None,
    };
    ended.events.iter().filter_map(|event| phase(&event.kind)).collect()
}
