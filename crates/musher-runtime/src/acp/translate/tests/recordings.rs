//! Every recording: a snapshot of what it means, and invariants that no snapshot can hide.

use std::path::{Path, PathBuf};

use super::super::super::preset::all;
use super::*;
use crate::conversation::feeding::{
    assert_none_is_lost, assert_turns_are_whole, frames, recorded, show, signals,
};

/// Messages of the recordings that have no words here, on purpose: what only their vendor knows, files of a client (one recorder
/// offered them), and replies to requests that only the recorder made.
const NATIVE: &[&str] = &[
    "response",
    "_auth/status_update",
    "craft/drainMidTurnQueue",
    "fs/read_text_file",
    "fs/write_text_file",
    "qwen/notify/session/mode-update",
];

struct Recording {
    name: String,
    frames: Vec<Json>,
    said: Vec<Json>,
}

fn recordings() -> Vec<Recording> {
    let read = |path: &Path| frames(&std::fs::read(path).unwrap());
    let recording = |(name, path): (String, PathBuf)| {
        let said = read(&path.with_extension("stdin.jsonl"));
        Recording { name, frames: read(&path), said }
    };
    let found: Vec<Recording> = recorded("acp").into_iter().map(recording).collect();
    assert_eq!(found.len(), 30);
    found
}

impl Recording {
    fn preset(&self) -> AcpPreset {
        let (name, _) = self.name.split_once('.').unwrap();
        let preset = all().iter().find(|preset| preset.name == name).unwrap();
        AcpPreset::clone(preset)
    }

    fn requests(&self, method: &str) -> Vec<&Json> {
        let said = self.said.iter().filter(|line| line["method"] == method);
        said.map(|line| &line["params"]).collect()
    }

    /// What the recorder said, said to a translator that reads what the agent replied.
    fn play(&self) -> Vec<Translation> {
        let mut translator = unopened(self.preset());
        if let Some(loaded) = self.requests("session/load").first() {
            let session = loaded["sessionId"].as_str().unwrap();
            translator.opening.open_as = OpenAs::Resume(SessionId::new(session));
        }
        if let Some(set) = self.requests("session/set_mode").first() {
            translator.opening.mode = set["modeId"].as_str().map(str::to_owned);
        }
        translator.hello();
        for (at, prompt) in self.requests("session/prompt").into_iter().enumerate() {
            let text = prompt["prompt"][0]["text"].as_str().unwrap().to_owned();
            translator.order(BackendOrder::Prompt {
                id: format!("p{at}").as_str().into(),
                text,
                images: Vec::new(),
            });
        }
        let first = self.frames[0]["id"].as_i64().unwrap();
        let mut answers = self.said.iter().filter(|line| line.get("result").is_some());
        let mut steps = Vec::new();
        for frame in &self.frames {
            let mut frame = frame.clone();
            if frame.get("method").is_none() {
                // The recorder's requests had ids of its own; in their order they are ours too.
                frame["id"] = (frame["id"].as_i64().unwrap() - first).into();
            }
            let step = one(&mut translator, frame);
            let asked = step.signals.iter().find_map(|signal| match signal {
                Signal::AskOpened { ask, .. } => Some(ask.clone()),
                _ => None,
            });
            steps.push(step);
            if let Some(ask) = asked
                && let Some(said) = answers.next()
            {
                let option = said["result"]["outcome"]["optionId"].as_str().unwrap_or_default();
                let answer = match option.contains("allow") || option.contains("proceed") {
                    true => Answer::Allow { input: None },
                    false => Answer::Deny { reason: "No.".into() },
                };
                let step = translator.order(BackendOrder::Answer { ask, answer });
                assert_eq!(written(&step), std::slice::from_ref(said), "{}", self.name);
            }
        }
        steps
    }
}

#[test]
fn every_recording_means_what_it_meant() {
    for recording in recordings() {
        let steps = recording.play();
        let text: Vec<String> = signals(&steps).map(show).collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(recording.name, text.join("\n"));
        });
    }
}

#[test]
fn no_frame_of_a_recording_is_lost() {
    for recording in recordings() {
        assert_none_is_lost(&recording.name, &recording.play(), NATIVE);
    }
}

#[test]
fn each_turn_of_a_recording_starts_once_and_ends_once() {
    for recording in recordings() {
        assert_turns_are_whole(&recording.name, &recording.play());
    }
}

#[test]
fn what_a_loaded_session_repeats_is_not_told_again() {
    let mut seen = 0;
    for recording in recordings() {
        if recording.requests("session/load").is_empty() {
            continue;
        }
        let repeats = recording
            .frames
            .iter()
            .any(|frame| frame["params"]["update"]["sessionUpdate"] == "user_message_chunk");
        let steps = recording.play();
        let told = events(&steps).into_iter();
        let texts = told.filter(|event| matches!(event, EventKind::ItemDone { .. })).count();
        assert!(texts <= 1, "{}: only the new answer is told", recording.name);
        seen += usize::from(repeats);
    }
    assert_eq!(seen, 2, "two recordings repeat an earlier session");
}
