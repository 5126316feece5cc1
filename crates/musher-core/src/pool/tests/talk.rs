//! What is said to runs, to those that have not begun and those that are over too.

use super::scene::{Scene, ended, run};
use crate::pool::{
    Action, CommandReply, DeliveryKind, Fact, PoolCommand, PoolInput, Refusal, RunReport, TextKey,
    Undelivered, UndeliveredCode,
};
use crate::{
    Actor, CommandId, EndRequest, Outcome, RunId, RunKind, RunLine, RunPhase, RunRef,
    SessionChange, SessionId, SlotId, WorktreeStart,
};

fn prompt(run: RunId, text: &str) -> PoolCommand {
    PoolCommand::Prompt { run: RunRef::Live(run), text: text.into() }
}

fn handed(actions: &[Action]) -> Vec<&str> {
    let mut handed = Vec::new();
    for action in actions {
        if let Action::Deliver { command, .. } = action {
            handed.push(command.as_str());
        }
    }
    handed
}

#[test]
fn what_is_said_before_the_runner_is_up_is_delivered_then_and_in_order() {
    let mut scene = Scene::with_story();
    let first = scene.start("s1", "ada");
    // The ids sort the other way round than they were sent.
    for id in ["z", "a"] {
        let id = CommandId::parse(id).unwrap();
        let decision =
            scene.put(PoolInput::Command { id, by: Actor::POOL, command: prompt(first, "Go.") });
        assert_eq!(decision.reply, Some(Ok(CommandReply::Offered)));
        assert!(decision.actions.is_empty());
    }
    scene.put(PoolInput::Prepared { run: first, head: "abc".into() });
    let decision = scene.put(PoolInput::RunnerUp { run: first });
    assert_eq!(handed(&decision.actions), ["z", "a"]);
    assert_eq!(scene.state.owed(), decision.actions);
}

#[test]
fn a_text_is_kept_beside_the_facts_and_never_in_them() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    let decision = scene.tell(prompt(first, "A very private wish."));
    let key = TextKey::Message(scene.last_command());
    assert_eq!(decision.texts, [(key, "A very private wish.".to_owned())]);
    let facts = serde_json::to_string(&decision.facts).unwrap();
    assert!(!facts.contains("private"), "{facts}");
}

#[test]
fn a_prompt_to_a_run_that_ended_first_is_refused_with_the_way_out() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.tell(prompt(first, "More."));
    let decision = scene.hear(first, 4, ended(Outcome::Completed));
    let [(_, Err(refusal))] = &decision.settled[..] else { panic!("{decision:?}") };
    let why = UndeliveredCode::RunEnded;
    assert!(matches!(refusal, Refusal::Undelivered { why: found, .. } if *found == why));
    assert_eq!(refusal.hint(), "prompt run r1 again to continue it");
    assert_eq!(scene.reply(prompt(first, "More.")), Err(Refusal::RunEnding { run: first }));
}

#[test]
fn a_prompt_to_a_run_that_is_over_resumes_its_session_in_the_same_worktree() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.name_session(first, 1, "x");
    scene.end(first, Outcome::Completed);
    let past = RunRef::Past(scene.past(first));
    let decision = scene.tell(PoolCommand::Prompt { run: past, text: "More.".into() });
    assert_eq!(decision.reply, Some(Ok(CommandReply::Run(run(2)))));
    assert_eq!(decision.texts, [(TextKey::Prompt(run(2)), "More.".to_owned())]);
    let kind = RunKind::Resume { of: first, session: SessionId::new("x") };
    assert_eq!(scene.state.runs[&run(2)].plan.kind, kind);
    assert!(matches!(
        decision.actions[..],
        [Action::Prepare { slot: SlotId(1), start: WorktreeStart::Keep, .. }]
    ));
}

#[test]
fn a_resumed_run_waits_while_another_is_in_its_worktree() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.name_session(first, 1, "x");
    scene.end(first, Outcome::Completed);
    let second = scene.live("s1", "bob");
    let past = scene.past(first);
    scene.reply(PoolCommand::Resume { past, text: None }).unwrap();
    assert_eq!(scene.state.runs[&run(3)].phase, RunPhase::Queued);
    scene.end(second, Outcome::Completed);
    assert_eq!(scene.state.runs[&run(3)].phase.slot(), Some(SlotId(1)));
}

#[test]
fn a_run_without_a_session_cannot_be_gone_on_with_but_tried_again() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.end(first, Outcome::Failed);
    let past = scene.past(first);
    let resume = PoolCommand::Resume { past: past.clone(), text: None };
    assert_eq!(scene.reply(resume), Err(Refusal::NoSession { run: first }));
    assert_eq!(scene.reply(PoolCommand::Retry { past }), Ok(CommandReply::Run(run(2))));
}

#[test]
fn an_agent_whose_sessions_cannot_be_rewound_is_not_forked_from_a_turn() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    scene.name_session(first, 1, "x");
    let fork = |turn| PoolCommand::Fork { run: RunRef::Live(run(1)), text: None, turn };
    for seat in &mut scene.team.agents {
        seat.turns = false;
    }
    let refused = Refusal::NoTurns { agent: "ada".parse().unwrap() };
    assert_eq!(scene.reply(fork(Some(1))), Err(refused));
    assert_eq!(scene.reply(fork(None)), Ok(CommandReply::Run(run(2))));
    for seat in &mut scene.team.agents {
        seat.turns = true;
    }
    assert_eq!(scene.reply(fork(Some(1))), Ok(CommandReply::Run(run(3))));
}

#[test]
fn a_fork_of_a_live_run_stands_beside_it_in_a_copy_of_its_worktree() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    let fork = || PoolCommand::Fork { run: RunRef::Live(run(1)), text: None, turn: None };
    assert_eq!(scene.reply(fork()), Err(Refusal::NoSession { run: first }));
    scene.name_session(first, 1, "x");
    let decision = scene.tell(fork());
    assert_eq!(decision.reply, Some(Ok(CommandReply::Run(run(2)))));
    assert!(matches!(
        &decision.actions[..],
        [Action::Prepare { slot: SlotId(2), start: WorktreeStart::Snapshot { of: SlotId(1) }, branch, .. }]
            if branch.n == 2
    ));
    scene.go_live(run(2));
    scene.name_session(run(2), 1, "y");
    let known: Vec<_> = scene.state.sessions.values().map(|known| &known.session).collect();
    assert_eq!(known, [&SessionId::new("x")], "a fork leaves the agent's own session alone");
    scene.lose(run(2));
    assert_eq!(scene.state.runs[&run(3)].plan.line, RunLine::Fork);
    assert_eq!(scene.state.runs[&run(3)].phase.slot(), Some(SlotId(2)));
}

#[test]
fn a_stop_ends_a_waiting_run_at_once_and_a_preparing_one_before_its_runner_starts() {
    let mut scene = Scene::with_story();
    scene.team.limits.runs = 1;
    let first = scene.start("s1", "ada");
    let second = scene.start("s1", "bob");
    let decision = scene.tell(PoolCommand::Stop { run: second });
    assert_eq!(decision.reply, Some(Ok(CommandReply::Done)));
    assert!(matches!(decision.facts[..], [Fact::RunEnded { outcome: Outcome::Stopped, .. }]));

    assert_eq!(scene.reply(PoolCommand::Stop { run: first }), Ok(CommandReply::Offered));
    let stop = scene.last_command();
    let decision = scene.put(PoolInput::Prepared { run: first, head: "abc".into() });
    assert_eq!(decision.settled, [(stop, Ok(CommandReply::Done))]);
    assert!(matches!(decision.actions[..], [Action::Release { .. }]));
    assert!(scene.state.runs.is_empty());
}

#[test]
fn a_stop_before_the_runner_is_up_reaches_it_when_it_is() {
    let mut scene = Scene::with_story();
    let first = scene.start("s1", "ada");
    scene.put(PoolInput::Prepared { run: first, head: "abc".into() });
    assert_eq!(scene.reply(PoolCommand::Stop { run: first }), Ok(CommandReply::Offered));
    let command = scene.last_command();
    let decision = scene.hear(first, 1, RunReport::Session { session: SessionId::new("x") });
    let kind = DeliveryKind::Stop;
    assert_eq!(decision.actions, [Action::Deliver { run: first, command, kind }]);
}

#[test]
fn a_kill_goes_beyond_a_stop_and_a_second_stop_adds_nothing() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    assert_eq!(scene.reply(PoolCommand::Stop { run: first }), Ok(CommandReply::Offered));
    let again = scene.tell(PoolCommand::Stop { run: first });
    assert_eq!(again.reply, Some(Ok(CommandReply::Done)));
    assert!(again.facts.is_empty() && again.actions.is_empty());
    let kill = scene.tell(PoolCommand::Kill { run: first });
    assert_eq!(handed(&kill.actions).len(), 1);
    assert_eq!(scene.state.runs[&first].wish, Some(EndRequest::Kill));
    assert_eq!(scene.reply(PoolCommand::Stop { run: first }), Ok(CommandReply::Done));
    assert_eq!(scene.reply(prompt(first, "Wait.")), Err(Refusal::RunEnding { run: first }));
}

#[test]
fn a_repeated_or_older_event_changes_nothing() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    let usage = RunReport::Usage { model: None, entry: Default::default() };
    assert_eq!(scene.hear(first, 7, usage.clone()).facts.len(), 1);
    for seq in [7, 6, 1, 0] {
        assert_eq!(scene.hear(first, seq, usage.clone()), Default::default());
    }
    assert_eq!(scene.hear(first, 8, usage).facts.len(), 1);
}

#[test]
fn a_run_whose_first_word_is_its_end_is_started_ended_and_finished() {
    let mut scene = Scene::with_story();
    let first = scene.start("s1", "ada");
    scene.tell(prompt(first, "And then?"));
    scene.put(PoolInput::Prepared { run: first, head: "abc".into() });
    let decision = scene.hear(first, 1, ended(Outcome::Failed));
    assert!(matches!(
        decision.facts[..],
        [Fact::RunStarted { .. }, Fact::CommandUndelivered { .. }, Fact::RunEnded { .. }]
    ));
    assert!(matches!(decision.actions[..], [Action::Finish { slot: SlotId(1), .. }]));
}

#[test]
fn what_is_said_before_the_start_goes_with_it_and_only_the_runner_gives_it_back_then() {
    let mut scene = Scene::with_story();
    let run = scene.start("s1", "ada");
    scene.reply(prompt(run, "One.")).unwrap();
    let one = scene.last_command();
    scene.reply(prompt(run, "Two.")).unwrap();
    let two = scene.last_command();
    scene.reply(PoolCommand::Interrupt { run }).unwrap_err();
    let back = |prompt: &CommandId| PoolCommand::TakeBack { run, prompt: prompt.clone() };
    assert_eq!(scene.reply(back(&two)), Ok(CommandReply::Done), "nobody has it yet");
    let decision = scene.put(PoolInput::Prepared { run, head: "abc".into() });
    let [Action::Spawn(to)] = &decision.actions[..] else { panic!("{decision:?}") };
    assert_eq!(to.pending.as_slice(), std::slice::from_ref(&one));
    assert_eq!(scene.state.owed(), decision.actions);
    assert_eq!(scene.reply(back(&one)), Ok(CommandReply::Offered), "the runner may have it");
}

#[test]
fn a_change_that_the_runtime_cannot_make_is_refused_with_what_to_do_instead() {
    let mut scene = Scene::with_story();
    let first = scene.live("s1", "ada");
    let change = |model: &str| PoolCommand::Change {
        run: RunId::minted(1),
        change: SessionChange::Model { model: model.into() },
    };
    for bad in ["", "two words", "a\u{1b}b", &"x".repeat(129)] {
        assert!(matches!(scene.reply(change(bad)), Err(Refusal::BadText { .. })), "{bad:?}");
    }
    let decision = scene.tell(change("big"));
    assert_eq!(handed(&decision.actions).len(), 1);
    let (command, message) = (scene.last_command(), "the runtime `x` cannot".to_owned());
    let result = Err(Undelivered { code: UndeliveredCode::Unfit, message: message.clone() });
    let decision = scene.put(PoolInput::Delivered { run: first, command, result });
    let [(_, Err(refusal))] = &decision.settled[..] else { panic!("{decision:?}") };
    assert_eq!(refusal.to_string(), format!("run r1 was not changed: {message}"));
    assert!(refusal.hint().contains("--model"), "{}", refusal.hint());
}
