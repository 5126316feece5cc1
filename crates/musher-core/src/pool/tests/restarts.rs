//! Promise 7: a restart storm parks after three tries in ten minutes and asks a person.

use super::scene::{Scene, ended, run, seen, story};
use crate::pool::{CommandReply, Fact, PoolCommand, PoolInput, RESTART_ASK, Refusal};
use crate::{
    Answer, FirstPrompt, Outcome, RunId, RunKind, RunPhase, SessionId, SessionOpening, SlotId,
};

fn answer(lost: RunId, answer: Answer) -> PoolCommand {
    PoolCommand::Answer { run: lost, ask: RESTART_ASK.into(), answer, seen: seen() }
}

fn allow(lost: RunId) -> PoolCommand {
    answer(lost, Answer::Allow { input: None })
}

fn deny(lost: RunId) -> PoolCommand {
    answer(lost, Answer::Deny { reason: "enough".into() })
}

/// A pool whose run was lost until the pool gave up; the last lost run is `r4`.
fn parked() -> Scene {
    let mut scene = Scene::with_story();
    scene.live("s1", "ada");
    for n in 1..=3 {
        scene.lose(run(n));
        scene.go_live(run(n + 1));
    }
    scene.lose(run(4));
    scene
}

#[test]
fn promise_7_the_fourth_loss_within_ten_minutes_parks_and_asks() {
    let mut scene = Scene::with_story();
    scene.live("s1", "ada");
    for n in 1..=3 {
        let decision = scene.lose(run(n));
        let queued = decision.facts.iter().any(|fact| matches!(fact, Fact::RunQueued { .. }));
        assert!(queued, "{decision:?}");
        scene.go_live(run(n + 1));
        scene.now += 60_000;
    }
    let decision = scene.lose(run(4));
    assert!(matches!(decision.facts[..], [Fact::RunFinished { .. }, Fact::RunParked { .. }]));
    assert!(scene.state.runs.is_empty() && decision.actions.is_empty());
}

#[test]
fn losses_that_lie_far_apart_are_restarted_for_ever() {
    let mut scene = Scene::with_story();
    scene.live("s1", "ada");
    for n in 1..=30 {
        scene.lose(run(n));
        scene.go_live(run(n + 1));
        scene.now += 200_001;
    }
    assert!(scene.state.parked.is_empty());
    let kept = scene.state.restarts.values().map(Vec::len).max();
    assert_eq!(kept, Some(16), "old restarts are forgotten");
}

#[test]
fn a_clock_that_was_set_back_never_lets_more_restarts_through() {
    let mut scene = Scene::with_story();
    scene.live("s1", "ada");
    for n in 1..=3 {
        scene.lose(run(n));
        scene.go_live(run(n + 1));
        scene.now -= 3_600_000;
    }
    scene.lose(run(4));
    assert_eq!(scene.state.parked.len(), 1);
}

#[test]
fn a_clock_that_ran_ahead_for_a_while_does_not_make_the_pool_forget() {
    let mut scene = Scene::with_story();
    scene.live("s1", "ada");
    let hour = 3_600_000;
    for (n, jump) in [(1, 0), (2, hour), (3, -hour), (4, -hour), (5, hour)] {
        scene.now += jump;
        scene.lose(run(n));
        scene.go_live(run(n + 1));
    }
    assert_eq!(scene.state.parked.len(), 1);
}

#[test]
fn promise_7_a_person_allows_a_new_run_and_the_count_begins_again() {
    let mut scene = parked();
    assert_eq!(scene.reply(allow(run(4))), Ok(CommandReply::Run(run(5))));
    assert!(scene.state.parked.is_empty() && scene.state.restarts.is_empty());
    scene.go_live(run(5));
    scene.lose(run(5));
    assert!(scene.state.parked.is_empty());
    assert_eq!(scene.reply(allow(run(4))), Err(Refusal::NoSuchRun { run: run(4) }));
}

#[test]
fn a_person_denies_and_nothing_more_happens() {
    let mut scene = parked();
    let wrong = answer(run(4), Answer::Replies { replies: vec![] });
    assert!(matches!(scene.reply(wrong), Err(Refusal::WrongAnswer { .. })));
    assert_eq!(scene.reply(deny(run(4))), Ok(CommandReply::Done));
    assert!(scene.state.parked.is_empty() && scene.state.runs.is_empty());
}

#[test]
fn a_start_retry_or_resume_by_a_person_takes_the_question_back() {
    let mut scene = parked();
    scene.start("s1", "ada");
    assert!(scene.state.parked.is_empty());

    let mut scene = parked();
    let past = scene.past(run(4));
    assert_eq!(scene.reply(PoolCommand::Retry { past }), Ok(CommandReply::Run(run(5))));
    assert!(scene.state.parked.is_empty());

    let mut scene = parked();
    assert_eq!(
        scene.reply(PoolCommand::FinishStory { story: story("s1") }),
        Ok(CommandReply::Done)
    );
    assert!(scene.state.parked.is_empty());
}

#[test]
fn what_was_lost_goes_on_with_its_session_in_its_worktree() {
    let mut scene = Scene::with_story();
    let lost = scene.live("s1", "ada");
    scene.name_session(lost, 1, "x");
    scene.lose(lost);
    let plan = &scene.state.runs[&run(2)].plan;
    let opening = SessionOpening::Resume { session: SessionId::new("x") };
    assert_eq!(plan.kind, RunKind::Restart { of: lost, opening });
    assert_eq!((plan.words, plan.slot), (FirstPrompt::Continue, Some(SlotId(1))));
}

#[test]
fn what_was_lost_before_it_spoke_is_told_its_own_words_again() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.name_session(first, 1, "x");
    scene.end(first, Outcome::Completed);
    let past = scene.past(first);
    let command = PoolCommand::Resume { past, text: Some("And the frame.".into()) };
    assert_eq!(scene.reply(command), Ok(CommandReply::Run(run(2))));
    scene.go_live(run(2));
    scene.lose(run(2));
    let plan = &scene.state.runs[&run(3)].plan;
    assert_eq!(plan.words, FirstPrompt::Of { run: run(2) });
    assert_eq!(plan.kind.opening(), SessionOpening::Resume { session: SessionId::new("x") });
}

#[test]
fn only_lost_runs_restart_and_only_if_nobody_wanted_their_end() {
    for outcome in [Outcome::Failed, Outcome::Stopped, Outcome::TimedOut, Outcome::OutOfBudget] {
        let mut scene = Scene::with_story();
        let first = scene.live("s1", "ada");
        scene.end(first, outcome);
        assert!(scene.state.runs.is_empty(), "{outcome:?}");
    }
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.reply(PoolCommand::Stop { run: first }).unwrap();
    scene.lose(first);
    assert!(scene.state.runs.is_empty());
}

#[test]
fn a_stop_that_comes_when_the_run_is_already_lost_still_keeps_it_from_restarting() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.put(PoolInput::RunnerGone { run: first });
    scene.hear(first, 3, ended(Outcome::Lost));
    assert!(matches!(scene.state.runs[&first].phase, RunPhase::Finishing { .. }));
    assert_eq!(scene.reply(PoolCommand::Stop { run: first }), Ok(CommandReply::Done));
    scene.put(PoolInput::Finished { run: first, commit: None, error: None });
    assert!(scene.state.runs.is_empty());
}

#[test]
fn a_run_ends_even_if_its_log_has_lost_the_events_that_were_heard() {
    let mut scene = Scene::with_story();
    let first = scene.start("s1", "ada");
    scene.go_live(first);
    scene.name_session(first, 7, "x");
    scene.put(PoolInput::RunnerGone { run: first });
    // The end takes a number that was heard before; nothing else does.
    assert_eq!(scene.name_session(first, 3, "y").facts, []);
    let decision = scene.hear(first, 3, ended(Outcome::Lost));
    let names: Vec<_> = decision.facts.iter().map(|fact| fact.name()).collect();
    assert_eq!(names, ["run_ended"]);
    assert_eq!(scene.hear(first, 3, ended(Outcome::Lost)).facts, [], "it ends once");
}
