//! What the host asks and tells in the agent's name.

use musher_core::{Answer, ClosedBy, PlanEntry, Question, QuestionReply};
use tokio::sync::watch;

use super::*;
use crate::session::{HostAsk, Keeper, Remark};

fn question() -> Ask {
    let text = "Which colour?".into();
    Ask::Question {
        questions: vec![Question { text, header: None, options: vec![], multi: false }],
    }
}

/// A session in the middle of a turn that ends when it is told to leave.
async fn busy(spec: SessionSpec) -> Session {
    let mut session = play(spec, |mut attempt| async move {
        say(&attempt, started()).await;
        told_to_leave(&mut attempt).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        BackendEnd::default()
    });
    while let Some(output) = session.next().await {
        if matches!(&output, SessionOutput::Event(event) if matches!(event.kind, EventKind::TurnStarted { .. }))
        {
            break;
        }
    }
    session
}

fn closings(kinds: &[EventKind]) -> Vec<(ClosedBy, bool)> {
    let closing = |kind: &EventKind| match kind {
        EventKind::AskClosed { by, answer, .. } => Some((*by, answer.is_some())),
        _ => None,
    };
    kinds.iter().filter_map(closing).collect()
}

#[tokio::test(start_paused = true)]
async fn what_the_host_asks_is_answered_by_a_person_like_any_other_ask() {
    let session = busy(spec()).await;
    let handle = session.handle();
    let HostAsk { ask, answer } = handle.ask(question()).await.unwrap();
    let replies = Answer::Replies {
        replies: vec![QuestionReply { chosen: vec![], text: Some("Blue".into()) }],
    };
    handle.answer(ask.clone(), replies.clone()).await.unwrap();
    assert_eq!(answer.await.unwrap().answer, replies);
    let late = handle.answer(ask, replies).await.unwrap_err();
    assert!(matches!(late, CommandError::AskClosed { by: ClosedBy::Person, .. }));
    handle.stop().await.unwrap();
    assert_eq!(closings(&all(session).await), [(ClosedBy::Person, true)]);
}

#[tokio::test(start_paused = true)]
async fn what_the_host_asks_has_the_deadline_and_the_default_of_every_ask() {
    let mut spec = spec();
    let deadline = Some(Duration::from_secs(60));
    spec.asks = AskPolicy::Wait { deadline, default: AskDecision::Allow };
    let session = busy(spec).await;
    let handle = session.handle();
    let asked = handle.ask(question()).await.unwrap();
    assert!(matches!(asked.answer.await.unwrap().answer, Answer::Deny { .. }));
    handle.stop().await.unwrap();
    assert_eq!(closings(&all(session).await), [(ClosedBy::Deadline, true)]);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_is_the_host_hears_so_at_once() {
    let mut spec = spec();
    spec.asks = AskPolicy::Deny;
    let session = busy(spec).await;
    let handle = session.handle();
    let asked = handle.ask(question()).await.unwrap();
    assert!(matches!(asked.answer.await.unwrap().answer, Answer::Deny { .. }));
    handle.stop().await.unwrap();
    assert_eq!(closings(&all(session).await), [(ClosedBy::Unattended, true)]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_reaches_the_host_only_when_it_is_durable() {
    let (disk, durable) = watch::channel(0);
    let (raw, _kept) = mpsc::channel(16);
    let mut spec = spec();
    spec.keeper = Some(Keeper { raw, durable });
    let session = busy(spec).await;
    let handle = session.handle();
    let HostAsk { ask, mut answer } = handle.ask(question()).await.unwrap();
    handle.answer(ask, Answer::Deny { reason: "no".into() }).await.unwrap();
    assert!(answer.try_recv().is_err());
    disk.send_replace(u64::MAX);
    assert_eq!(answer.await.unwrap().answer, Answer::Deny { reason: "no".into() });
    drop(session);
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_the_host_takes_back_or_that_outlives_its_turn_is_closed() {
    let session = busy(spec()).await;
    let handle = session.handle();
    let first = handle.ask(question()).await.unwrap();
    let second = handle.ask(question()).await.unwrap();
    handle.withdraw(first.ask).await.unwrap();
    assert!(first.answer.await.is_err());
    handle.stop().await.unwrap();
    assert!(second.answer.await.is_err());
    let kinds = all(session).await;
    assert_eq!(closings(&kinds), [(ClosedBy::Agent, false), (ClosedBy::TurnEnd, false)]);
    assert_eq!(handle.ask(question()).await.unwrap_err(), CommandError::Ended);
}

#[tokio::test(start_paused = true)]
async fn a_denial_that_ends_the_turn_ends_it_for_an_ask_of_the_host_too() {
    let session = play(spec(), |mut attempt| async move {
        say(&attempt, started()).await;
        while let Some(order) = attempt.port.orders.recv().await {
            if matches!(order, BackendOrder::Interrupt) {
                break;
            }
        }
        say(&attempt, ended(TurnOutcome::Failed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let handle = session.handle();
    let asked = loop {
        match handle.ask(question()).await {
            Err(CommandError::NoTurn) => tokio::task::yield_now().await,
            asked => break asked.unwrap(),
        }
    };
    let denial = Answer::DenyAndInterrupt { reason: "stop this".into() };
    handle.answer(asked.ask, denial.clone()).await.unwrap();
    assert_eq!(asked.answer.await.unwrap().answer, denial);
    assert_eq!(outcome(&all(session).await), Outcome::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn remarks_of_the_host_become_events_and_empty_ones_are_refused() {
    let session = busy(spec()).await;
    let handle = session.handle();
    let entries = vec![PlanEntry { text: "look".into(), status: "pending".into() }];
    handle.remark(Remark::Plan(entries.clone())).await.unwrap();
    handle.remark(Remark::Progress("half way".into())).await.unwrap();
    handle.remark(Remark::Summary("all done".into())).await.unwrap();
    for bad in [Remark::Progress(" ".into()), Remark::Summary("x".repeat(1 << 20))] {
        assert!(matches!(handle.remark(bad).await, Err(CommandError::BadPrompt(_))));
    }
    handle.stop().await.unwrap();
    let kinds = all(session).await;
    assert!(kinds.contains(&EventKind::Plan { entries }));
    let notices: Vec<(&str, &str)> = kinds
        .iter()
        .filter_map(|kind| match kind {
            EventKind::Notice { code: Some(code), text, .. } => {
                Some((code.as_str(), text.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(notices, [("progress", "half way"), ("summary", "all done")]);
}
