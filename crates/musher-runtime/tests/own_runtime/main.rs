//! Two runtimes written outside of the library, and what the driver does for them as it does for every other.

mod in_memory;
mod with_a_program;

use std::path::Path;
use std::time::Duration;

use musher_runtime::core::{Event, EventKind, Outcome};
use musher_runtime::{CancellationToken, Environment, RunResult, Runtime, SessionSpec, run_once};

use in_memory::Echo;
use with_a_program::Shell;

fn spec(prompt: &str, folder: &Path) -> SessionSpec {
    SessionSpec::new(prompt, folder, Environment::of_this_process())
}

async fn run(runtime: &dyn Runtime, spec: SessionSpec) -> RunResult {
    run_once(runtime, spec, &CancellationToken::new()).await
}

fn numbers(transcript: &[Event]) -> Vec<u64> {
    transcript.iter().map(|event| event.seq).collect()
}

/// Whether a process is there and is more than an entry that nobody has read.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with('Z')))
}

#[tokio::test]
async fn a_runtime_of_another_crate_runs_behind_the_driver() {
    let folder = tempfile::tempdir().unwrap();
    let done = run(&Echo::default(), spec("hello", folder.path())).await;
    assert_eq!((done.outcome, done.response.as_str()), (Outcome::Completed, "hello"), "{done:?}");
    let all: Vec<u64> = (1..=done.transcript.len() as u64).collect();
    assert_eq!(numbers(&done.transcript), all);
    assert_eq!(done.session.as_ref().map(ToString::to_string).as_deref(), Some("echo-1"));
}

#[tokio::test]
async fn the_rules_of_the_session_hold_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for (deny, said) in [(false, "shouted"), (true, "denied")] {
        let mut spec = spec("shout", folder.path());
        if deny {
            spec.rules.deny = vec!["shout".parse().unwrap()];
        }
        assert_eq!(run(&Echo::default(), spec).await.response, said);
    }
}

#[tokio::test]
async fn its_limits_are_kept_and_its_secrets_are_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let mut bounded = spec("hang", folder.path());
    bounded.limits.wall_clock = Some(Duration::from_millis(100));
    assert_eq!(run(&Echo::default(), bounded).await.outcome, Outcome::TimedOut);
    let told = run(&Echo::default(), spec("secret", folder.path())).await;
    let record = serde_json::to_string(&told.transcript).unwrap();
    assert!(!record.contains("open-sesame-1234"), "{record}");
    assert_eq!(told.outcome, Outcome::Completed);
}

#[tokio::test]
async fn a_program_of_its_own_is_read_by_lines_and_gone_with_its_tree_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let done = run(&Shell::default(), spec("one two", folder.path())).await;
    assert_eq!((done.outcome, done.response.as_str()), (Outcome::Completed, "heard one two"));
    let ended = run(&Shell::default(), spec("sleep", folder.path())).await;
    assert_eq!(ended.outcome, Outcome::Completed, "{ended:?}");
    let pid = std::fs::read_to_string(folder.path().join("sleeper")).unwrap();
    assert!(!lives(pid.trim()), "the sleeper {pid} lives");
    let Some(EventKind::SessionEnded(end)) = ended.transcript.last().map(|event| &event.kind)
    else {
        panic!("{ended:?}")
    };
    assert!(end.survivors.is_empty(), "{end:?}");
}
