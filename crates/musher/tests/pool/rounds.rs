//! What waits together is committed together, and of many starts at one moment one counts.

use std::sync::mpsc;

use musher::pool::{AcceptedCommand, Pool, PoolError};
use musher_core::pool::{Action, CommandReply, PoolInput, Refusal};

use crate::rig::{Home, NOON, add, command, owner, start, story, team};

/// How many transactions the write-ahead log holds: each ends with a frame that tells the size of the database.
fn commits(home: &Home) -> usize {
    const HEADER: usize = 32;
    const FRAME: usize = 24;
    let log = std::fs::read(home.log()).unwrap();
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let page = number(8) as usize;
    // The frames of an earlier round of the log carry another salt.
    let salt = &log[16..24];
    let frames = log[HEADER..].chunks_exact(FRAME + page).take_while(|frame| &frame[8..16] == salt);
    frames.filter(|frame| frame[4..8] != [0; 4]).count()
}

#[test]
fn what_waits_together_is_committed_at_once() {
    let home = Home::new();
    let mut rig = home.begin();
    rig.add_story("first");
    let before = commits(&home);
    // The loop stands still until everybody has sent something.
    let (go, hold) = mpsc::channel::<()>();
    let handle = rig.handle.clone();
    let results = rig.wait(async {
        let held = handle.inspect(move |_| hold.recv().is_ok());
        let sent: Vec<_> = (0..200)
            .map(|n| {
                handle.command(add(&format!("s-{n}")), command(&format!("x{n}")), owner(), None)
            })
            .collect();
        // A send that has room does not wait, so all of them are in line when the last of the three is polled.
        let all = tokio::task::unconstrained(futures_util::future::join_all(sent));
        let opened = async { go.send(()).unwrap() };
        let (_, results, ()) = tokio::join!(held, all, opened);
        results
    });
    assert_eq!(results.len(), 200);
    assert!(
        results
            .iter()
            .all(|result| matches!(result, Ok(AcceptedCommand::Final(CommandReply::Story(_)))))
    );
    let commits = commits(&home) - before;
    assert!(commits <= 2, "200 commands took {commits} commits");
    assert_eq!(rig.end(), home.folded());
}

#[test]
fn an_input_that_changes_nothing_costs_no_commit() {
    let home = Home::new();
    let mut rig = home.begin();
    rig.add_story("first");
    let before = commits(&home);
    for _ in 0..10 {
        rig.tell(PoolInput::Begun);
        rig.state();
    }
    assert_eq!(commits(&home), before);
}

#[test]
fn promise_5_fifty_starts_at_one_moment_give_one_run_and_49_clear_refusals() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let barrier = std::sync::Barrier::new(50);
    let results: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..50)
            .map(|n| {
                let (handle, barrier, subject) = (rig.handle.clone(), &barrier, &subject);
                scope.spawn(move || {
                    let alone = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    barrier.wait();
                    let id = command(&format!("start-{n}"));
                    alone.block_on(handle.command(start(subject, "ann"), id, owner(), None))
                })
            })
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let runs: Vec<_> = results
        .iter()
        .filter_map(|result| match result {
            Ok(AcceptedCommand::Final(CommandReply::Run(run))) => Some(*run),
            _ => None,
        })
        .collect();
    assert_eq!(runs.len(), 1);
    let refused = results.iter().filter(|result| {
        matches!(result, Err(PoolError::Refused(Refusal::AlreadyRunning { run, .. })) if *run == runs[0])
    });
    assert_eq!(refused.count(), 49);
    let prepared = rig.actions();
    assert!(matches!(prepared.as_slice(), [Action::Prepare { run, .. }] if *run == runs[0]));
    assert_eq!(rig.end(), home.folded());
}

#[test]
fn promise_8_a_fact_is_durable_before_its_action_is_taken() {
    let home = Home::new();
    drop(home.open());
    let (file, (seen, found)) = (home.journal(), mpsc::channel());
    let look = move |actions: Vec<Action>| {
        // Another connection sees only what was committed.
        let db = rusqlite::Connection::open(&file).unwrap();
        let sql = "SELECT count(*) FROM facts WHERE type = 'run_preparing'";
        let facts: i64 = db.query_row(sql, [], |row| row.get(0)).unwrap();
        seen.send((actions.len(), facts)).unwrap();
    };
    let (handle, thread) = Pool::start(home.open(), team(&["ann"]), || NOON, look).unwrap();
    let alone = tokio::runtime::Builder::new_current_thread().build().unwrap();
    alone.block_on(async {
        handle.command(add("subject"), command("add"), owner(), None).await.unwrap();
        handle
            .command(start(&story("subject"), "ann"), command("start"), owner(), None)
            .await
            .unwrap();
        handle.close().await;
    });
    thread.join().unwrap();
    assert_eq!(found.try_iter().collect::<Vec<_>>(), [(1, 1)]);
}

#[test]
fn a_server_that_begins_again_takes_the_actions_that_are_owed() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let run = rig.start_run(&subject, "ann");
    let first = rig.actions();
    rig.end();
    let rig = home.begin();
    rig.state();
    assert_eq!(rig.actions(), first, "nobody said that it was done");
    rig.tell(PoolInput::Prepared { run, head: "abc".into() });
    rig.state();
    assert!(matches!(rig.actions().as_slice(), [Action::Spawn(_)]));
}

#[test]
fn a_new_team_is_heard_at_once() {
    let home = Home::new();
    let mut rig = home.begin();
    let subject = rig.add_story("subject");
    let mut small = team(&["ann"]);
    small.limits.runs = 0;
    rig.wait(rig.handle.set_team(small)).unwrap();
    let gone = rig.reply(start(&subject, "bob"));
    assert!(matches!(gone, Err(PoolError::Refused(Refusal::NoSuchAgent { .. }))), "{gone:?}");
    rig.start_run(&subject, "ann");
    assert_eq!(rig.actions(), [], "no run may have a place");
    rig.wait(rig.handle.set_team(team(&["ann"]))).unwrap();
    rig.state();
    assert!(matches!(rig.actions().as_slice(), [Action::Prepare { .. }]));
}

#[test]
fn the_number_of_the_last_fact_is_told_when_it_is_durable() {
    let home = Home::new();
    let mut rig = home.begin();
    let mut facts = rig.handle.facts();
    assert_eq!(*facts.borrow_and_update(), 0);
    rig.add_story("one");
    assert!(facts.has_changed().unwrap());
    assert_eq!(*facts.borrow_and_update(), 1);
    rig.tell(PoolInput::Begun);
    rig.state();
    assert!(!facts.has_changed().unwrap(), "nothing new was decided");
    rig.end();
    assert!(facts.has_changed().is_err(), "it ends with the loop");
}

#[test]
fn a_pool_that_is_closed_says_so() {
    let home = Home::new();
    let rig = home.begin();
    let handle = rig.handle.clone();
    rig.end();
    let alone = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let late = alone.block_on(handle.command(add("late"), command("late"), owner(), None));
    assert!(matches!(late, Err(PoolError::Closed)), "{late:?}");
    assert_eq!(handle.broken(), None);
    assert!(!home.folded().stories.contains_key(&story("late")));
}
