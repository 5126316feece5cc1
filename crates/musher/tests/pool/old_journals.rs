//! A journal that an earlier Musher wrote is opened, folded and gone on with.

use musher::journal::{AsksQuery, RunsQuery, UsageBy, WhichRuns, WhichStories};
use musher::pool::{AcceptedCommand, RunName, Wish};
use musher_core::pool::{Action, CommandReply, PoolInput};
use musher_core::{Answer, Outcome, RunId};

use crate::rig::{Home, agent, prompt, seen, story};

const V1: &str = include_str!("../fixtures/journals/v1.sql");

/// A home with a journal of version 1 in it.
fn v1() -> Home {
    let home = Home::new();
    home.back_door().execute_batch(V1).unwrap();
    home
}

#[test]
fn a_journal_of_version_1_folds_to_what_was_live_with_and_without_its_snapshot() {
    let home = v1();
    let (state, last) = home.open().load().unwrap();
    assert_eq!(last, 124);
    assert_eq!(state.stories.len(), 2);
    assert!(state.archived.contains(&story("old")));
    assert_eq!(state.runs.keys().copied().collect::<Vec<_>>(), [RunId::minted(14)]);
    assert_eq!(state.parked.keys().copied().collect::<Vec<_>>(), [RunId::minted(13)]);
    assert_eq!(state.deliveries.len(), 1);
    let removed = home.back_door().execute("DELETE FROM snapshots", []).unwrap();
    assert_eq!(removed, 1);
    assert_eq!(home.folded(), state);
}

#[test]
fn a_journal_of_version_1_shows_what_it_showed() {
    let home = v1();
    let views = home.open().views();
    let query = musher::journal::StoriesQuery { which: WhichStories::All, ..Default::default() };
    let stories = views.stories(&query).unwrap().stories;
    let told: Vec<_> =
        stories.iter().map(|story| (story.id.as_str(), story.title.as_deref())).collect();
    let titles = [
        ("old", Some("Title of old")),
        ("docs", Some("Docs, better")),
        ("login", Some("Title of login")),
    ];
    assert_eq!(told, titles);
    let runs = views.runs(&RunsQuery::default()).unwrap().runs;
    assert_eq!(runs.len(), 14);
    assert_eq!(runs[0].id, RunId::minted(14), "the one that is not over comes first");
    let outcomes: Vec<_> = runs.iter().rev().filter_map(|run| run.outcome).take(5).collect();
    let (completed, lost) = (Outcome::Completed, Outcome::Lost);
    assert_eq!(outcomes, [completed, Outcome::Stopped, Outcome::Failed, Outcome::TimedOut, lost]);
    let asks = views.asks(&AsksQuery::default()).unwrap();
    let told: Vec<_> = asks.iter().map(|ask| (ask.run.number(), ask.ask.as_str())).collect();
    assert_eq!(told, [(13, "restart"), (14, "a1")]);
    let spent = views.usage(UsageBy::Run, 0).unwrap();
    assert_eq!((spent.len(), spent[0].spent.known_cost_usd), (1, 0.103308));
    assert_eq!(spent[0].spent.cost_usd, None);
}

#[test]
fn a_journal_of_version_1_is_gone_on_with() {
    let home = v1();
    let mut rig = home.begin();
    rig.state();
    let run = RunId::minted(14);
    let owed = rig.actions();
    let [Action::Deliver { command, .. }] = owed.as_slice() else { panic!("{owed:?}") };
    let deny = Answer::Deny { reason: "No.".into() };
    let wish = Wish::Answer { run: RunName::Id(run), ask: "a1".into(), answer: deny, seen: seen() };
    let Ok(AcceptedCommand::Pending(again)) = rig.wish_with_key(wish, "key-1", "hash-1") else {
        panic!()
    };
    rig.tell(PoolInput::Delivered { run, command: command.clone(), result: Ok(()) });
    assert_eq!(rig.wait(again.last_word()), Ok(CommandReply::Sent));
    rig.end_run(run, 3, Outcome::Completed);
    assert_eq!(rig.reply(prompt(run, "More.")), Ok(CommandReply::Run(RunId::minted(15))));
    let allow = Answer::Allow { input: None };
    let latest = RunName::Latest { story: story("login"), agent: Some(agent("bob")) };
    let wish = Wish::Answer { run: latest, ask: "restart".into(), answer: allow, seen: seen() };
    assert_eq!(rig.reply(wish), Ok(CommandReply::Run(RunId::minted(16))));
    assert_eq!(rig.end(), home.folded());
    let live = RunsQuery { which: WhichRuns::Live, ..RunsQuery::default() };
    assert_eq!(home.open().views().runs(&live).unwrap().runs.len(), 2);
}

#[test]
fn the_tables_of_version_1_have_not_changed_under_its_name() {
    let tables = |home: &Home| -> Vec<String> {
        let db = home.back_door();
        // Who a journal is was added later; builds before it leave that table alone.
        let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'identity' ORDER BY name";
        let mut sql = db.prepare(sql).unwrap();
        sql.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let (new, old) = (Home::new(), v1());
    drop((new.open(), old.open()));
    assert_eq!(
        tables(&new),
        tables(&old),
        "give the journal a new version, and a way from the old"
    );
}

#[test]
fn facts_of_an_older_build_do_not_say_who_and_it_can_go_on_writing_them() {
    let home = v1();
    let old = home.open().views().facts_after(0, 1000).unwrap();
    assert!(old.iter().all(|fact| fact.by.is_none()), "nobody knows it any more");
    let last = old.last().unwrap().n;
    let mut rig = home.begin();
    rig.add_story("newer");
    rig.end();
    let new = home.open().views().facts_after(last, 1000).unwrap();
    let owner = r#"{"who":{"type":"owner"},"via":"cli"}"#;
    assert!(new.iter().any(|fact| fact.by.as_deref() == Some(owner)), "{new:?}");
    assert!(new.iter().all(|fact| fact.by.is_some()), "{new:?}");
    let last = new.last().unwrap().n;
    // As the build before wrote facts, which knows nothing of the column.
    let sql = "INSERT INTO facts (id, at, body) VALUES (?1, 0, ?2)";
    let body = r#"{"type":"story_added","story":"older"}"#;
    home.back_door().execute(sql, (i64::try_from(last + 1).unwrap(), body)).unwrap();
    let mut journal = home.open();
    let facts = journal.views().facts_after(last, 10).unwrap();
    assert_eq!((facts[0].body.as_str(), &facts[0].by), (body, &None));
    assert!(journal.load().unwrap().0.stories.contains_key(&story("older")));
}
