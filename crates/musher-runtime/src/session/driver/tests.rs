//! The driver with a backend that is played in memory, on a clock that jumps.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod attachments;
mod ends;
mod files;
mod grants;
mod hosted;
mod money;

use std::time::Duration;

use musher_core::{
    Activity, Approval, Ask, AskDecision, EventKind, Outcome, RateLimit, ToolKind, Trigger,
    TurnEnded, TurnOutcome,
};

use super::super::port::Signal;
use super::*;
use crate::session::{AskPolicy, CommandError, PendingPrompt, SessionCommand};
use crate::{Capabilities, Environment, SessionHandle, SessionOutput};

fn spec() -> SessionSpec {
    SessionSpec::new("go", "/tmp", Environment::default())
}

/// Starts a session whose backend is the given function.
fn play<F, R>(spec: SessionSpec, backend: F) -> Session
where
    F: Fn(Attempt) -> R + Send + Sync + 'static,
    R: Future<Output = BackendEnd> + Send + 'static,
{
    let profile = BackendProfile {
        name: "played".into(),
        capabilities: Capabilities::ALL,
        variables: &[],
        chosen: &[],
        banned: &[],
        files: [].as_slice().into(),
        asks_a_model: true,
    };
    start(profile, spec, Arc::new(move |attempt| Box::pin(backend(attempt))))
}

async fn say(attempt: &Attempt, kind: EventKind) {
    // A session that was dropped does not listen.
    let _gone = attempt.port.signals.send(vec![Signal::event(kind)].into()).await;
}

async fn ask(attempt: &Attempt, human_only: bool) {
    let body = Ask::Approval(Box::new(Approval {
        tool: "t".into(),
        tool_kind: ToolKind::Other,
        call: None,
        subject: None,
        subject_field: None,
        input: serde_json::Value::Null,
        edits: Vec::new(),
        reason: None,
        always: vec![],
        human_only,
        shortened: None,
        as_is: false,
    }));
    let ask = Signal::AskOpened { ask: "a".into(), body, scope: EventScope::Main, raw: None };
    attempt.port.signals.send(vec![ask].into()).await.unwrap();
}

fn started() -> EventKind {
    EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: vec![] }
}

fn ended(outcome: TurnOutcome) -> EventKind {
    EventKind::TurnEnded(Box::new(TurnEnded::synthesised(outcome, None)))
}

/// Waits until it is told to close or to end.
async fn told_to_leave(attempt: &mut Attempt) {
    loop {
        tokio::select! {
            () = attempt.port.end.cancelled() => return,
            () = attempt.port.kill.cancelled() => return,
            order = attempt.port.orders.recv() => match order {
                Some(BackendOrder::Close) | None => return,
                Some(_) => {}
            },
        }
    }
}

async fn all(mut session: Session) -> Vec<EventKind> {
    let mut kinds = Vec::new();
    while let Some(output) = session.next().await {
        if let SessionOutput::Event(event) = output {
            kinds.push(event.kind);
        }
    }
    kinds
}

fn outcome(kinds: &[EventKind]) -> Outcome {
    match kinds.last() {
        Some(EventKind::SessionEnded(end)) => end.outcome,
        other => panic!("the last word is {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn promise_6_a_limit_that_is_passed_in_the_middle_of_what_came_together_holds() {
    for (max, expected) in [(1, Outcome::OutOfTurns), (2, Outcome::Completed)] {
        let mut spec = spec();
        spec.limits.max_turns = Some(max);
        let session = play(spec, |mut attempt| async move {
            let (begun, done) = (Signal::event(started()), ended(TurnOutcome::Completed));
            let signals = vec![begun, Signal::ModelCall, Signal::ModelCall, Signal::event(done)];
            let batch = FrameBatch { ends: vec![1, 2, 3], ..signals.into() };
            attempt.port.signals.send(batch).await.unwrap();
            told_to_leave(&mut attempt).await;
            BackendEnd::default()
        });
        assert_eq!(outcome(&all(session).await), expected, "at most {max}");
    }
}

#[tokio::test(start_paused = true)]
async fn promise_6_a_rate_limit_reset_extends_the_patience_with_silence() {
    for (limited, expected) in [(false, Outcome::TimedOut), (true, Outcome::Completed)] {
        let mut spec = spec();
        spec.limits.inactivity = Some(Duration::from_secs(10));
        let session = play(spec, move |mut attempt| async move {
            say(&attempt, started()).await;
            if limited {
                let limit = RateLimit {
                    exhausted: true,
                    status: "rejected".into(),
                    window: None,
                    resets_at: Some(clock::now_ms() + 60_000),
                    used: None,
                    error: None,
                };
                say(&attempt, EventKind::RateLimit(Box::new(limit))).await;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(65)) => {
                    say(&attempt, ended(TurnOutcome::Completed)).await;
                    told_to_leave(&mut attempt).await;
                }
                () = attempt.port.end.cancelled() => {}
            }
            BackendEnd::default()
        });
        assert_eq!(outcome(&all(session).await), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn silence_does_not_count_while_a_person_is_asked() {
    let mut spec = spec();
    spec.limits.inactivity = Some(Duration::from_secs(10));
    let deadline = Some(Duration::from_secs(3600));
    spec.asks = AskPolicy::Wait { deadline, default: AskDecision::Allow };
    let session = play(spec, |mut attempt| async move {
        say(&attempt, started()).await;
        ask(&attempt, false).await;
        while !matches!(attempt.port.orders.recv().await, Some(BackendOrder::Answer { .. })) {}
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let kinds = all(session).await;
    assert_eq!(outcome(&kinds), Outcome::Completed);
    let by = kinds.iter().find_map(|kind| match kind {
        EventKind::AskClosed { by, .. } => Some(*by),
        _ => None,
    });
    assert_eq!(by, Some(ClosedBy::Deadline));
}

#[tokio::test(start_paused = true)]
async fn what_only_a_person_may_allow_is_never_allowed_by_rule_or_default() {
    let mut spec = spec();
    spec.rules.allow.push("*".parse().unwrap());
    spec.asks =
        AskPolicy::Wait { deadline: Some(Duration::from_secs(1)), default: AskDecision::Allow };
    let session = play(spec, |mut attempt| async move {
        say(&attempt, started()).await;
        ask(&attempt, true).await;
        let denied = loop {
            if let Some(BackendOrder::Answer { answer, .. }) = attempt.port.orders.recv().await {
                break matches!(answer, musher_core::Answer::Deny { .. });
            }
        };
        let outcome = if denied { TurnOutcome::Completed } else { TurnOutcome::Failed };
        say(&attempt, ended(outcome)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    assert_eq!(outcome(&all(session).await), Outcome::Completed);
}

#[tokio::test]
async fn a_turn_that_starts_inside_a_turn_ends_the_one_before() {
    let session = play(spec(), |mut attempt| async move {
        say(&attempt, started()).await;
        say(&attempt, started()).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let kinds = all(session).await;
    let ends = kinds.iter().filter(|kind| matches!(kind, EventKind::TurnEnded(_))).count();
    assert_eq!(ends, 2);
}

#[tokio::test]
async fn a_backend_that_panics_is_our_fault_and_the_end_is_still_said() {
    let session = play(spec(), |attempt| async move {
        say(&attempt, started()).await;
        panic!("a bug");
    });
    let kinds = all(session).await;
    let Some(EventKind::SessionEnded(end)) = kinds.last() else { panic!("no end") };
    assert_eq!(end.error.as_ref().map(|error| error.class), Some(ErrorClass::Internal));
}

#[tokio::test]
async fn a_host_that_does_not_listen_can_still_stop_the_agent() {
    let (stopped, was_stopped) = tokio::sync::oneshot::channel();
    let stopped = std::sync::Mutex::new(Some(stopped));
    let session = play(spec(), move |attempt| {
        let stopped = stopped.lock().unwrap().take();
        async move {
            say(&attempt, started()).await;
            loop {
                tokio::select! {
                    () = say(&attempt, started()) => {}
                    () = attempt.port.end.cancelled() => break,
                }
            }
            stopped.unwrap().send(()).unwrap();
            BackendEnd::default()
        }
    });
    let handle: SessionHandle = session.handle();
    // The agent talks without end and nobody reads, so it must come to wait.
    while handle.send(SessionCommand::Interrupt).await == Err(CommandError::NoTurn) {}
    handle.stop().await.unwrap();
    tokio::time::pause();
    was_stopped.await.unwrap();
    assert_eq!(outcome(&all(session).await), Outcome::Stopped);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_leave_is_made_to() {
    let session = play(spec(), |attempt| async move {
        say(&attempt, started()).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        attempt.port.end.cancelled().await;
        BackendEnd::default()
    });
    assert_eq!(outcome(&all(session).await), Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_waits_until_the_agent_says_that_it_is_idle() {
    let session = play(spec(), |mut attempt| async move {
        attempt.port.orders.recv().await;
        say(&attempt, EventKind::SessionState { state: Activity::Running }).await;
        say(&attempt, started()).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        // A turn that nobody asked for follows before the agent is idle.
        say(&attempt, started()).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        assert!(attempt.port.orders.try_recv().is_err(), "the prompt came too early");
        say(&attempt, EventKind::SessionState { state: Activity::Idle }).await;
        assert!(matches!(attempt.port.orders.recv().await, Some(BackendOrder::Prompt { .. })));
        say(&attempt, started()).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    session.handle().prompt("and then this").await.unwrap();
    let kinds = all(session).await;
    let Some(EventKind::SessionEnded(end)) = kinds.last() else { panic!("no end") };
    assert_eq!((end.outcome, end.turns), (Outcome::Completed, 3));
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_lingers_for_another_prompt_and_then_ends() {
    let mut spec = spec();
    spec.linger = Duration::from_secs(60);
    let mut session = play(spec, |mut attempt| async move {
        while let Some(order) = attempt.port.orders.recv().await {
            match order {
                BackendOrder::Prompt { .. } => {
                    say(&attempt, started()).await;
                    say(&attempt, ended(TurnOutcome::Completed)).await;
                }
                _ => break,
            }
        }
        BackendEnd::default()
    });
    let handle = session.handle();
    let mut ends = 0;
    let mut last = None;
    while let Some(output) = session.next().await {
        let SessionOutput::Event(event) = output else { continue };
        if matches!(event.kind, EventKind::TurnEnded(_)) {
            ends += 1;
            if ends == 1 {
                tokio::time::sleep(Duration::from_secs(30)).await;
                handle.prompt("one more").await.unwrap();
            }
        }
        last = Some(event.kind);
    }
    assert_eq!(ends, 2);
    assert!(matches!(last, Some(EventKind::SessionEnded(_))));
    assert_eq!(handle.prompt("too late").await, Err(CommandError::Ended));
}

#[test]
fn a_clouds_credentials_pass_only_when_that_cloud_is_chosen() {
    let profile = BackendProfile {
        name: "played".into(),
        capabilities: Capabilities::ALL,
        variables: &["USE_CLOUD"],
        chosen: &[("USE_CLOUD", &["CLOUD_*"])],
        banned: &[],
        files: [].as_slice().into(),
        asks_a_model: true,
    };
    for (chosen, expected) in [(None, 0), (Some(""), 1), (Some("1"), 2)] {
        let mut spec = spec();
        let vars = [("CLOUD_KEY".into(), "x".into())];
        let uses = chosen.map(|value| ("USE_CLOUD".into(), value.into()));
        spec.environment = Environment::from_vars(vars.into_iter().chain(uses));
        let backend: Backend = Arc::new(|_| Box::pin(async { BackendEnd::default() }));
        let driver = Driver::new(profile.clone(), spec, backend, CancellationToken::new());
        let passed = driver.env.iter().filter(|(name, _)| name.to_string_lossy().contains("CLOUD"));
        assert_eq!(passed.count(), expected, "{chosen:?}");
    }
}

#[tokio::test]
async fn a_command_that_comes_too_late_is_told_so_even_if_nobody_reads() {
    let session = play(spec(), |attempt| async move {
        for _ in 0..3 * OUTPUTS {
            let kind = EventKind::Notice { level: Level::Info, code: None, text: "word".into() };
            tokio::select! {
                () = say(&attempt, kind) => {}
                () = attempt.port.end.cancelled() => break,
            }
        }
        BackendEnd::default()
    });
    let handle = session.handle();
    while handle.stop().await.is_ok() {}
    assert_eq!(handle.stop().await, Err(CommandError::Ended));
    assert_eq!(outcome(&all(session).await), Outcome::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_time_beyond_all_time_is_no_limit() {
    let mut spec = spec();
    spec.limits.wall_clock = Some(Duration::MAX);
    spec.limits.inactivity = Some(Duration::MAX);
    spec.linger = Duration::MAX;
    spec.asks = AskPolicy::Wait { deadline: Some(Duration::MAX), default: AskDecision::Deny };
    let session = play(spec, |mut attempt| async move {
        say(&attempt, started()).await;
        ask(&attempt, false).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let handle = session.handle();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    handle.stop().await.unwrap();
    assert_eq!(outcome(&all(session).await), Outcome::Stopped);
}

#[tokio::test(start_paused = true)]
async fn silence_counts_while_only_background_work_is_open() {
    let mut spec = spec();
    spec.limits.inactivity = Some(Duration::from_secs(60));
    let session = play(spec, |attempt| async move {
        say(&attempt, started()).await;
        let helper = musher_core::TaskUpdate {
            task: "helper".into(),
            phase: musher_core::TaskPhase::Started,
            background: true,
            name: None,
            title: None,
            call: None,
            summary: None,
        };
        say(&attempt, EventKind::Task(helper)).await;
        say(&attempt, ended(TurnOutcome::Completed)).await;
        attempt.port.end.cancelled().await;
        BackendEnd::default()
    });
    assert_eq!(outcome(&all(session).await), Outcome::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn whoever_stops_a_run_is_told_of_the_prompts_that_were_not_begun() {
    let session = play(spec(), |mut attempt| async move {
        say(&attempt, started()).await;
        told_to_leave(&mut attempt).await;
        BackendEnd::default()
    });
    let handle = session.handle();
    handle.prompt("more").await.unwrap();
    handle.stop().await.unwrap();
    let kinds = all(session).await;
    let told = kinds.iter().filter(|kind| {
        matches!(kind, EventKind::Notice { code: Some(code), .. } if code == "prompts_not_begun")
    });
    assert_eq!(told.count(), 1, "{kinds:#?}");
}

#[tokio::test(start_paused = true)]
async fn prompts_that_an_earlier_session_left_are_told_of_at_once_and_begun_in_their_turn() {
    let mut spec = spec();
    let left = |id: &str| PendingPrompt { id: id.into(), text: format!("do {id}") };
    spec.pending = vec![left("p1"), left("p2")];
    let session = play(spec, |mut attempt| async move {
        while let Some(order) = attempt.port.orders.recv().await {
            match order {
                BackendOrder::Prompt { .. } => {
                    say(&attempt, started()).await;
                    say(&attempt, ended(TurnOutcome::Completed)).await;
                }
                _ => break,
            }
        }
        BackendEnd::default()
    });
    let kinds = all(session).await;
    let told = kinds.iter().filter_map(|kind| match kind {
        EventKind::UserMessage { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), ["go", "do p1", "do p2"]);
    let first_turn = kinds.iter().position(|kind| matches!(kind, EventKind::TurnStarted { .. }));
    let last_told = kinds.iter().rposition(|kind| matches!(kind, EventKind::UserMessage { .. }));
    assert!(last_told < first_turn, "they are on record before anything is done");
    let begun = kinds.iter().filter_map(|kind| match kind {
        EventKind::TurnStarted { prompts, .. } => Some(prompts.clone()),
        _ => None,
    });
    let begun: Vec<_> = begun.collect();
    assert_eq!(begun[1..], [vec!["p1".into()], vec!["p2".into()]]);
    assert_eq!(outcome(&kinds), Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_dies_before_it_began_a_prompt_has_not_completed() {
    for (signal, expected) in [(Some(9), Outcome::Lost), (None, Outcome::Failed)] {
        let session = play(spec(), move |mut attempt| async move {
            attempt.port.orders.recv().await;
            say(&attempt, started()).await;
            say(&attempt, ended(TurnOutcome::Completed)).await;
            // It is given the next prompt, and is gone before it says anything of it.
            assert!(matches!(attempt.port.orders.recv().await, Some(BackendOrder::Prompt { .. })));
            BackendEnd { signal, ..BackendEnd::default() }
        });
        session.handle().prompt("and then this").await.unwrap();
        let kinds = all(session).await;
        let Some(EventKind::SessionEnded(end)) = kinds.last() else { panic!("no end") };
        assert_eq!((end.outcome, end.turns), (expected, 1), "{kinds:#?}");
        let why = end.error.as_ref().unwrap().to_string();
        assert!(why.contains("before it began its next turn"), "{why}");
    }
}
