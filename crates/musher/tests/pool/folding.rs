//! Facts fold to the state that was live, and the tables say the same; snapshots only save time.

use std::collections::BTreeMap;
use std::time::Instant;

use musher::journal::{AsksQuery, DecidedStep, Journal, RunsQuery, StoriesQuery, Views, WhichRuns};
use musher_core::pool::{Fact, RESTART_ASK, State};
use musher_core::{AskId, AskState, RunId, RunPhaseKind, StoryId, StoryState};

use crate::rig::{Home, NOON};
use crate::world::{Dice, World};

#[test]
fn promise_1_after_any_restart_the_facts_fold_to_the_state_that_was_live() {
    for seed in 0..12 {
        let home = Home::new();
        let (mut dice, mut world) = (Dice::new(seed), World::default());
        for _server in 0..4 {
            let mut rig = home.begin();
            rig.state();
            for _ in 0..120 {
                world.step(&mut rig, &mut dice);
            }
            let live = rig.end();
            assert_eq!(home.folded(), live, "seed {seed}");
            tables_agree(&home.open().views(), &live, seed);
            world.forget();
        }
        assert!(home.folded().last_run > 3, "seed {seed}: too little happened");
    }
}

/// The tables tell of everything that is live what the state tells.
fn tables_agree(views: &Views, state: &State, seed: u64) {
    let limit = Some(1000);
    let stories = views.stories(&StoriesQuery { limit, ..StoriesQuery::default() }).unwrap();
    let told: BTreeMap<StoryId, (String, Option<String>)> = stories
        .stories
        .into_iter()
        .map(|story| (story.id, (word(&story.state), story.merged)))
        .collect();
    let known = state.stories.iter().map(|(id, story)| {
        let about = match &story.state {
            StoryState::Open => ("open".into(), None),
            StoryState::Done { merged } => ("done".into(), merged.clone()),
        };
        (id.clone(), about)
    });
    assert_eq!(told, known.collect(), "seed {seed}");

    let query = RunsQuery { which: WhichRuns::Live, ..RunsQuery::default() };
    let runs = views.runs(&query).unwrap().runs;
    let told: BTreeMap<RunId, _> = runs
        .into_iter()
        .map(|run| (run.id, (run.phase, run.wish, run.session, run.slot, run.agent)))
        .collect();
    let known = state.runs.iter().map(|(id, run)| {
        let phase = run.phase.kind();
        let agent = run.plan.agent.clone();
        let session = run.session.clone();
        (*id, (phase, run.wish, session, run.phase.slot(), agent))
    });
    let mut told = told;
    for (id, run) in &state.runs {
        // Before the log named a session, the end tells the one that was to be resumed.
        if run.session.is_none() && run.phase.kind() == RunPhaseKind::Finishing {
            told.entry(*id).and_modify(|run| run.2 = None);
        }
    }
    assert_eq!(told, known.collect(), "seed {seed}");

    let query = AsksQuery { limit, ..AsksQuery::default() };
    let asks = views.asks(&query).unwrap();
    let mut told: Vec<(RunId, AskId)> = asks.into_iter().map(|ask| (ask.run, ask.ask)).collect();
    let open = state.runs.iter().flat_map(|(id, run)| {
        run.asks.iter().filter_map(|(ask, state)| match state {
            AskState::Open | AskState::Offered { .. } => Some((*id, ask.clone())),
            AskState::Closed { .. } => None,
        })
    });
    let parked = state.parked.keys().map(|run| (*run, AskId::from(RESTART_ASK)));
    let mut known: Vec<_> = open.chain(parked).collect();
    told.sort();
    known.sort();
    assert_eq!(told, known, "seed {seed}");
}

fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

fn stories(numbers: std::ops::Range<u64>) -> DecidedStep {
    let added = |n| Fact::StoryAdded { story: StoryId::minted(n) };
    DecidedStep { at: NOON, facts: numbers.map(added).collect(), ..DecidedStep::default() }
}

/// Writes a step as the pool would.
fn write(journal: &mut Journal, state: &mut State, step: &DecidedStep) {
    step.facts.iter().for_each(|fact| state.apply(fact));
    let mut batch = journal.batch().unwrap();
    batch.write(step).unwrap();
    batch.commit(state).unwrap();
}

fn snapshots(home: &Home) -> Vec<i64> {
    let db = home.back_door();
    let mut sql = db.prepare("SELECT fact FROM snapshots ORDER BY fact").unwrap();
    let facts = sql.query_map([], |row| row.get(0)).unwrap();
    facts.collect::<Result<_, _>>().unwrap()
}

/// A journal with two snapshots and some facts after them.
fn with_snapshots() -> (Home, State) {
    let home = Home::new();
    let (mut journal, mut state) = (home.open(), State::default());
    for n in 0..31 {
        write(&mut journal, &mut state, &stories(n * 1000 + 1..(n + 1) * 1000 + 1));
    }
    drop(journal);
    assert_eq!(snapshots(&home), [20_000, 30_000], "the older ones are removed");
    (home, state)
}

#[test]
fn a_snapshot_is_made_every_10_000_facts_and_folds_to_the_same_state() {
    let (home, state) = with_snapshots();
    assert_eq!(home.open().load().unwrap(), (state.clone(), 31_000));
    // That the snapshot is used at all: without the facts before it the state is the same.
    home.back_door().execute("DELETE FROM facts WHERE id <= 30000", []).unwrap();
    assert_eq!(home.folded(), state);
}

#[test]
fn a_snapshot_that_cannot_be_read_or_is_of_another_version_costs_only_time() {
    let (home, state) = with_snapshots();
    let db = home.back_door();
    db.execute("UPDATE snapshots SET state = '{\"stories\":' WHERE fact = 30000", []).unwrap();
    assert_eq!(home.folded(), state, "the one before is used");
    db.execute("UPDATE snapshots SET version = 999 WHERE fact = 20000", []).unwrap();
    assert_eq!(home.folded(), state, "all facts are folded");
    db.execute("UPDATE snapshots SET version = 999", []).unwrap();
    let (mut journal, mut state) = (home.open(), state);
    journal.load().unwrap();
    write(&mut journal, &mut state, &stories(31_001..31_002));
    assert_eq!(snapshots(&home), [30_000, 31_001], "a new one is made at once");
}

#[test]
fn a_batch_that_is_not_committed_never_was() {
    let home = Home::new();
    let mut journal = home.open();
    let mut batch = journal.batch().unwrap();
    batch.write(&stories(1..4)).unwrap();
    drop(batch);
    assert_eq!(journal.load().unwrap(), (State::default(), 0));
    let mut state = State::default();
    write(&mut journal, &mut state, &stories(1..2));
    assert_eq!(journal.load().unwrap(), (state, 1), "its numbers are given again");
}

#[test]
fn a_hundred_thousand_facts_are_folded() {
    let home = Home::new();
    drop(home.open());
    home.back_door()
        .execute_batch(
            r#"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
            INSERT INTO facts (id, at, body)
            SELECT n, n, '{"type":"story_edited","story":"s' || n || '"}' FROM n"#,
        )
        .unwrap();
    let begin = Instant::now();
    let (_, last) = home.open().load().unwrap();
    println!("100,000 facts folded in {:?}", begin.elapsed());
    assert_eq!(last, 100_000);
}
