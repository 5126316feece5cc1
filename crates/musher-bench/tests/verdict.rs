//! What the program says and returns when ours is as it should be, and when it is slowed down.

#![expect(
    clippy::disallowed_methods,
    reason = "the program under test is started as people start it"
)]

use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_musher-bench");
    Command::new(program).args(args).output().expect("the program starts")
}

#[test]
fn a_planted_slowdown_turns_its_row_red_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("found.json");
    let json = json.to_str().unwrap();
    let found = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };

    let fine = bench(&["synthetic", "--json", json]);
    let table = String::from_utf8_lossy(&fine.stdout);
    assert!(fine.status.success(), "{table}");
    assert!(table.contains("1.00×") && table.contains("| yes "), "{table}");
    assert_eq!(found(json)["measures"][0]["verdict"], "met");

    let slow = bench(&["synthetic", "--slow", "synthetic=2", "--json", json]);
    let table = String::from_utf8_lossy(&slow.stdout);
    assert_eq!(slow.status.code(), Some(1), "{table}");
    assert!(table.contains("2.00×") && table.contains("| NO "), "{table}");
    assert_eq!(found(json)["measures"][0]["verdict"], "missed");
    assert_eq!(found(json)["met"], false);
}

#[test]
fn a_row_that_fails_is_told_with_its_cause_and_the_others_are_still_measured() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("found.json");
    let args = ["synthetic", "synthetic", "--broken", "synthetic", "--json"];
    let broken = bench(&[&args[..], &[json.to_str().unwrap()]].concat());
    let table = String::from_utf8_lossy(&broken.stdout);
    assert_eq!(broken.status.code(), Some(1), "{table}");
    assert!(table.contains("| BROKEN ") && table.contains("| yes "), "{table}");
    assert!(table.contains("synthetic: BROKEN: it was broken on purpose"), "{table}");
    let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(found["measures"][0]["verdict"], "broken");
    assert_eq!(found["measures"][1]["verdict"], "met");
    assert_eq!(found["rows"][0]["broken"], "it was broken on purpose");
    assert_eq!(found["met"], false);
}

#[test]
fn an_unknown_row_and_a_bad_factor_are_refused_before_anything_is_measured() {
    for args in [&["nothing"][..], &["synthetic", "--slow", "synthetic=half"]] {
        let refused = bench(args);
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{args:?}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_build_that_is_not_for_release_measures_nothing() {
    let refused = bench(&["replay", "--no-build"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && why.contains("--release"), "{why}");
}

#[test]
fn a_reader_of_the_table_who_goes_away_is_no_error_and_the_figures_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("found.json");
    for args in [&["--list"][..], &["synthetic", "--json", json.to_str().unwrap()]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let program = env!("CARGO_BIN_EXE_musher-bench");
        let left = Command::new(program).args(args).stdout(writer).output().unwrap();
        assert!(left.status.success(), "{}", String::from_utf8_lossy(&left.stderr));
    }
    assert!(json.exists());
}

#[test]
fn the_list_names_every_row_with_its_bars() {
    let list = bench(&["--list"]);
    let text = String::from_utf8_lossy(&list.stdout);
    assert!(list.status.success() && text.contains("replay:") && text.contains("≥ 0.7×"), "{text}");
}
