//! What a gate is given: variables, its share of the machine, a sandbox; and what it may not show.

use std::num::NonZeroU32;
use std::sync::Arc;

use musher_runtime::core::{GateFault, GateResult};
use musher_sandbox::{Mount, Sandbox, SandboxBackend, SandboxLimits, SandboxNetwork};
use musher_testkit::programs;
use tempfile::TempDir;

use super::{begin, faults, plan, results, run, text};
use crate::rig::Place;

#[tokio::test]
async fn a_gate_is_told_its_share_of_the_processors_in_words_of_common_tools() {
    let place = Place::new();
    let mut plan = plan(&[
        "echo $MUSHER_CORES $CARGO_BUILD_JOBS $NEXTEST_TEST_THREADS $GOMAXPROCS $MAKEFLAGS $OWN",
    ]);
    plan.gates[0].cores = NonZeroU32::new(2);
    plan.gates[0].env = [("OWN".to_owned(), "own".to_owned())].into();
    let ended = run(&place, &plan).await;
    assert_eq!(text(&ended, "1"), "2 2 2 2 -j2 own\n");
    let mut spec = place.spec("check");
    spec.environment = spec.environment.set("MAKEFLAGS", "-j9").set("GOMAXPROCS", "8");
    let ended = begin(&plan, spec).end().await;
    assert_eq!(text(&ended, "1"), "2 2 2 8 -j9 own\n", "what is set stays");
}

#[tokio::test]
async fn a_gate_yields_to_the_rest_of_the_machine() {
    let ended = run(&Place::new(), &plan(&["nice"])).await;
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = own.rsplit_once(") ").unwrap().1;
    let own: i32 = after_name.split(' ').nth(16).unwrap().parse().unwrap();
    assert_eq!(text(&ended, "1"), format!("{}\n", (own + 10).min(19)));
}

#[tokio::test]
async fn a_gate_finds_no_variable_that_was_not_given() {
    let ended = run(&Place::new(), &plan(&["echo ${CARGO_MANIFEST_DIR-none}"])).await;
    assert_eq!(
        text(&ended, "1"),
        "none\n",
        "that of the program which hosts the check is not passed on"
    );
}

#[tokio::test]
async fn secrets_of_the_session_and_of_the_gate_are_hidden_in_its_output() {
    let place = Place::new();
    let mut plan = plan(&[
        "echo a $SESSION_TOKEN b; echo $GATE_PASSWORD | base64; printf '%s' c$GATE_PASSWORD; exit 1",
    ]);
    plan.gates[0].env = [("GATE_PASSWORD".to_owned(), "gate-s3cret-value".to_owned())].into();
    let mut spec = place.spec("check");
    spec.environment = spec.environment.set("SESSION_TOKEN", "session-s3cret-value");
    let ended = begin(&plan, spec).end().await;
    assert_eq!(results(&ended), [GateResult::Red], "{}", ended.text());
    let said = ended.said();
    for secret in ["s3cret", "Z2F0ZS1zM2NyZXQ"] {
        assert!(!said.contains(secret), "{said}");
    }
    let text = text(&ended, "1");
    assert!(text.starts_with("a ") && text.contains(" b\n"), "the rest stays: {text}");
}

#[tokio::test]
async fn a_secret_at_the_edge_of_what_is_kept_is_hidden_as_well() {
    let place = Place::new();
    // One long line, in which the secret stands everywhere, also where the line is cut.
    let command = "i=0; while [ $i -lt 5000 ]; do printf %s $EDGE_SECRET; i=$((i+1)); done";
    let mut plan = plan(&[command]);
    plan.gates[0].env = [("EDGE_SECRET".to_owned(), "q7-edge-of-it".to_owned())].into();
    let ended = run(&place, &plan).await;
    assert_eq!(results(&ended), [GateResult::Green]);
    let said = ended.said();
    for part in ["q7-edge", "edge-of", "-of-it"] {
        assert!(!said.contains(part), "{part}");
    }
}

#[tokio::test]
async fn a_gate_in_a_sandbox_is_judged_as_outside_and_cannot_write_where_it_may_not() {
    let place = Place::new();
    let (tmp, outside) = (TempDir::new().unwrap(), TempDir::new_in("/var/tmp").unwrap());
    let home = place.home.path().canonicalize().unwrap();
    let sandbox = Sandbox {
        helper: programs::musher().unwrap(),
        home: home.clone(),
        home_at: home,
        tmp: tmp.path().to_owned(),
        mounts: vec![Mount::write(place.work.path().canonicalize().unwrap())],
        nested: false,
        network: SandboxNetwork::Host,
        hosts: Vec::new(),
        limits: SandboxLimits::default(),
        terminal: false,
        backend: SandboxBackend::default(),
    };
    let forbidden = format!("touch {}/x", outside.path().display());
    let mut plan = plan(&[
        "touch inside && test -f inside",
        &forbidden,
        "no-such-program-of-musher",
        "kill -9 $$",
        "exit 3",
        "setsid sleep 300 & sleep 300",
    ]);
    plan.all = true;
    plan.gates[5].timeout_ms = 500;
    let mut spec = place.spec("check");
    spec.sandbox = Some(Arc::new(sandbox));
    let ended = begin(&plan, spec).end().await;
    let expected = [
        GateResult::Green,
        GateResult::Red,
        GateResult::Broken,
        GateResult::Broken,
        GateResult::Red,
        GateResult::TimedOut,
    ];
    assert_eq!(results(&ended), expected, "{}", ended.text());
    assert_eq!(faults(&ended), [GateFault::NotFound, GateFault::Signal]);
    assert!(place.file("inside").is_some());
    assert!(!outside.path().join("x").exists());
}
