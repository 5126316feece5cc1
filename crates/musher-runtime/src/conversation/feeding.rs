//! What the tests of every translator do: they feed it as its process would, and look at what came of it.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

use std::path::{Path, PathBuf};

use musher_core::EventKind;
use serde_json::Value as Json;

use super::{Translate, Translation};
use crate::process::{Framer, OutputLine};
use crate::session::Signal;

/// What came of each line.
pub(crate) fn feed(translator: &mut impl Translate, bytes: &[u8]) -> Vec<Translation> {
    feed_split(translator, bytes, &[])
}

/// The same, split at the given places.
pub(crate) fn feed_split(
    translator: &mut impl Translate,
    bytes: &[u8],
    cuts: &[usize],
) -> Vec<Translation> {
    let mut framer = Framer::default();
    let mut lines: Vec<OutputLine> = Vec::new();
    let mut start = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let cut = cut.clamp(start, bytes.len());
        framer.buffer().extend_from_slice(&bytes[start..cut]);
        lines.extend(std::iter::from_fn(|| framer.next_line()));
        start = cut;
    }
    lines.extend(framer.finish());
    lines.iter().map(|line| translator.read(line, Translation::default())).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "frames are written where they are fed")]
pub(crate) fn one(translator: &mut impl Translate, frame: Json) -> Translation {
    feed(translator, frame.to_string().as_bytes()).pop().unwrap()
}

pub(crate) fn signals(steps: &[Translation]) -> impl Iterator<Item = &Signal> {
    steps.iter().flat_map(|step| &step.signals)
}

pub(crate) fn events(steps: &[Translation]) -> Vec<&EventKind> {
    signals(steps)
        .filter_map(|signal| match signal {
            Signal::Event { kind, .. } => Some(kind),
            _ => None,
        })
        .collect()
}

/// Where the recordings of a vendor are, by name; what was written to the program stands beside each.
pub(crate) fn recorded(vendor: &str) -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(vendor);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let output = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".jsonl") && !name.ends_with(".stdin.jsonl")
    };
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut found: Vec<_> = files.filter(output).map(|path| (name(&path), path)).collect();
    found.sort();
    found
}

pub(crate) fn frames(bytes: &[u8]) -> Vec<Json> {
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The start of a text that is too long for a snapshot.
pub(crate) fn in_short(text: String) -> String {
    let cut = text.floor_char_boundary(400);
    if text.len() > 400 { format!("{}… ({} bytes)", &text[..cut], text.len()) } else { text }
}

/// A signal as a line that can be read in a snapshot.
pub(crate) fn show(signal: &Signal) -> String {
    in_short(match signal {
        Signal::Event { kind, .. } => serde_json::to_string(kind).unwrap(),
        Signal::AskOpened { ask, body, .. } => {
            format!("ask opened {ask} {}", serde_json::to_string(body).unwrap())
        }
        other => format!("{other:?}"),
    })
}

/// Every frame has led to something, and each was understood but those that have no words on purpose.
pub(crate) fn assert_none_is_lost(name: &str, steps: &[Translation], native: &[&str]) {
    assert!(steps.iter().all(|step| !step.signals.is_empty()), "{name}: a frame gave nothing");
    for event in events(steps) {
        match event {
            EventKind::Unparsed { .. } => panic!("{name}: a frame was not understood"),
            EventKind::Native { name: frame, .. } => {
                assert!(native.contains(&frame.as_str()), "{name}: {frame} has no words");
            }
            _ => {}
        }
    }
}

/// Each turn has started once and ended once.
pub(crate) fn assert_turns_are_whole(name: &str, steps: &[Translation]) {
    let mut open = false;
    for event in events(steps) {
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
