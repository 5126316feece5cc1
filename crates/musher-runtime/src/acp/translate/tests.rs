//! The translator against every recording of the real agents, and against messages that no agent should send.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod recordings;
mod talk;

use musher_core::{Answer, AskId, ErrorClass, TurnOutcome};
use serde_json::json;

use super::super::recording::unopened;
use super::*;
use crate::conversation::feeding::{events, feed, one};

/// What was written to the agent.
fn written(step: &Translation) -> Vec<Json> {
    step.replies.iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}
