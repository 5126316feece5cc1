//! What was begun is ended, whoever began it and however the session ends; and an agent that falls mute is ended.

use musher_core::{TaskPhase, TaskUpdate, ToolPhase, ToolUpdate};

use super::*;

fn helper() -> EventScope {
    EventScope::Subagent { agent: "a1".into(), parent_call: Some("agent".into()), name: None }
}

fn call(id: &str) -> EventKind {
    EventKind::Tool(Box::new(ToolUpdate::phase(id.into(), ToolPhase::Proposed)))
}

fn task(id: &str, call: Option<&str>, background: bool) -> EventKind {
    EventKind::Task(TaskUpdate {
        task: id.into(),
        phase: TaskPhase::Started,
        background,
        name: None,
        title: None,
        call: call.map(Into::into),
        summary: None,
    })
}

/// A turn in which a helper has a call open, and another works in the background.
async fn begin_work(attempt: &Attempt) {
    say(attempt, started()).await;
    for (kind, scope) in [
        (call("agent"), EventScope::Main),
        (task("t1", Some("agent"), false), EventScope::Main),
        (call("its-call"), helper()),
        (task("t2", None, true), EventScope::Main),
    ] {
        let signal = Signal::Event { kind, scope, raw: None };
        attempt.port.signals.send(vec![signal].into()).await.unwrap();
    }
}

/// What an event ends, by its name.
fn end(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::Tool(update) if update.phase == ToolPhase::Cancelled => {
            Some(update.call.as_str())
        }
        EventKind::Task(update) if update.phase == TaskPhase::Stopped => Some(update.task.as_str()),
        EventKind::TurnEnded(_) => Some("turn"),
        EventKind::SessionEnded(_) => Some("session"),
        _ => None,
    }
}

/// What was ended, in order.
fn ends(kinds: &[EventKind]) -> Vec<&str> {
    kinds.iter().filter_map(end).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_and_tasks_of_helpers_end_with_their_turn_or_with_the_session() {
    // The agent tells the end of its turn after an interrupt, and then works on in the background until it is stopped.
    let session = play(spec(), |mut attempt| async move {
        begin_work(&attempt).await;
        while !matches!(attempt.port.orders.recv().await, Some(BackendOrder::Interrupt)) {}
        say(&attempt, ended(TurnOutcome::Interrupted)).await;
        attempt.port.end.cancelled().await;
        BackendEnd::default()
    });
    let handle = session.handle();
    let listening = crate::task::spawn(all(session));
    while handle.interrupt().await.is_err() {
        tokio::task::yield_now().await;
    }
    handle.stop().await.unwrap();
    let kinds = listening.await.unwrap();
    assert_eq!(ends(&kinds), ["its-call", "agent", "t1", "turn", "t2", "session"]);
}

#[tokio::test(start_paused = true)]
async fn calls_and_tasks_of_helpers_end_when_the_agent_is_killed() {
    let session = play(spec(), |attempt| async move {
        begin_work(&attempt).await;
        attempt.port.kill.cancelled().await;
        BackendEnd { signal: Some(9), ..BackendEnd::default() }
    });
    let handle = session.handle();
    let listening = crate::task::spawn(all(session));
    handle.kill().await.unwrap();
    let kinds = listening.await.unwrap();
    assert_eq!(ends(&kinds), ["its-call", "agent", "t1", "turn", "t2", "session"]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_closes_its_output_in_its_turn_and_stays_is_ended_as_a_failure() {
    for leaves in [false, true] {
        let session = play(spec(), move |attempt| async move {
            say(&attempt, started()).await;
            attempt.port.signals.send(vec![Signal::OutputClosed].into()).await.unwrap();
            let end = attempt.port.end.cancelled();
            match leaves {
                true => tokio::time::sleep(Duration::from_secs(2)).await,
                false => end.await,
            }
            BackendEnd { signal: (!leaves).then_some(15), ..BackendEnd::default() }
        });
        let began = Instant::now();
        let kinds = all(session).await;
        assert!(began.elapsed() <= EXIT_TIMEOUT, "{:?}", began.elapsed());
        assert_eq!(outcome(&kinds), Outcome::Failed, "{kinds:?}");
        let turn = kinds.iter().find_map(|kind| match kind {
            EventKind::TurnEnded(turn) => Some(turn),
            _ => None,
        });
        let turn = turn.unwrap();
        assert_eq!(turn.outcome, TurnOutcome::Failed);
        let code = turn.error.as_ref().and_then(|error| error.code.as_deref());
        assert_eq!(code, (!leaves).then_some("output_closed"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_closes_its_output_after_its_work_has_done_it() {
    let session = play(spec(), move |mut attempt| async move {
        say(&attempt, started()).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        attempt.port.signals.send(vec![Signal::OutputClosed].into()).await.unwrap();
        attempt.port.end.cancelled().await;
        BackendEnd { signal: Some(15), ..BackendEnd::default() }
    });
    let began = Instant::now();
    assert_eq!(outcome(&all(session).await), Outcome::Completed);
    assert!(began.elapsed() <= EXIT_TIMEOUT, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn promise_6_a_run_that_sets_no_limit_ends_after_a_quarter_of_an_hour_of_silence_in_a_turn() {
    for (asks, off, expected) in [
        (false, false, Outcome::TimedOut),
        (true, false, Outcome::Completed),
        (false, true, Outcome::Completed),
    ] {
        let mut spec = spec();
        if off {
            spec.limits.inactivity = None;
        }
        let session = play(spec, move |mut attempt| async move {
            say(&attempt, started()).await;
            if asks {
                ask(&attempt, false).await;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(16 * 60)) => {
                    say(&attempt, ended(TurnOutcome::Completed)).await;
                    told_to_leave(&mut attempt).await;
                }
                () = attempt.port.end.cancelled() => {}
            }
            BackendEnd::default()
        });
        assert_eq!(outcome(&all(session).await), expected, "asks: {asks}, off: {off}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_names_the_words_that_it_begins_with_and_no_others() {
    let session = play(spec(), |mut attempt| async move {
        let begun = |prompt: &str| vec![Signal::Begun { prompt: prompt.into() }];
        let Some(BackendOrder::Prompt { id, .. }) = attempt.port.orders.recv().await else {
            panic!()
        };
        attempt.port.signals.send(begun(id.as_str()).into()).await.unwrap();
        say(&attempt, started()).await;
        // Words that reach the turn under way begin none; words that come too late for it begin the next one.
        attempt.port.signals.send(begun("in-time").into()).await.unwrap();
        say(&attempt, ended(TurnOutcome::Completed)).await;
        attempt.port.signals.send(begun("too-late").into()).await.unwrap();
        let background = EventKind::TurnStarted { trigger: Trigger::Background, prompts: vec![] };
        say(&attempt, background.clone()).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        say(&attempt, background).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let kinds = all(session).await;
    let begun: Vec<_> = kinds
        .iter()
        .filter_map(|kind| match kind {
            EventKind::TurnStarted { trigger, prompts } => Some((*trigger, prompts.clone())),
            _ => None,
        })
        .collect();
    assert_eq!((begun[0].0, begun[0].1.len()), (Trigger::Prompt, 1));
    assert_eq!(begun[1], (Trigger::Prompt, vec!["too-late".into()]));
    assert_eq!(begun[2], (Trigger::Background, vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_waits_long_is_told_once_and_still_waits() {
    let mut spec = spec();
    spec.ask_reminder = Some(Duration::from_secs(600));
    let session = play(spec, |mut attempt| async move {
        say(&attempt, started()).await;
        ask(&attempt, false).await;
        while !matches!(attempt.port.orders.recv().await, Some(BackendOrder::Answer { .. })) {}
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let handle = session.handle();
    tokio::time::sleep(Duration::from_secs(8 * 3600)).await;
    handle.answer("a".into(), musher_core::Answer::Allow { input: None }).await.unwrap();
    let kinds = all(session).await;
    let reminders: Vec<&String> = kinds
        .iter()
        .filter_map(|kind| match kind {
            EventKind::Notice { code: Some(code), text, .. } if code == "ask_waits" => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(reminders.len(), 1, "{kinds:?}");
    assert!(reminders[0].starts_with("Still waiting for you after 10 min"), "{reminders:?}");
    let by = kinds.iter().find_map(|kind| match kind {
        EventKind::AskClosed { by, .. } => Some(*by),
        _ => None,
    });
    assert_eq!(by, Some(ClosedBy::Person), "nothing was denied meanwhile");
}
