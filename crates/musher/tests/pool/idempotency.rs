//! A command that is sent twice with the same key is done once, and both senders hear the same.

use std::sync::atomic::Ordering;

use musher::pool::{AcceptedCommand, Idempotency, PoolError};
use musher_core::RunId;
use musher_core::pool::{Action, CommandReply, PoolInput, Refusal, Undelivered, UndeliveredCode};

use crate::rig::{Home, NOON, Rig, add, command, owner, prompt, start};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn last(accepted: Result<AcceptedCommand, PoolError>) -> Result<CommandReply, PoolError> {
    accepted.map(|accepted| match accepted {
        AcceptedCommand::Final(reply) => reply,
        AcceptedCommand::Pending(pending) => panic!("{pending:?}"),
    })
}

fn pending(accepted: Result<AcceptedCommand, PoolError>) -> musher::pool::PendingCommand {
    match accepted {
        Ok(AcceptedCommand::Pending(pending)) => pending,
        other => panic!("{other:?}"),
    }
}

fn deliveries(rig: &Rig) -> usize {
    let is_delivery = |action: &Action| matches!(action, Action::Deliver { .. });
    rig.actions().into_iter().filter(is_delivery).count()
}

#[test]
fn the_same_key_gives_the_same_reply_and_one_run_across_a_restart() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let first = last(rig.wish_with_key(start(&subject, "ann"), "key", "hash")).unwrap();
    let again = last(rig.wish_with_key(start(&subject, "ann"), "key", "hash")).unwrap();
    assert_eq!(first, CommandReply::Run(RunId::minted(1)));
    assert_eq!(again, first);
    rig.end();
    let mut rig = home.begin();
    assert_eq!(last(rig.wish_with_key(start(&subject, "ann"), "key", "hash")).unwrap(), first);
    assert_eq!(rig.end().last_run, 1);
}

#[test]
fn twice_in_the_same_round_is_once_as_well() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let handle = rig.handle.clone();
    let key = || Some(Idempotency { key: "key".into(), request_hash: "hash".into() });
    let (one, two) = rig.wait(async {
        tokio::join!(
            handle.command(start(&subject, "ann"), command("one"), owner(), key()),
            handle.command(start(&subject, "ann"), command("two"), owner(), key()),
        )
    });
    assert_eq!(last(one).unwrap(), last(two).unwrap());
    assert_eq!(rig.end().last_run, 1);
}

#[test]
fn a_refusal_is_the_same_the_second_time() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.start_run(&subject, "ann");
    let first = last(rig.wish_with_key(start(&subject, "ann"), "key", "hash"));
    assert!(matches!(first, Err(PoolError::Refused(Refusal::AlreadyRunning { .. }))));
    rig.tell(PoolInput::PrepareFailed {
        run,
        error: musher_core::ErrorInfo::new(musher_core::ErrorClass::Config, "no"),
    });
    assert_eq!(last(rig.wish_with_key(start(&subject, "ann"), "key", "hash")), first);
    let fresh = last(rig.wish_with_key(start(&subject, "ann"), "other", "hash"));
    assert!(matches!(fresh, Ok(CommandReply::Run(_))));
}

#[test]
fn the_same_key_for_another_request_is_refused() {
    let home = Home::new();
    let mut rig = home.begin();
    last(rig.wish_with_key(add("one"), "key", "hash")).unwrap();
    let reused = last(rig.wish_with_key(add("two"), "key", "another"));
    assert_eq!(reused, Err(PoolError::KeyReused { key: "key".into() }));
    assert_eq!(rig.end().stories.len(), 1);
}

#[test]
fn who_sends_again_waits_for_the_same_last_word() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    let one = pending(rig.wish_with_key(prompt(run, "go"), "key", "hash"));
    let two = pending(rig.wish_with_key(prompt(run, "go"), "key", "hash"));
    assert_eq!(one.command, two.command);
    assert_eq!(deliveries(&rig), 1);
    rig.tell(PoolInput::Delivered { run, command: one.command.clone(), result: Ok(()) });
    assert_eq!(rig.wait(one.last_word()), Ok(CommandReply::Sent));
    assert_eq!(rig.wait(two.last_word()), Ok(CommandReply::Sent));
    assert_eq!(last(rig.wish_with_key(prompt(run, "go"), "key", "hash")), Ok(CommandReply::Sent));
}

#[test]
fn a_command_that_was_under_way_at_a_restart_is_waited_for_and_then_known() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    let before = pending(rig.wish_with_key(prompt(run, "go"), "key", "hash"));
    rig.end();
    let mut rig = home.begin();
    rig.state();
    assert_eq!(deliveries(&rig), 1, "it is delivered again; the runner drops what it has seen");
    let after = pending(rig.wish_with_key(prompt(run, "go"), "key", "hash"));
    assert_eq!(after.command, before.command);
    let undelivered = Undelivered { code: UndeliveredCode::Unfit, message: "cannot".into() };
    rig.tell(PoolInput::Delivered {
        run,
        command: after.command.clone(),
        result: Err(undelivered),
    });
    let word = rig.wait(after.last_word());
    assert!(matches!(word, Err(PoolError::Refused(Refusal::Undelivered { .. }))), "{word:?}");
    rig.end();
    let mut rig = home.begin();
    assert_eq!(last(rig.wish_with_key(prompt(run, "go"), "key", "hash")), word);
}

#[test]
fn a_key_is_forgotten_after_a_day_but_not_before_its_last_word() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    last(rig.wish_with_key(add("one"), "settled", "hash")).unwrap();
    let waits = pending(rig.wish_with_key(prompt(run, "go"), "waits", "hash"));
    rig.clock.store(NOON + DAY_MS - 1, Ordering::SeqCst);
    assert!(last(rig.wish_with_key(add("one"), "settled", "hash")).is_ok());
    rig.clock.store(NOON + DAY_MS + 1, Ordering::SeqCst);
    let anew = last(rig.wish_with_key(add("one"), "settled", "another hash"));
    assert!(matches!(anew, Err(PoolError::Refused(Refusal::StoryExists { .. }))), "{anew:?}");
    let again = pending(rig.wish_with_key(prompt(run, "go"), "waits", "hash"));
    assert_eq!(again.command, waits.command);
    rig.end();
    let kept =
        |sql: &str| -> i64 { home.back_door().query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(kept("SELECT count(*) FROM idempotency"), 2);
    musher::journal::Journal::open(&home.journal(), NOON + 3 * DAY_MS).unwrap();
    assert_eq!(kept("SELECT count(*) FROM idempotency"), 1, "the one without a last word is kept");
}

#[test]
fn a_sender_that_leaves_changes_nothing() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    for _ in 0..50 {
        drop(pending(rig.wish_with_key(prompt(run, "go"), "key", "hash")));
    }
    let waits = pending(rig.wish_with_key(prompt(run, "go"), "key", "hash"));
    rig.tell(PoolInput::Delivered { run, command: waits.command.clone(), result: Ok(()) });
    assert_eq!(rig.wait(waits.last_word()), Ok(CommandReply::Sent));
}
