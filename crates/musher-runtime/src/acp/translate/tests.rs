//! The translator against every recording of the real agents, and against messages that no agent should send.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod recordings;
mod talk;

use musher_core::{Answer, AskId, ErrorClass, TurnOutcome};
use serde_json::json;

use super::super::recording::unopened;
use super::*;
use crate::process::Framer;

/// Feeds bytes as the process would, and gathers what came of each line.
fn feed(translator: &mut AcpTranslator, bytes: &[u8]) -> Vec<Translation> {
    let mut framer = Framer::default();
    framer.buffer().extend_from_slice(bytes);
    let mut lines: Vec<OutputLine> = std::iter::from_fn(|| framer.next_line()).collect();
    lines.extend(framer.finish());
    lines.iter().map(|line| translator.read(line, Translation::default())).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "frames are written where they are fed")]
fn one(translator: &mut AcpTranslator, frame: Json) -> Translation {
    feed(translator, frame.to_string().as_bytes()).pop().unwrap()
}

fn events(steps: &[Translation]) -> Vec<&EventKind> {
    fn event(signal: &Signal) -> Option<&EventKind> {
        match signal {
            Signal::Event { kind, .. } => Some(kind),
            _ => None,
        }
    }
    steps.iter().flat_map(|step| &step.signals).filter_map(event).collect()
}

/// What was written to the agent.
fn written(step: &Translation) -> Vec<Json> {
    step.replies.iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}
