//! Promise 15: a decision is durable before anyone says "sent", takes effect once, and is refused clearly when late.

use super::scene::{Scene, ended, seen};
use crate::pool::{
    Action, CommandReply, DeliveryKind, Fact, PoolCommand, PoolInput, Refusal, RunReport,
    Undelivered, UndeliveredCode,
};
use crate::{Actor, Answer, AskId, ClosedBy, CommandId, Outcome, RunId, ShownAsk};

fn ask() -> AskId {
    AskId::new("a1")
}

fn allow(run: RunId) -> PoolCommand {
    PoolCommand::Answer { run, ask: ask(), answer: Answer::Allow { input: None }, seen: seen() }
}

/// A live run with an open ask.
fn asking() -> (Scene, RunId) {
    let mut scene = Scene::with_story();
    let run = scene.live("s1", "ada");
    scene.hear(run, 5, RunReport::AskOpened { ask: ask(), settled: false });
    (scene, run)
}

fn closed(by: ClosedBy, command: Option<CommandId>) -> RunReport {
    RunReport::AskClosed { ask: ask(), by, command }
}

fn refused(code: UndeliveredCode) -> Result<(), Undelivered> {
    Err(Undelivered { code, message: "no".into() })
}

/// An answer that grants a rule.
fn always(run: RunId) -> PoolCommand {
    let rule = Some("execute(touch one)".parse().unwrap());
    let answer = Answer::always(rule);
    PoolCommand::Answer { run, ask: ask(), answer, seen: seen() }
}

#[test]
fn a_rule_is_granted_by_the_pool_and_saved_before_its_answer_is_handed_over() {
    let (mut scene, run) = asking();
    let unseen = PoolCommand::Answer {
        run,
        ask: ask(),
        answer: Answer::always(Some("execute".parse().unwrap())),
        seen: ShownAsk::default(),
    };
    assert!(scene.tell(unseen).actions.is_empty(), "nothing is granted for what was not seen");

    let decision = scene.tell(always(run));
    let command = scene.last_command();
    let (agent, story) = (super::scene::agent("ada"), super::scene::story("s1"));
    let grant = Action::Grant { run, command: command.clone(), agent, story };
    assert_eq!(decision.actions, [grant], "the answer waits");
    assert_eq!(scene.state.owed(), decision.actions, "a server that begins again saves it");
    assert_eq!(scene.reply(always(run)), Err(Refusal::AlreadyAnswered { run, ask: ask() }));

    let saved = |result| PoolInput::Granted { run, command: command.clone(), result };
    let decision = scene.put(saved(Ok(())));
    let kind = DeliveryKind::Answer { ask: ask(), who: None };
    let deliver = Action::Deliver { run, command: command.clone(), kind };
    assert_eq!(decision.actions, [deliver]);
    assert_eq!(
        scene.state.owed(),
        decision.actions,
        "it is not saved again, for it may be taken back"
    );
    assert_eq!(scene.put(saved(Ok(()))), Default::default(), "a repeated word says nothing new");
    let delivered = PoolInput::Delivered { run, command: command.clone(), result: Ok(()) };
    assert_eq!(scene.put(delivered).settled, [(command, Ok(CommandReply::Sent))]);
}

#[test]
fn an_answer_whose_rule_cannot_be_saved_is_not_given_and_the_ask_stays_open() {
    let (mut scene, run) = asking();
    scene.tell(always(run));
    let command = scene.last_command();
    let refusal = Refusal::LocalFileBroken { message: "local.toml:1:1: no".into() };
    let result = Err(refusal.clone());
    let decision = scene.put(PoolInput::Granted { run, command: command.clone(), result });
    assert!(decision.actions.is_empty());
    assert_eq!(decision.settled, [(command, Err(refusal))]);
    assert_eq!(scene.reply(allow(run)), Ok(CommandReply::Offered));
}

#[test]
fn promise_15_an_answer_is_a_fact_before_it_is_delivered_and_sent_only_when_the_runner_has_it() {
    let (mut scene, run) = asking();
    let decision = scene.tell(allow(run));
    let command = scene.last_command();
    assert_eq!(decision.reply, Some(Ok(CommandReply::Offered)));
    assert_eq!(
        decision.facts,
        [Fact::AnswerOffered {
            run,
            ask: ask(),
            command: command.clone(),
            from: None,
            grant: None
        }]
    );
    let kind = DeliveryKind::Answer { ask: ask(), who: None };
    assert_eq!(decision.actions, [Action::Deliver { run, command: command.clone(), kind }]);
    assert_eq!(scene.state.owed(), decision.actions);

    let input = PoolInput::Delivered { run, command: command.clone(), result: Ok(()) };
    let decision = scene.put(input.clone());
    assert_eq!(decision.facts, [Fact::AskAnswered { run, ask: ask(), command: command.clone() }]);
    assert_eq!(decision.settled, [(command, Ok(CommandReply::Sent))]);
    assert_eq!(scene.put(input), Default::default(), "a repeated word says nothing new");
    assert!(scene.state.owed().is_empty());
}

#[test]
fn promise_15_a_second_answer_is_refused_clearly() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let first = scene.last_command();
    let already = Err(Refusal::AlreadyAnswered { run, ask: ask() });
    assert_eq!(scene.reply(allow(run)), already);
    scene.put(PoolInput::Delivered { run, command: first, result: Ok(()) });
    assert_eq!(scene.reply(allow(run)), already);
}

#[test]
fn promise_22_an_answer_hits_only_the_ask_that_was_shown_and_what_won_is_told_first() {
    let (mut scene, run) = asking();
    let with = |shown: Option<&str>, logged: Option<&str>| {
        let seen = ShownAsk { shown: shown.map(Into::into), logged: logged.map(Into::into) };
        PoolCommand::Answer { run, ask: ask(), answer: Answer::Allow { input: None }, seen }
    };
    let unseen = Err(Refusal::AskNotShown { run, ask: ask() });
    assert_eq!(scene.reply(with(None, Some("d"))), unseen, "nothing was shown");
    assert_eq!(scene.reply(with(Some("e"), Some("d"))), unseen, "another ask was shown");
    assert_eq!(scene.reply(with(Some("d"), None)), unseen, "nobody knows what it asks");
    assert_eq!(scene.reply(with(None, None)), unseen);
    assert!(scene.state.deliveries.is_empty());
    assert_eq!(scene.reply(with(Some("d"), Some("d"))), Ok(CommandReply::Offered));
    let late = scene.reply(with(Some("e"), Some("d")));
    assert_eq!(late, Err(Refusal::AlreadyAnswered { run, ask: ask() }), "who won is told first");
}

#[test]
fn promise_15_a_late_answer_hears_what_won() {
    let (mut scene, run) = asking();
    scene.hear(run, 6, closed(ClosedBy::Deadline, None));
    let refusal = scene.reply(allow(run)).unwrap_err();
    assert_eq!(refusal.to_string(), "ask a1 of run r1 was closed by its deadline");
    let other = PoolCommand::Answer {
        run,
        ask: AskId::new("a9"),
        answer: Answer::Deny { reason: "no".into() },
        seen: seen(),
    };
    assert_eq!(scene.reply(other), Err(Refusal::NoSuchAsk { run, ask: AskId::new("a9") }));
}

#[test]
fn promise_15_a_late_answer_hears_what_won_while_its_run_is_ending() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let command = scene.last_command();
    scene.put(PoolInput::Delivered { run, command, result: Ok(()) });
    scene.hear(run, 9, ended(Outcome::Completed));
    assert_eq!(scene.reply(allow(run)), Err(Refusal::AlreadyAnswered { run, ask: ask() }));
}

#[test]
fn the_same_command_again_is_offered_once() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let id = scene.last_command();
    let again = scene.put(PoolInput::Command { id, by: Actor::POOL, command: allow(run) });
    assert_eq!(again.reply, Some(Ok(CommandReply::Offered)));
    assert!(again.facts.is_empty() && again.actions.is_empty());
}

#[test]
fn the_log_settles_an_answer_whose_acknowledgement_was_lost() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let command = scene.last_command();
    let decision = scene.hear(run, 6, closed(ClosedBy::Person, Some(command.clone())));
    assert_eq!(decision.settled, [(command.clone(), Ok(CommandReply::Sent))]);
    assert!(scene.state.deliveries.is_empty());
    let late = scene.put(PoolInput::Delivered { run, command, result: Ok(()) });
    assert_eq!(late, Default::default());
}

#[test]
fn an_answer_that_comes_second_is_refused_as_soon_as_the_log_names_the_winner() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let command = scene.last_command();
    let decision = scene.hear(run, 6, closed(ClosedBy::Agent, None));
    let refusal = Refusal::AskClosed { run, ask: ask(), by: ClosedBy::Agent };
    assert_eq!(decision.settled, [(command, Err(refusal))]);
}

#[test]
fn an_ask_closed_under_way_stays_closed_when_the_runner_says_so_first() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let command = scene.last_command();
    let result = refused(UndeliveredCode::AskClosed);
    let decision = scene.put(PoolInput::Delivered { run, command, result });
    assert!(matches!(decision.settled[..], [(_, Err(Refusal::Undelivered { .. }))]));
    assert!(scene.reply(allow(run)).is_err());
    scene.hear(run, 6, closed(ClosedBy::TurnEnd, None));
    let by = ClosedBy::TurnEnd;
    assert_eq!(scene.reply(allow(run)), Err(Refusal::AskClosed { run, ask: ask(), by }));
}

#[test]
fn an_answer_of_the_wrong_kind_leaves_the_ask_open_for_another() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let command = scene.last_command();
    let result = refused(UndeliveredCode::Unfit);
    scene.put(PoolInput::Delivered { run, command, result });
    assert_eq!(scene.reply(allow(run)), Ok(CommandReply::Offered));
}

#[test]
fn the_end_of_a_run_refuses_the_answer_that_was_under_way() {
    let (mut scene, run) = asking();
    scene.tell(allow(run));
    let command = scene.last_command();
    let decision = scene.hear(run, 9, ended(Outcome::Completed));
    assert!(matches!(
        &decision.settled[..],
        [(id, Err(Refusal::Undelivered { why: UndeliveredCode::RunEnded, .. }))] if *id == command
    ));
    assert!(matches!(
        decision.facts[..],
        [Fact::AnswerRefused { .. }, Fact::RunEnded { seq: Some(9), .. }]
    ));
    assert_eq!(scene.reply(allow(run)), Err(Refusal::RunEnding { run }));
}

#[test]
fn a_settled_ask_is_nobodys_business() {
    let mut scene = Scene::with_story();
    let run = scene.live("s1", "ada");
    let opened = scene.hear(run, 5, RunReport::AskOpened { ask: ask(), settled: true });
    assert!(opened.facts.is_empty());
    assert!(scene.hear(run, 6, closed(ClosedBy::Rule, None)).facts.is_empty());
    assert_eq!(scene.reply(allow(run)), Err(Refusal::NoSuchAsk { run, ask: ask() }));
}
