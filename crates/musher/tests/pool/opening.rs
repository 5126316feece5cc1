//! A journal that is damaged, foreign or from the future is named and left as it is; what can be recovered is.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use musher::journal::{Claim, DecidedStep, Journal, JournalError, JournalFindings};
use musher::pool::Wish;
use musher_core::pool::{CommandReply, Fact};
use musher_core::{CommandId, RunId};
use proptest::prelude::*;
use rusqlite::OptionalExtension as _;

use crate::rig::{Home, NOON, story};

fn refusal(home: &Home) -> JournalError {
    Journal::open(&home.journal(), NOON).expect_err("the journal must not be opened")
}

/// That the error names the file, and that no byte of it was touched.
fn refused_and_untouched(home: &Home) -> JournalError {
    let before = fs::read(home.journal()).unwrap();
    let error = refusal(home);
    assert!(error.to_string().contains("journal.db"), "{error}");
    assert_eq!(fs::read(home.journal()).unwrap(), before, "{error}");
    error
}

/// A home with some facts, closed cleanly.
fn lived_in() -> Home {
    let home = Home::new();
    let mut rig = home.begin();
    for n in 1..=300 {
        rig.add_story(&format!("story-{n}"));
    }
    rig.end();
    home
}

#[test]
fn a_new_journal_is_private_and_durable_at_every_commit() {
    let home = Home::new();
    let journal = home.open();
    let about = fs::metadata(home.journal()).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    drop(journal);
    let mut rig = home.begin();
    rig.add_story("s-one");
    let log = fs::metadata(home.log()).unwrap();
    assert_eq!(log.permissions().mode() & 0o777, 0o600, "the log holds the same texts");
}

#[test]
fn a_journal_that_others_could_read_is_made_private() {
    let home = lived_in();
    fs::set_permissions(home.journal(), fs::Permissions::from_mode(0o644)).unwrap();
    let mut rig = home.begin();
    rig.add_story("s-one");
    for file in [home.journal(), home.log()] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn what_is_no_database_is_left_alone() {
    let home = Home::new();
    fs::write(home.journal(), "Dear diary, ".repeat(1000)).unwrap();
    let error = refused_and_untouched(&home);
    assert!(matches!(error, JournalError::NotAJournal { .. }), "{error}");
}

#[test]
fn the_database_of_another_program_is_left_alone() {
    let home = Home::new();
    home.back_door().execute_batch("CREATE TABLE facts (id, body)").unwrap();
    let error = refused_and_untouched(&home);
    assert!(matches!(error, JournalError::NotAJournal { .. }), "{error}");
}

#[test]
fn a_folder_in_the_journals_place_is_named() {
    let home = Home::new();
    fs::create_dir(home.journal()).unwrap();
    assert!(matches!(refusal(&home), JournalError::NotAJournal { .. }));
}

#[test]
fn a_missing_folder_is_named() {
    let home = Home::new();
    let error = Journal::open(&home.journal().join("journal.db"), NOON).unwrap_err();
    assert!(matches!(error, JournalError::File { .. }), "{error}");
}

#[test]
fn a_journal_of_a_newer_musher_is_left_alone() {
    let home = lived_in();
    home.back_door().pragma_update(None, "user_version", 2).unwrap();
    let error = refused_and_untouched(&home);
    assert!(matches!(error, JournalError::Newer { found: 2, known: 1, .. }), "{error}");
}

#[test]
fn a_journal_that_needs_a_newer_format_is_left_alone_and_its_writer_is_named() {
    let home = lived_in();
    let sql = r#"INSERT INTO identity (key, body) VALUES ('format', '{"format":99,"by":"7.1.0"}')"#;
    home.back_door().execute(sql, []).unwrap();
    let said = refused_and_untouched(&home).to_string();
    let ours = env!("CARGO_PKG_VERSION");
    for part in ["needs a newer Musher", "format 99", "Musher 7.1.0", ours, "kept in bin/"] {
        assert!(said.contains(part), "{part:?} in {said:?}");
    }
    home.back_door().execute("DELETE FROM identity WHERE key = 'format'", []).unwrap();
    home.begin().end();
}

/// What the journal says that it needs.
fn needed(home: &Home) -> Option<String> {
    let sql = "SELECT body FROM identity WHERE key = 'format'";
    home.back_door().query_row(sql, [], |row| row.get(0)).optional().unwrap()
}

#[test]
fn a_journal_needs_a_newer_format_from_the_commit_of_its_first_new_fact_on() {
    let home = lived_in();
    assert_eq!(needed(&home), None, "every build can go on with it");
    let (run, command) = (RunId::minted(1), CommandId::parse("c1").unwrap());
    let fact = Fact::TakeBackOffered { run, command: command.clone(), prompt: command };
    let mut journal = home.open();
    let (state, _) = journal.load().unwrap();
    let step = DecidedStep { at: NOON, facts: vec![fact], ..DecidedStep::default() };
    let mut batch = journal.batch().unwrap();
    batch.write(&step).unwrap();
    drop(batch);
    assert_eq!(needed(&home), None, "what was not committed is not needed");
    let mut batch = journal.batch().unwrap();
    batch.write(&step).unwrap();
    batch.commit(&state).unwrap();
    drop(journal);
    let said = needed(&home).unwrap();
    assert!(said.contains(r#""format":2"#) && said.contains(env!("CARGO_PKG_VERSION")), "{said}");
    home.begin().end();
}

#[test]
fn an_empty_file_is_no_new_journal() {
    let home = lived_in();
    fs::write(home.journal(), "").unwrap();
    let error = refused_and_untouched(&home);
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

#[test]
fn a_log_whose_journal_is_gone_is_not_mixed_with_a_new_journal() {
    let home = Home::new();
    fs::write(home.log(), "what is left").unwrap();
    let error = refusal(&home);
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
    assert!(!home.journal().exists());
    assert_eq!(fs::read(home.log()).unwrap(), b"what is left");
}

#[test]
fn a_journal_that_was_cut_off_is_left_alone() {
    let home = lived_in();
    let whole = fs::read(home.journal()).unwrap();
    fs::write(home.journal(), &whole[..whole.len() / 2]).unwrap();
    let error = refused_and_untouched(&home);
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

#[test]
fn a_half_made_journal_is_made_again() {
    let home = Home::new();
    let draft = home.journal().with_extension("db.new");
    fs::write(&draft, "half a").unwrap();
    home.open();
    assert!(!draft.exists());
}

#[test]
fn a_missing_fact_is_noticed() {
    let home = lived_in();
    home.back_door().execute("DELETE FROM facts WHERE id = 7", []).unwrap();
    let error = home.open().load().unwrap_err();
    assert!(error.to_string().contains("fact 7 is missing"), "{error}");
}

#[test]
fn a_fact_of_a_kind_that_we_do_not_know_is_named() {
    let home = lived_in();
    let sql = r#"INSERT INTO facts (id, at, body) VALUES (301, 0, '{"type":"moon_landed"}')"#;
    home.back_door().execute(sql, []).unwrap();
    let error = home.open().load().unwrap_err();
    assert!(matches!(error, JournalError::UnreadableFact { fact: 301, .. }), "{error}");
    assert!(error.to_string().contains("moon_landed"), "{error}");
}

#[test]
fn a_log_with_a_torn_tail_loses_nothing_that_was_committed() {
    let home = Home::new();
    let mut rig = home.begin();
    for n in 1..=20 {
        rig.add_story(&format!("story-{n}"));
    }
    // As a power cut would leave it: the file and its log, copied while the pool still has them open.
    let (journal, mut log) = (fs::read(home.journal()).unwrap(), fs::read(home.log()).unwrap());
    log.extend(b"half a frame of what was never committed".repeat(200));
    let state = rig.end();
    fs::write(home.journal(), journal).unwrap();
    fs::write(home.log(), log).unwrap();
    assert_eq!(home.folded(), state);
}

#[test]
fn promise_8_what_a_dead_server_left_in_the_log_is_written_anew_before_anything_is_built_on_it() {
    let home = Home::new();
    let mut rig = home.begin();
    rig.add_story("subject");
    // As a kill leaves them: nothing was moved from the log into the database.
    let (journal, log) = (fs::read(home.journal()).unwrap(), fs::read(home.log()).unwrap());
    assert!(!log.is_empty());
    rig.end();
    fs::write(home.journal(), journal).unwrap();
    fs::write(home.log(), log).unwrap();
    let mut journal = home.open();
    assert_eq!(fs::metadata(home.log()).unwrap().len(), 0);
    assert_eq!(journal.load().unwrap().0.stories.len(), 1);
}

#[test]
fn a_journal_that_lost_its_end_is_noticed_by_its_mark_and_gives_no_number_again() {
    let home = Home::new();
    let mut rig = home.begin();
    rig.add_story("one");
    let early = (fs::read(home.journal()).unwrap(), fs::read(home.log()).unwrap());
    let counted = || Wish::AddStory {
        id: None,
        title: "Counted".into(),
        text: "x".into(),
        context: Default::default(),
        spec: Default::default(),
    };
    assert_eq!(rig.reply(counted()), Ok(CommandReply::Story(story("s1"))));
    rig.end();
    let before = home.open();
    assert_eq!(before.findings(), &JournalFindings::default());
    let owner = before.owner().clone();
    drop(before);
    fs::write(home.journal(), early.0).unwrap();
    fs::write(home.log(), early.1).unwrap();
    let journal = home.open();
    assert_eq!(journal.findings().lost, Some((2, 2)));
    assert_eq!(journal.owner(), &owner, "it is the same journal");
    drop(journal);
    let mut rig = home.begin();
    assert_eq!(rig.reply(counted()), Ok(CommandReply::Story(story("s2"))));
    rig.end();
    assert_eq!(home.open().findings(), &JournalFindings::default(), "it is found once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens to the bytes: an error, or a state; never a panic.
    #[test]
    fn damage_anywhere_is_an_error_or_harmless(
        at in 0.0..1.0f64,
        damage in prop::collection::vec(any::<u8>(), 1..600),
        cut in prop::option::of(0.0..1.0f64),
    ) {
        static WHOLE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut bytes = WHOLE.get_or_init(|| fs::read(lived_in().journal()).unwrap()).clone();
        let place = |part: f64, length: usize| (part * length as f64) as usize;
        let start = place(at, bytes.len());
        let end = (start + damage.len()).min(bytes.len());
        bytes[start..end].copy_from_slice(&damage[..end - start]);
        if let Some(cut) = cut {
            bytes.truncate(place(cut, bytes.len()));
        }
        let home = Home::new();
        fs::write(home.journal(), &bytes).unwrap();
        // The bytes come from another folder.
        if let Ok(mut journal) = Journal::open_as(&home.journal(), NOON, Claim::Moved) {
            let _ = journal.load();
        }
    }
}
