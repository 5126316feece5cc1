//! The clauses of the contract.

use std::time::Duration;

use musher_runtime::core::{
    Answer, Ask, AskDecision, ClosedBy, ErrorClass, EventKind, Outcome, QuestionReply,
    SessionOrigin, ToolPhase, TurnOutcome, Usd,
};
use musher_runtime::{AskPolicy, CancellationToken, CommandError, ResumeFrom, Sweep, run_once};
use musher_testkit::proc;
use tokio::time::Instant;

use super::{Scene, Subject};
use crate::story::{Ended, Story, kill_all};

/// The time within which a stop is promised to be true.
const STOP: Duration = Duration::from_secs(20);

fn begin(subject: &dyn Subject, scene: Scene) -> Story {
    Story::begin(subject.runtime().as_ref(), subject.spec(scene))
}

async fn finish(story: Story, outcome: Outcome) -> Ended {
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, outcome, "{}", ended.text());
    ended
}

pub(crate) async fn a_session_ends_once_and_says_how(subject: &dyn Subject) {
    let ended = finish(begin(subject, Scene::Text), Outcome::Completed).await;
    assert!(ended.end.session.is_some());
    assert_eq!(ended.end.turns, 1);
    assert!(!ended.response().is_empty());
    match subject.runtime().capabilities().usage {
        true => assert!(ended.end.usage.output > 0),
        false => assert_eq!(ended.end.cost_usd, None, "what is not told is unknown"),
    }
}

pub(crate) async fn an_ask_that_nobody_can_answer_is_denied_at_once(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::Approval);
    spec.asks = AskPolicy::Deny;
    let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
    let by: Vec<ClosedBy> = ended.closed_asks().into_values().collect();
    assert_eq!(by, [ClosedBy::Unattended], "{}", ended.text());
}

pub(crate) async fn an_ask_past_its_deadline_gets_its_default(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::Approval);
    let deadline = Some(Duration::from_millis(50));
    spec.asks = AskPolicy::Wait { deadline, default: AskDecision::Deny };
    let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
    let by: Vec<ClosedBy> = ended.closed_asks().into_values().collect();
    assert_eq!(by, [ClosedBy::Deadline], "{}", ended.text());
}

pub(crate) async fn an_answer_counts_once_and_a_late_one_is_told_who_won(subject: &dyn Subject) {
    let mut story = begin(subject, Scene::Approval);
    let (ask, body) = story.until_ask().await;
    assert!(matches!(body, Ask::Approval(_)));
    let wrong = Answer::Replies { replies: vec![] };
    let refused = story.handle.answer(ask.clone(), wrong).await;
    assert!(matches!(refused, Err(CommandError::WrongAnswer { .. })), "{refused:?}");
    let nobody = story.handle.answer("no-such-ask".into(), Answer::Allow { input: None }).await;
    assert!(matches!(nobody, Err(CommandError::NoSuchAsk(_))), "{nobody:?}");
    let answer = Answer::Deny { reason: "Not today.".into() };
    // Two people answer at the same moment: one wins, the other is told.
    let (first, second) = tokio::join!(
        story.handle.answer(ask.clone(), answer.clone()),
        story.handle.answer(ask.clone(), answer),
    );
    assert_eq!(first, Ok(()));
    assert_eq!(second, Err(CommandError::AskClosed { ask, by: ClosedBy::Person }));
    let ended = story.end().await;
    assert_eq!(ended.closed_asks().len(), 1);
}

pub(crate) async fn a_question_is_answered(subject: &dyn Subject) {
    let mut story = begin(subject, Scene::Question);
    if !subject.runtime().capabilities().questions {
        let ended = finish(story, Outcome::Completed).await;
        assert!(ended.closed_asks().is_empty(), "it can ask after all: {}", ended.text());
        return;
    }
    let (ask, body) = story.until_ask().await;
    let answer = match body {
        Ask::Question { questions } => {
            let chosen = vec![questions[0].options[1].label.clone()];
            Answer::Replies { replies: vec![QuestionReply { chosen, text: None }] }
        }
        Ask::Form { schema, .. } => {
            let schema = schema.unwrap();
            let (name, field) = schema["properties"].as_object().unwrap().iter().next().unwrap();
            Answer::Form { content: [(name.clone(), field["oneOf"][1]["const"].clone())].into() }
        }
        Ask::Approval(_) | Ask::Plan { .. } => panic!("not a question"),
    };
    story.handle.answer(ask, answer).await.unwrap();
    finish(story, Outcome::Completed).await;
}

pub(crate) async fn an_ask_is_closed_when_the_session_is_stopped(subject: &dyn Subject) {
    let mut story = begin(subject, Scene::Approval);
    let (ask, _) = story.until_ask().await;
    story.handle.stop().await.unwrap();
    let ended = finish(story, Outcome::Stopped).await;
    assert_ne!(ended.closed_asks()[&ask], ClosedBy::Person);
}

pub(crate) async fn a_rule_settles_an_ask_without_a_person(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::Approval);
    spec.rules.allow.push("execute".parse().unwrap());
    spec.rules.allow.push("edit".parse().unwrap());
    let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert!(ended.closed_asks().values().all(|by| *by == ClosedBy::Rule), "{}", ended.text());
}

pub(crate) async fn stop_ends_the_whole_tree_and_is_true(subject: &dyn Subject) {
    let mut story = begin(subject, Scene::Hang);
    story.until_tool(ToolPhase::Proposed).await;
    story.until_sleeping().await;
    let began = Instant::now();
    story.handle.stop().await.unwrap();
    finish(story, Outcome::Stopped).await;
    assert!(began.elapsed() < STOP, "it took {:?}", began.elapsed());
}

pub(crate) async fn kill_ends_the_whole_tree_at_once(subject: &dyn Subject) {
    let mut story = begin(subject, Scene::Hang);
    story.until_tool(ToolPhase::Proposed).await;
    story.until_sleeping().await;
    let began = Instant::now();
    story.handle.kill().await.unwrap();
    finish(story, Outcome::Stopped).await;
    assert!(began.elapsed() < Duration::from_secs(4), "it took {:?}", began.elapsed());
}

pub(crate) async fn dropping_the_session_ends_the_whole_tree(subject: &dyn Subject) {
    let mut story = begin(subject, Scene::Hang);
    story.until_tool(ToolPhase::Proposed).await;
    story.until_sleeping().await;
    let mark = story.mark();
    drop(story);
    let gone = async {
        while !proc::marked(&mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(STOP, gone).await.expect("processes outlived the session");
}

/// What the three clauses above would let through if there were no sweep; without this they would prove nothing.
pub(crate) async fn without_the_sweep_an_end_leaves_processes_behind(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::Hang);
    spec.containment.sweep = Sweep::RootOnly;
    let mut story = Story::begin(subject.runtime().as_ref(), spec);
    story.until_tool(ToolPhase::Proposed).await;
    story.until_sleeping().await;
    story.handle.kill().await.unwrap();
    let mark = story.mark();
    story.drain().await;
    let left = proc::marked(&mark);
    assert!(!left.is_empty(), "the scene starts nothing that could be left behind");
    kill_all(left);
}

pub(crate) async fn an_interrupt_ends_the_turn_and_keeps_the_session(subject: &dyn Subject) {
    let mut story = begin(subject, Scene::Interruptible);
    story.until_tool(ToolPhase::Proposed).await;
    story.handle.interrupt().await.unwrap();
    let ended = finish(story, Outcome::Interrupted).await;
    assert_eq!(ended.turns()[0].outcome, TurnOutcome::Interrupted);
    assert!(ended.end.session.is_some());
}

pub(crate) async fn a_second_prompt_waits_for_its_turn(subject: &dyn Subject) {
    let story = begin(subject, Scene::TwoPrompts);
    let second = subject.spec(Scene::TwoPrompts).prompt;
    let id = story.handle.prompt(second).await.unwrap();
    let ended = finish(story, Outcome::Completed).await;
    assert_eq!(ended.end.turns, 2, "{}", ended.text());
    assert_eq!(ended.turns()[1].prompts, [id]);
    let refused = ended.handle.prompt("too late").await;
    assert_eq!(refused, Err(CommandError::Ended));
}

pub(crate) async fn the_limit_on_model_calls_ends_a_run(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::ManyCalls);
    spec.limits.max_turns = Some(1);
    let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::OutOfTurns, "{}", ended.text());
    assert_eq!(ended.end.error.as_ref().map(|e| e.class), Some(ErrorClass::MaxTurns));
}

pub(crate) async fn the_budget_ends_a_run(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::TwoPrompts);
    spec.limits.budget = Some(Usd::from_dollars(0.0001));
    let story = Story::begin(subject.runtime().as_ref(), spec);
    story.handle.prompt(subject.spec(Scene::TwoPrompts).prompt).await.unwrap();
    let ended = story.end().await;
    if !subject.runtime().capabilities().usage {
        assert_eq!(ended.end.cost_usd, None, "what is not told is unknown: {}", ended.text());
        return;
    }
    if !subject.names_its_model() {
        let warned = |kind: &EventKind| matches!(kind, EventKind::Notice { code: Some(code), .. } if code == "cost_unknown");
        assert!(ended.events.iter().any(|event| warned(&event.kind)), "{}", ended.text());
        assert_eq!(ended.end.cost_usd, None, "{}", ended.text());
        return;
    }
    assert_eq!(ended.end.outcome, Outcome::OutOfBudget, "{}", ended.text());
    assert_eq!(ended.end.turns, 1, "the second prompt was not begun");
    assert!(ended.end.cost_usd.is_some());
}

pub(crate) async fn a_session_can_be_resumed(subject: &dyn Subject) {
    let first = finish(begin(subject, Scene::Text), Outcome::Completed).await;
    let mut spec = subject.spec(Scene::Text);
    let session = first.end.session.clone().unwrap();
    spec.resume =
        Some(ResumeFrom { fresh_prompt: Some("never used".into()), ..ResumeFrom::of(session) });
    let second = Story::begin(subject.runtime().as_ref(), spec).end().await;
    assert_eq!(second.end.outcome, Outcome::Completed, "{}", second.text());
    let expected = match subject.runtime().capabilities().resume {
        true => SessionOrigin::Resumed,
        // It begins anew, and the end says so.
        false => SessionOrigin::Fallback,
    };
    assert_eq!(second.end.origin, expected, "{}", second.text());
}

pub(crate) async fn the_wall_clock_ends_a_run(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::Hang);
    spec.limits.wall_clock = Some(Duration::from_secs(3));
    let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::TimedOut, "{}", ended.text());
    assert_eq!(ended.end.error.as_ref().and_then(|e| e.code.as_deref()), Some("wall_clock"));
}

pub(crate) async fn silence_ends_a_run(subject: &dyn Subject) {
    let mut spec = subject.spec(Scene::Hang);
    spec.limits.inactivity = Some(Duration::from_secs(2));
    let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::TimedOut, "{}", ended.text());
    assert_eq!(ended.end.error.as_ref().and_then(|e| e.code.as_deref()), Some("inactivity"));
}

pub(crate) async fn an_unknown_session_fails_and_says_so(subject: &dyn Subject) {
    let spec = subject.unknown_session();
    let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let class = ended.end.error.as_ref().map(|error| error.class);
    assert_eq!(class, Some(ErrorClass::SessionNotFound), "{}", ended.text());
    assert_eq!(ended.end.turns, 0);
}

pub(crate) async fn bad_input_is_refused_before_anything_runs(subject: &dyn Subject) {
    let refused = |spec| async {
        let ended = Story::begin(subject.runtime().as_ref(), spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Failed);
        let error = ended.end.error.clone().unwrap();
        assert_eq!(error.class, ErrorClass::Config, "{error:?}");
        assert_eq!(ended.events.len(), 1, "{}", ended.text());
        error.message
    };
    let mut spec = subject.spec(Scene::Text);
    spec.prompt = " \n".into();
    assert!(refused(spec).await.contains("empty"));
    let mut spec = subject.spec(Scene::Text);
    spec.prompt = "a\0b".into();
    assert!(refused(spec).await.contains("NUL byte at position 1"));
    let mut spec = subject.spec(Scene::Text);
    spec.cwd = "/no/such/folder".into();
    assert!(refused(spec).await.contains("/no/such/folder"));
    let mut spec = subject.spec(Scene::Text);
    spec.limits.max_turns = Some(0);
    assert!(refused(spec).await.contains("0 turns"));
}

pub(crate) async fn one_shot_work_gives_its_result(subject: &dyn Subject) {
    let runtime = subject.runtime();
    let token = CancellationToken::new();
    let result = run_once(runtime.as_ref(), subject.spec(Scene::Text), &token).await;
    assert_eq!(result.outcome, Outcome::Completed);
    assert!(!result.response.is_empty());
    assert!(matches!(result.transcript.last().unwrap().kind, EventKind::SessionEnded(_)));
    token.cancel();
    let cancelled = run_once(runtime.as_ref(), subject.spec(Scene::Hang), &token).await;
    assert_eq!(cancelled.outcome, Outcome::Stopped);
}
