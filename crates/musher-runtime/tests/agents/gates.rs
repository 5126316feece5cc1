//! What a check run promises: how gates are judged, what they get, and that nothing of them is left.

mod bounds;
mod judged;
mod surroundings;

use musher_runtime::SessionSpec;
use musher_runtime::core::{EventKind, GateEnded, GateFault, GateResult, ToolUpdate};
use musher_runtime::gates::{GateSpec, Gates, GatesPlan};

use crate::rig::Place;
use crate::story::{Ended, Story};

/// The gates with the names `1`, `2` and so on.
fn plan(commands: &[&str]) -> GatesPlan {
    let gates = commands.iter().enumerate();
    let gates = gates.map(|(at, command)| GateSpec::new((at + 1).to_string(), *command));
    GatesPlan { gates: gates.collect(), all: false }
}

fn begin(plan: &GatesPlan, spec: SessionSpec) -> Story {
    Story::begin(&Gates::of(plan.clone()), spec)
}

async fn run(place: &Place, plan: &GatesPlan) -> Ended {
    begin(plan, place.spec(&plan.title())).end().await
}

/// Each gate that was judged, in order.
fn judged(ended: &Ended) -> Vec<GateEnded> {
    let gate = |kind: &EventKind| match kind {
        EventKind::GateEnded(gate) => Some((**gate).clone()),
        _ => None,
    };
    ended.events.iter().filter_map(|event| gate(&event.kind)).collect()
}

/// The result of each.
fn results(ended: &Ended) -> Vec<GateResult> {
    judged(ended).iter().map(|gate| gate.result).collect()
}

/// Why each is broken, of those that are.
fn faults(ended: &Ended) -> Vec<GateFault> {
    judged(ended).iter().filter_map(|gate| gate.fault).collect()
}

/// What the gate with this name printed, found as the documentation says: by the number before that of its end.
fn printed(ended: &Ended, name: &str) -> ToolUpdate {
    let is_end = |kind: &EventKind| matches!(kind, EventKind::GateEnded(gate) if gate.gate == name);
    let end = ended.events.iter().find(|event| is_end(&event.kind)).expect("it was not judged");
    let EventKind::GateEnded(gate) = &end.kind else { panic!() };
    let before = ended.events.iter().find(|event| event.seq == end.seq - 1).unwrap();
    let EventKind::Tool(update) = &before.kind else { panic!("{:?}", before.kind) };
    assert_eq!(update.call, gate.call);
    assert!(update.phase.is_final());
    (**update).clone()
}

fn text(ended: &Ended, name: &str) -> String {
    printed(ended, name).output.unwrap().text
}
