//! A journal that cannot be written stops the pool before anything is done or promised.

use musher::pool::{AcceptedCommand, PoolError};
use musher_core::pool::{CommandReply, PoolInput};

use crate::rig::{Home, Rig, add, command, owner, prompt, start, story};

/// Every fact is refused as it is written.
const REFUSE_FACTS: &str = "CREATE TRIGGER refuse BEFORE INSERT ON facts
    BEGIN SELECT RAISE(ABORT, 'the disk is gone'); END";
/// Every fact is written, and the commit is refused.
const REFUSE_COMMITS: &str = "CREATE TABLE owner (id INTEGER PRIMARY KEY);
    CREATE TABLE owned (id INTEGER REFERENCES owner DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER refuse AFTER INSERT ON facts BEGIN INSERT INTO owned VALUES (1); END";

fn spoil(home: &Home, how: &str) {
    home.back_door().execute_batch(how).unwrap();
}

fn repair(home: &Home) {
    home.back_door().execute_batch("DROP TRIGGER refuse").unwrap();
}

fn is_broken(result: &Result<AcceptedCommand, PoolError>) -> bool {
    matches!(result, Err(PoolError::Broken { .. }))
}

fn nothing_is_done_or_promised(how: &str) {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let durable = rig.state();
    rig.actions();
    spoil(&home, how);
    let handle = rig.handle.clone();
    let results = rig.wait(async {
        let starts = (0..20).map(|n| {
            let agent = if n % 2 == 0 { "ann" } else { "bob" };
            handle.command(start(&subject, agent), command(&format!("x{n}")), owner(), None)
        });
        futures_util::future::join_all(starts).await
    });
    assert!(results.iter().all(is_broken), "{results:?}");
    let why = rig.handle.broken().unwrap().to_owned();
    assert!(why.contains("journal.db"), "{why}");
    assert!(is_broken(&rig.wish(add("later"))), "it stays broken");
    assert!(rig.wait(rig.handle.tell(PoolInput::Begun)).is_err());
    assert!(rig.wait(rig.handle.inspect(|_| ())).is_err(), "the state is ahead of the journal");
    assert_eq!(rig.ended(), [], "no action was taken");
    repair(&home);
    assert_eq!(home.folded(), durable, "nothing of it was kept");
    let mut rig = home.begin();
    assert!(
        matches!(rig.reply(start(&subject, "ann")), Ok(CommandReply::Run(_))),
        "it can be done again"
    );
}

#[test]
fn promise_15_when_a_fact_cannot_be_written_nothing_is_done_or_promised() {
    nothing_is_done_or_promised(REFUSE_FACTS);
}

#[test]
fn promise_15_when_a_commit_fails_nothing_is_done_or_promised() {
    nothing_is_done_or_promised(REFUSE_COMMITS);
}

#[test]
fn who_waits_for_a_last_word_hears_that_the_pool_broke() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    let pending = pending(&mut rig, run);
    spoil(&home, REFUSE_FACTS);
    let delivered = PoolInput::Delivered { run, command: pending.command.clone(), result: Ok(()) };
    rig.tell(delivered);
    let word = rig.wait(pending.last_word());
    assert!(matches!(word, Err(PoolError::Broken { .. })), "{word:?}");
}

fn pending(rig: &mut Rig, run: musher_core::RunId) -> musher::pool::PendingCommand {
    match rig.wish(prompt(run, "go on")) {
        Ok(AcceptedCommand::Pending(pending)) => pending,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_waits_for_a_last_word_hears_that_the_server_ends() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.live_run(&subject, "ann");
    let pending = pending(&mut rig, run);
    rig.end();
    let alone = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(alone.block_on(pending.last_word()), Err(PoolError::Closed));
}

#[test]
fn a_read_that_fails_stops_the_pool_as_well() {
    let home = Home::new();
    let mut rig = home.begin();
    rig.add_story("subject");
    home.back_door().execute_batch("ALTER TABLE runs RENAME TO elsewhere").unwrap();
    let result = rig.wish(prompt(musher_core::RunId::minted(1), "go on"));
    assert!(is_broken(&result), "{result:?}");
    assert!(home.folded().stories.contains_key(&story("subject")));
}
