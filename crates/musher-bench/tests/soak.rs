//! The soak passes when nothing is broken, and turns red for each thing that is broken on purpose.

#![expect(
    clippy::disallowed_methods,
    reason = "the program under test is started as people start it"
)]

use std::path::Path;
use std::process::{Command, Output};

/// How long a soak takes, and how often its server is killed.
const SHORT: [&str; 4] = ["--seconds", "5", "--kill-server-every", "3"];
/// One server to the end: a new one has not taken any memory yet.
const ONE_SERVER: [&str; 4] = ["--seconds", "8", "--kill-server-every", "0"];

fn soak(folder: &Path, time: [&str; 4], args: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_musher-bench"))
        .args(["soak", "--no-build", "--agents", "4", "--viewers", "4"])
        .args(time)
        .args(["--seed", "20261115", "--folder"])
        .arg(folder)
        .args(args)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said + &errors)
}

/// Whether a soak with this damage fails with these words, and tells how to have it again.
fn is_noticed(damage: &str, words: &str) {
    is_noticed_within(SHORT, damage, words);
}

fn is_noticed_within(time: [&str; 4], damage: &str, words: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let (output, said) = soak(folder.path(), time, &["--break", damage]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let broken = said.lines().find(|line| line.starts_with("BROKEN: "));
    assert!(broken.is_some_and(|broken| broken.contains(words)), "{said}");
    assert!(said.contains("seed 20261115; again with: "), "{said}");
    let kept =
        said.lines().find_map(|line| line.strip_prefix("repository, state and logs are kept in "));
    let kept = Path::new(kept.expect("a folder is named"));
    assert!(kept.join("state/runs").is_dir() && kept.join("repo").is_dir(), "{said}");
}

#[test]
fn nothing_is_broken_when_nothing_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (output, said) = soak(folder.path(), SHORT, &[]);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("every promise was kept") && said.contains(" servers killed"), "{said}");
    assert!(folder.path().read_dir().is_ok_and(|mut left| left.next().is_none()), "{said}");
}

#[test]
fn an_event_that_a_viewer_does_not_see_is_noticed() {
    is_noticed("drop-event", "what a viewer sees is the log");
}

#[test]
fn an_event_that_a_viewer_sees_twice_is_noticed() {
    is_noticed("double-event", "what a viewer sees is the log");
}

#[test]
fn a_line_that_is_cut_out_of_a_log_is_noticed() {
    is_noticed("cut-log", "what a viewer sees is the log");
}

#[test]
fn a_story_that_was_acknowledged_and_is_gone_is_noticed() {
    is_noticed("lose-story", "nothing acknowledged is lost");
}

#[test]
fn an_agent_that_hears_an_answer_twice_is_noticed() {
    is_noticed("answer-twice", "every ask is answered once");
}

#[test]
fn a_process_that_outlives_its_run_is_noticed() {
    is_noticed("orphan", "no process outlives its run");
}

#[test]
fn a_bill_below_the_books_of_its_agent_is_noticed() {
    is_noticed("hide-call", "the bill is never below the agent's own books");
}

#[test]
fn a_server_that_takes_more_and_more_memory_is_noticed() {
    is_noticed_within(ONE_SERVER, "memory", "memory stays flat");
}
