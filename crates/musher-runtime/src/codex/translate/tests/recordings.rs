//! Every recording: a snapshot of what it means, and invariants that no snapshot can hide.

use std::path::PathBuf;

use musher_core::{Ledger, Tokens};

use super::*;
use crate::conversation::feeding::{
    assert_none_is_lost, assert_turns_are_whole, frames, recorded, show, signals,
};

/// Frames of the recordings that have no words here, on purpose: replies to requests that only the recorder made.
const NATIVE: &[&str] = &["response", "turn/diff/updated"];

fn recordings() -> Vec<(String, Vec<Json>)> {
    let read = |path: PathBuf| frames(&std::fs::read(path).unwrap());
    let recording = |(name, path)| (name, read(path));
    let found: Vec<(String, Vec<Json>)> = recorded("codex").into_iter().map(recording).collect();
    assert_eq!(found.len(), 7);
    found
}

/// The recorder's requests had ids of its own; its first three are ours too.
fn as_ours(frames: &[Json]) -> Vec<u8> {
    let first = frames[0]["id"].as_i64().unwrap();
    let mut bytes = Vec::new();
    for frame in frames {
        let mut frame = frame.clone();
        if frame.get("method").is_none() {
            frame["id"] = (frame["id"].as_i64().unwrap() - first).into();
        }
        bytes.extend_from_slice(frame.to_string().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn played(frames: &[Json]) -> Vec<Translation> {
    feed(&mut greeted(), &as_ours(frames))
}

#[test]
fn every_recording_means_what_it_meant() {
    for (name, frames) in recordings() {
        let steps = played(&frames);
        let text: Vec<String> = signals(&steps).map(show).collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, text.join("\n"));
        });
    }
}

#[test]
fn no_frame_of_a_recording_is_lost() {
    for (name, frames) in recordings() {
        let steps = played(&frames);
        assert_eq!(steps.len(), frames.len(), "{name}");
        assert_none_is_lost(&name, &steps, NATIVE);
    }
}

#[test]
fn each_turn_of_a_recording_starts_once_and_ends_once() {
    for (name, frames) in recordings() {
        assert_turns_are_whole(&name, &played(&frames));
    }
}

#[test]
fn promise_11_usage_of_every_recording_is_exact() {
    for (name, frames) in recordings() {
        let mut ledger = Ledger::default();
        for event in events(&played(&frames)) {
            if let EventKind::Usage(report) = event {
                ledger.enter(report);
            }
        }
        let mut totals =
            frames.iter().filter(|frame| frame["method"] == "thread/tokenUsage/updated");
        let last = totals.next_back().map(|frame| &frame["params"]["tokenUsage"]["total"]);
        let number = |key: &str| last.map_or(0, |total| total[key].as_u64().unwrap());
        let Tokens { output, reasoning, .. } = ledger.spent().tokens;
        let ours = (ledger.spent().tokens.context(), output, reasoning);
        let truth =
            (number("inputTokens"), number("outputTokens"), number("reasoningOutputTokens"));
        assert_eq!(ours, truth, "{name}");
    }
}
