//! How gates are judged, and which are run.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use musher_runtime::core::{
    ErrorClass, EventKind, GateFault, GateResult, HintCode, Outcome, Tokens, ToolPhase,
    TurnOutcome, Usd,
};
use musher_runtime::gates::{GateSpec, GatesPlan};
use musher_sandbox::{Sandbox, SandboxBackend, SandboxLimits, SandboxNetwork};

use super::{begin, faults, judged, plan, printed, results, run, text};
use crate::rig::Place;

#[tokio::test]
async fn a_gate_that_exits_with_0_is_green_and_its_output_is_in_the_event_before_its_end() {
    let ended = run(&Place::new(), &plan(&["echo out; echo err >&2"])).await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(results(&ended), [GateResult::Green]);
    assert_eq!(text(&ended, "1"), "out\nerr\n");
    assert_eq!(printed(&ended, "1").phase, ToolPhase::Completed);
    let streamed: String = ended.deltas.iter().map(|delta| delta.text.as_str()).collect();
    assert_eq!(streamed, "out\nerr\n");
    let gate = &judged(&ended)[0];
    assert_eq!((gate.exit_code, gate.signal, gate.required), (Some(0), None, true));
    assert_eq!(ended.response(), "1: green\n");
}

#[tokio::test]
async fn a_gate_that_exits_otherwise_is_red_and_the_check_itself_is_completed() {
    let ended = run(&Place::new(), &plan(&["echo why; exit 3"])).await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(results(&ended), [GateResult::Red]);
    assert_eq!(judged(&ended)[0].exit_code, Some(3));
    assert_eq!(printed(&ended, "1").phase, ToolPhase::Failed);
    assert_eq!(text(&ended, "1"), "why\n");
    assert_eq!(ended.response(), "1: red, exit 3\n");
}

#[tokio::test]
async fn a_gate_that_hangs_is_ended_at_its_deadline_with_its_whole_tree() {
    let mut plan = plan(&["echo begun; trap '' TERM; setsid sleep 300 & sleep 300; sleep 300"]);
    plan.gates[0].timeout_ms = 500;
    let ended = run(&Place::new(), &plan).await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(results(&ended), [GateResult::TimedOut]);
    assert!(judged(&ended)[0].ms >= 500);
    let text = text(&ended, "1");
    assert!(text.starts_with("begun\n") && text.contains("longer than 500ms"), "{text}");
}

#[tokio::test]
async fn a_gate_that_exits_with_0_only_after_its_deadline_is_timed_out() {
    let mut plan = plan(&["trap 'exit 0' TERM; while :; do sleep 0.05; done"]);
    plan.gates[0].timeout_ms = 300;
    let ended = run(&Place::new(), &plan).await;
    assert_eq!(results(&ended), [GateResult::TimedOut], "{}", ended.text());
}

#[tokio::test]
async fn a_gate_whose_program_is_not_there_or_may_not_be_executed_is_broken() {
    let place = Place::new();
    std::fs::write(place.work.path().join("plain"), "x").unwrap();
    let mut plan = plan(&["no-such-program-of-musher", "./plain"]);
    plan.all = true;
    let ended = run(&place, &plan).await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(results(&ended), [GateResult::Broken; 2]);
    assert_eq!(faults(&ended), [GateFault::NotFound; 2]);
    assert!(text(&ended, "1").contains("not found"));
}

#[tokio::test]
async fn a_gate_that_a_signal_ended_is_broken_whether_its_shell_was_hit_or_its_program() {
    let mut plan = plan(&["kill -9 $$", "sh -c 'kill -9 $$'; exit $?"]);
    plan.all = true;
    let ended = run(&Place::new(), &plan).await;
    assert_eq!(results(&ended), [GateResult::Broken; 2], "{}", ended.text());
    assert_eq!(faults(&ended), [GateFault::Signal; 2]);
    assert!(judged(&ended).iter().all(|gate| gate.signal == Some(9)));
}

#[tokio::test]
async fn a_gate_that_cannot_be_started_is_broken_and_says_why() {
    let place = Place::new();
    let plan = plan(&["true"]);
    let home = place.home.path().to_owned();
    let sandbox = Sandbox {
        helper: PathBuf::from("/no/such/helper"),
        home: home.clone(),
        home_at: home.clone(),
        tmp: home,
        mounts: Vec::new(),
        nested: false,
        network: SandboxNetwork::Host,
        hosts: Vec::new(),
        limits: SandboxLimits::default(),
        terminal: false,
        backend: SandboxBackend::default(),
    };
    let mut spec = place.spec("check");
    spec.sandbox = Some(Arc::new(sandbox));
    let ended = begin(&plan, spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(results(&ended), [GateResult::Broken]);
    assert_eq!(faults(&ended), [GateFault::NotStarted], "{}", ended.text());
    let text = text(&ended, "1");
    assert!(text.contains("/no/such/helper") && text.contains("did not start"), "{text}");
}

#[tokio::test]
async fn a_pass_without_the_expected_output_is_broken_and_with_it_green() {
    let mut plan = plan(&["echo 0 tests run", "echo 12 tests run", "echo 12 tests run; exit 1"]);
    plan.all = true;
    for gate in &mut plan.gates {
        gate.expect = Some("^[1-9][0-9]* tests? run".into());
    }
    let ended = run(&Place::new(), &plan).await;
    let expected = [GateResult::Broken, GateResult::Green, GateResult::Red];
    assert_eq!(results(&ended), expected, "{}", ended.text());
    assert_eq!(faults(&ended), [GateFault::NotExpected]);
    assert!(text(&ended, "1").contains("matches no line"), "{}", text(&ended, "1"));
}

#[tokio::test]
async fn what_is_expected_is_found_also_where_the_output_is_too_long_to_be_kept() {
    let noise =
        "i=0; while [ $i -lt 3000 ]; do echo 'one line of thirty-two letters'; i=$((i+1)); done";
    let mut plan = plan(&[&format!("{noise}; echo 7 tests run; {noise}")]);
    plan.gates[0].expect = Some("7 tests run".into());
    let ended = run(&Place::new(), &plan).await;
    assert_eq!(results(&ended), [GateResult::Green], "{}", ended.text());
    assert!(!text(&ended, "1").contains("7 tests run"), "it must be in what was left out");
}

#[tokio::test]
async fn the_first_required_gate_that_is_not_green_stops_the_rest() {
    for first in ["false", "no-such-program-of-musher"] {
        let place = Place::new();
        let ended = run(&place, &plan(&["true", first, "touch ran"])).await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        assert_eq!(results(&ended).len(), 2, "{}", ended.text());
        assert_eq!(place.file("ran"), None);
        assert!(ended.response().ends_with("3: not run\n"), "{}", ended.response());
    }
}

#[tokio::test]
async fn with_all_every_gate_is_judged_whatever_the_others_say() {
    let ended = run(&Place::new(), &GatesPlan { all: true, ..plan(&["false", "true"]) }).await;
    assert_eq!(results(&ended), [GateResult::Red, GateResult::Green], "{}", ended.text());
}

#[tokio::test]
async fn an_advisory_gate_that_is_red_stops_nothing() {
    let mut plan = plan(&["false", "true"]);
    plan.gates[0].required = false;
    let ended = run(&Place::new(), &plan).await;
    assert_eq!(results(&ended), [GateResult::Red, GateResult::Green], "{}", ended.text());
    assert!(!judged(&ended)[0].required);
    assert!(ended.response().starts_with("1: red, exit 1 (advisory)\n"), "{}", ended.response());
}

#[tokio::test]
async fn a_check_costs_exactly_nothing() {
    let ended = run(&Place::new(), &plan(&["true"])).await;
    assert_eq!(ended.end.cost_usd, Some(Usd::default()), "{}", ended.text());
    assert_eq!((ended.end.usage, ended.end.model_calls), (Tokens::default(), 0));
    assert!(ended.end.models.is_empty() && !ended.end.estimated);
    let usage = |kind: &EventKind| matches!(kind, EventKind::Usage(_));
    assert!(!ended.events.iter().any(|event| usage(&event.kind)));
}

#[tokio::test]
async fn a_check_that_cannot_be_done_has_failed_and_judges_nothing() {
    let place = Place::new();
    let bad = GateSpec { expect: Some("(".into()), ..GateSpec::new("test", "touch ran") };
    for plan in [GatesPlan::default(), GatesPlan { gates: vec![bad], all: false }] {
        let ended = begin(&plan, place.spec("check")).end().await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
        assert_eq!(ended.end.error.as_ref().map(|e| e.class), Some(ErrorClass::Config));
        assert!(judged(&ended).is_empty());
    }
    let mut spec = place.spec("check");
    spec.setup = vec!["exit 7".into()];
    let ended = begin(&plan(&["touch ran"]), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let hint = ended.end.error.as_ref().and_then(|error| error.hint_code);
    assert_eq!(hint, Some(HintCode::FixSetup));
    assert!(judged(&ended).is_empty());
    assert_eq!(ended.end.cost_usd, Some(Usd::default()));
    assert_eq!(place.file("ran"), None);
}

#[tokio::test]
async fn an_interrupt_ends_the_check_and_the_gate_under_way_is_not_judged() {
    let place = Place::new();
    let plan = plan(&["true", "echo begun; sleep 300", "touch ran"]);
    let mut story = begin(&plan, place.spec("check"));
    story.until_deltas(1).await;
    story.handle.interrupt().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Interrupted, "{}", ended.text());
    assert_eq!(ended.turns()[0].outcome, TurnOutcome::Interrupted);
    assert_eq!(results(&ended), [GateResult::Green]);
    assert_eq!(ended.tools(ToolPhase::Cancelled), 1);
    assert_eq!(place.file("ran"), None);
}

#[tokio::test]
async fn a_stop_in_a_gate_that_ignores_it_is_true_and_judges_nothing() {
    let plan = plan(&["trap '' TERM; echo begun; while :; do sleep 300; done"]);
    let place = Place::new();
    let mut story = begin(&plan, place.spec("check"));
    story.until_deltas(1).await;
    let began = tokio::time::Instant::now();
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Stopped, "{}", ended.text());
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
    assert!(judged(&ended).is_empty());
}

/// A small disk, if this machine lets us mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    #[expect(clippy::print_stdout, reason = "whoever reads the test's output must know")]
    fn mounted(at: PathBuf) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2097152", "musher-test"])
            .arg(&at)
            .output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(at));
        }
        println!("no small disk could be mounted, so nothing was tried");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_gate_that_fails_on_a_full_disk_is_broken() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mounted(place.work.path().join("disk")) else { return };
    let mut spec = place.spec("check");
    spec.cwd = disk.0.clone();
    let ended = begin(&plan(&["exec cat /dev/zero > filler"]), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(results(&ended), [GateResult::Broken], "{}", ended.text());
    assert_eq!(faults(&ended), [GateFault::DiskFull]);
    assert!(text(&ended, "1").contains("the disk is full"), "{}", text(&ended, "1"));
}
