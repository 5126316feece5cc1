//! What a gate may cost, and that nothing of it is left.

use std::time::Duration;

use musher_runtime::core::{EventKind, GateResult, Outcome};
use musher_runtime::gates::Gates;
use musher_runtime::{Runtime, SessionOutput};

use super::{begin, judged, plan, results, run, text};
use crate::rig::Place;

/// How much may be held of a flood, deltas on their way included.
const MAX_HELD_KIB: u64 = 64 * 1024;
/// What is kept of an output, in bytes, with a word about what is missing.
const MAX_KEPT_BYTES: usize = 29 * 1024;

/// The most memory that this process has had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_flood_of_output_costs_bounded_memory_and_a_bounded_event() {
    for flood in [
        "echo first; yes 'a line of the flood' | head -c 48000000; echo last",
        "echo first; head -c 48000000 /dev/zero | tr '\\0' x; echo; echo last",
    ] {
        let (place, before) = (Place::new(), peak_kib());
        let mut session = Gates::of(plan(&[flood])).start(place.spec("check"));
        let (mut kept, mut result) = (String::new(), None);
        while let Some(output) = session.next().await {
            let SessionOutput::Event(event) = output else { continue };
            match event.kind {
                EventKind::Tool(update) => {
                    kept = update.output.map(|output| output.text).unwrap_or_default();
                }
                EventKind::GateEnded(gate) => result = Some(gate.result),
                _ => {}
            }
        }
        assert_eq!(result, Some(GateResult::Green));
        assert!(kept.len() <= MAX_KEPT_BYTES, "{} bytes", kept.len());
        assert!(kept.starts_with("first\n") && kept.ends_with("last\n"));
        assert!(kept.contains("bytes left out"));
        let grown = peak_kib().saturating_sub(before);
        assert!(grown < MAX_HELD_KIB, "{grown} KiB for {flood}");
    }
}

#[tokio::test]
async fn a_flood_past_its_deadline_is_ended() {
    let mut plan = plan(&["trap '' TERM; yes & yes & wait; wait; yes"]);
    plan.gates[0].timeout_ms = 300;
    let ended = run(&Place::new(), &plan).await;
    assert_eq!(ended.end.outcome, Outcome::Completed);
    assert_eq!(results(&ended), [GateResult::TimedOut]);
    assert!(judged(&ended)[0].ms < 15_000, "{}", judged(&ended)[0].ms);
}

#[tokio::test]
async fn a_daemon_of_a_gate_is_gone_before_the_next_gate_begins() {
    let daemon = "setsid sh -c 'echo $$ > pid; exec sleep 300' > /dev/null 2>&1 < /dev/null & \
                  while [ ! -s pid ]; do sleep 0.02; done; setsid sleep 300 &";
    // One that was ended and not yet waited for has the state Z.
    let plan = plan(&[daemon, "! grep -q '^State:[[:space:]][^Z]' /proc/$(cat pid)/status"]);
    // That no process is left is checked of every story.
    let ended = run(&Place::new(), &plan).await;
    assert_eq!(results(&ended), [GateResult::Green; 2], "{}", ended.text());
}

#[tokio::test]
async fn a_gate_that_reads_its_input_finds_its_end() {
    let ended = run(&Place::new(), &plan(&["cat; echo read"])).await;
    assert_eq!(results(&ended), [GateResult::Green], "{}", ended.text());
    assert_eq!(text(&ended, "1"), "read\n");
}

#[tokio::test]
async fn a_gate_may_be_silent_for_longer_than_an_agent_may() {
    let place = Place::new();
    let mut spec = place.spec("check");
    spec.limits.inactivity = Some(Duration::from_millis(400));
    let ended = begin(&plan(&["sleep 1.5"]), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(results(&ended), [GateResult::Green]);
}

#[tokio::test]
async fn setup_that_is_silent_for_too_long_still_ends_the_check() {
    let place = Place::new();
    let mut spec = place.spec("check");
    spec.setup = vec!["sleep 300".into()];
    spec.limits.inactivity = Some(Duration::from_millis(400));
    let ended = begin(&plan(&["true"]), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::TimedOut, "{}", ended.text());
    let code = ended.end.error.as_ref().and_then(|error| error.code.as_deref());
    assert_eq!(code, Some("inactivity"));
    assert!(judged(&ended).is_empty());
}
