//! Every recording: a snapshot of what it means, and invariants that no snapshot can hide.

use std::path::PathBuf;

use musher_core::{Ledger, Tokens};

use super::*;

/// Frames of the recordings that have no words here, on purpose: replies to requests that only the recorder made.
const NATIVE: &[&str] = &["response", "turn/diff/updated"];

fn recordings() -> Vec<(String, Vec<Json>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/codex");
    let mut found: Vec<(String, Vec<Json>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_string_lossy().ends_with(".stdin.jsonl"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(path).unwrap();
            (name, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
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
        let text: Vec<String> = steps.iter().flat_map(|step| &step.signals).map(show).collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, text.join("\n"));
        });
    }
}

/// A signal as a line that can be read in a snapshot.
fn show(signal: &Signal) -> String {
    let text = match signal {
        Signal::Event { kind, .. } => serde_json::to_string(kind).unwrap(),
        Signal::AskOpened { ask, body, .. } => {
            format!("ask opened {ask} {}", serde_json::to_string(body).unwrap())
        }
        other => format!("{other:?}"),
    };
    let cut = text.floor_char_boundary(400);
    if text.len() > 400 { format!("{}… ({} bytes)", &text[..cut], text.len()) } else { text }
}

#[test]
fn no_frame_of_a_recording_is_lost() {
    for (name, frames) in recordings() {
        let steps = played(&frames);
        assert_eq!(steps.len(), frames.len(), "{name}");
        assert!(steps.iter().all(|step| !step.signals.is_empty()), "{name}: a frame gave nothing");
        for event in events(&steps) {
            match event {
                EventKind::Unparsed { .. } => panic!("{name}: a frame was not understood"),
                EventKind::Native { name: native, .. } => {
                    assert!(NATIVE.contains(&native.as_str()), "{name}: {native} has no words");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn each_turn_of_a_recording_starts_once_and_ends_once() {
    for (name, frames) in recordings() {
        let steps = played(&frames);
        let mut open = false;
        for event in events(&steps) {
            match event {
                EventKind::TurnStarted { .. } => {
                    assert!(!std::mem::replace(&mut open, true), "{name}: a turn in a turn");
                }
                EventKind::TurnEnded(_) => {
                    assert!(std::mem::replace(&mut open, false), "{name}: an end without a turn");
                }
                _ => {}
            }
        }
        assert!(!open, "{name}: a turn has no end");
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
