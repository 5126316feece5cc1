//! Runs are found by id or as the latest of a story, in the same step in which the wish is decided.

use musher::pool::{AcceptedCommand, PoolError, RunName, Wish};
use musher_core::pool::{CommandReply, PoolInput, RESTART_ASK, Refusal, RunReport};
use musher_core::{Answer, AskId, ClosedBy, Outcome, RunId};

use crate::rig::{Home, Rig, agent, command, owner, prompt, seen, story};

fn allow() -> Answer {
    Answer::Allow { input: None }
}

fn answer(run: RunId, ask: &str) -> Wish {
    Wish::Answer { run: RunName::Id(run), ask: ask.into(), answer: allow(), seen: seen() }
}

fn refusal(result: Result<CommandReply, PoolError>) -> Refusal {
    match result {
        Err(PoolError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// A run with a session that is over.
fn past_run(rig: &mut Rig, subject: &musher_core::StoryId, name: &str) -> RunId {
    let run = rig.live_run(subject, name);
    rig.hear(run, 1, RunReport::Session { session: "session".into() });
    rig.end_run(run, 2, Outcome::Completed);
    run
}

#[test]
fn a_prompt_to_a_run_that_is_over_resumes_it_also_in_the_round_in_which_it_ended() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    rig.hear(run, 1, RunReport::Session { session: "session".into() });
    let (go, hold) = std::sync::mpsc::channel::<()>();
    let handle = rig.handle.clone();
    let (_, (), reply, ()) = rig.wait(async {
        tokio::join!(
            handle.inspect(move |_| hold.recv().is_ok()),
            async {
                let what =
                    RunReport::Ended { outcome: Outcome::Completed, error: None, session: None };
                handle.tell(PoolInput::Heard { run, seq: 2, what }).await.unwrap();
                handle.tell(PoolInput::Finished { run, commit: None, error: None }).await.unwrap();
            },
            handle.command(prompt(run, "more"), command("more"), owner(), None),
            async { go.send(()).unwrap() },
        )
    });
    assert!(
        matches!(reply, Ok(AcceptedCommand::Final(CommandReply::Run(next))) if next > run),
        "{reply:?}"
    );
}

#[test]
fn the_latest_run_is_the_live_one_else_the_newest() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let latest =
        |name: Option<&str>| RunName::Latest { story: story("subject"), agent: name.map(agent) };
    let none = rig.reply(Wish::Stop { run: latest(None) });
    assert_eq!(none, Err(PoolError::NoRun { story: subject.clone(), agent: None }));
    let anns = past_run(&mut rig, &subject, "ann");
    let bobs = past_run(&mut rig, &subject, "bob");
    assert!(anns < bobs);
    let over = refusal(rig.reply(Wish::Stop { run: latest(None) }));
    assert_eq!(over, Refusal::NoSuchRun { run: bobs });
    let over = refusal(rig.reply(Wish::Stop { run: latest(Some("ann")) }));
    assert_eq!(over, Refusal::NoSuchRun { run: anns });
    let resumed = rig.reply(Wish::Resume { run: latest(Some("ann")), text: None });
    let Ok(CommandReply::Run(third)) = resumed else { panic!("{resumed:?}") };
    let running = refusal(rig.reply(Wish::Retry { run: latest(None) }));
    assert!(matches!(running, Refusal::AlreadyRunning { run, .. } if run == third));
    let elsewhere = RunName::Latest { story: story("nowhere"), agent: None };
    let nowhere = refusal(rig.reply(Wish::Stop { run: elsewhere }));
    assert_eq!(nowhere, Refusal::NoSuchStory { story: story("nowhere") });
}

#[test]
fn a_run_that_never_was_is_refused() {
    let home = Home::new();
    let mut rig = home.begin();
    let run = RunId::minted(99);
    for wish in [
        prompt(run, "go"),
        Wish::Resume { run: RunName::Id(run), text: None },
        Wish::Retry { run: RunName::Id(run) },
        Wish::Fork { run: RunName::Id(run), text: None, turn: None },
        Wish::Kill { run: RunName::Id(run) },
        answer(run, "ask"),
    ] {
        assert_eq!(refusal(rig.reply(wish)), Refusal::NoSuchRun { run });
    }
}

#[test]
fn promise_15_a_late_answer_hears_what_won_even_after_the_run_and_a_restart() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    for (seq, ask) in [(1, "expired"), (2, "answered"), (3, "left-open")] {
        rig.hear(run, seq, RunReport::AskOpened { ask: ask.into(), settled: false });
    }
    let by = ClosedBy::Deadline;
    rig.hear(run, 4, RunReport::AskClosed { ask: "expired".into(), by, command: None });
    let Ok(AcceptedCommand::Pending(sent)) = rig.wish(answer(run, "answered")) else { panic!() };
    rig.tell(PoolInput::Delivered { run, command: sent.command.clone(), result: Ok(()) });
    assert_eq!(rig.wait(sent.last_word()), Ok(CommandReply::Sent));
    rig.end_run(run, 5, Outcome::Completed);
    rig.end();
    let mut rig = home.begin();
    let ask = |name: &str| AskId::from(name);
    let expired = refusal(rig.reply(answer(run, "expired")));
    assert_eq!(expired, Refusal::AskClosed { run, ask: ask("expired"), by });
    let answered = refusal(rig.reply(answer(run, "answered")));
    assert_eq!(answered, Refusal::AlreadyAnswered { run, ask: ask("answered") });
    let open = refusal(rig.reply(answer(run, "left-open")));
    let by = ClosedBy::ProcessEnd;
    assert_eq!(open, Refusal::AskClosed { run, ask: ask("left-open"), by });
    let unknown = refusal(rig.reply(answer(run, "unknown")));
    assert_eq!(unknown, Refusal::NoSuchAsk { run, ask: ask("unknown") });
}

#[test]
fn the_ask_of_a_parked_run_is_answered_though_the_run_is_over() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    rig.live_run(&subject, "ann");
    let mut lost = RunId::minted(1);
    // The first run and three restarts.
    for n in 1..=4 {
        lost = RunId::minted(n);
        rig.tell(PoolInput::Prepared { run: lost, head: "abc".into() });
        rig.tell(PoolInput::RunnerUp { run: lost });
        rig.tell(PoolInput::RunnerGone { run: lost });
        rig.end_run(lost, 1, Outcome::Lost);
    }
    assert!(rig.state().parked.contains_key(&lost));
    let reply = rig.reply(answer(lost, RESTART_ASK));
    assert_eq!(reply, Ok(CommandReply::Run(RunId::minted(5))));
    let late = refusal(rig.reply(answer(lost, RESTART_ASK)));
    assert_eq!(late, Refusal::AlreadyAnswered { run: lost, ask: RESTART_ASK.into() });
}
