//! The translator against every recording of the real program, and against bytes that no program should send.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod calls;
mod frames;
mod long;
mod reasons;
mod recordings;

use musher_core::{Delta, EventKind};

use super::*;
use crate::process::Framer;

/// Feeds bytes as the process would, and gathers what came of each line.
fn feed(translator: &mut Translator, bytes: &[u8]) -> Vec<Translation> {
    feed_split(translator, bytes, &[])
}

/// The same, split at the given places.
fn feed_split(translator: &mut Translator, bytes: &[u8], cuts: &[usize]) -> Vec<Translation> {
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
fn one(translator: &mut Translator, frame: Json) -> Translation {
    feed(translator, frame.to_string().as_bytes()).pop().unwrap()
}

fn events(steps: &[Translation]) -> Vec<&EventKind> {
    signals(steps)
        .filter_map(|signal| match signal {
            Signal::Event { kind, .. } => Some(kind),
            _ => None,
        })
        .collect()
}

fn signals(steps: &[Translation]) -> impl Iterator<Item = &Signal> {
    steps.iter().flat_map(|step| &step.signals)
}

/// A signal as a line that can be read in a snapshot.
fn show(signal: &Signal) -> String {
    let json = |value: &dyn erased::Json| value.text();
    match signal {
        Signal::Event { kind, scope: EventScope::Main, .. } => json(kind),
        Signal::Event { kind, scope, .. } => format!("{} in {}", json(kind), json(scope)),
        Signal::Delta(Delta { item, channel, text, .. }) => {
            format!("delta {item} {channel:?} {text:?}")
        }
        Signal::ModelCall => "model call".into(),
        Signal::AskOpened { ask, body, .. } => format!("ask opened {ask} {}", json(body)),
        Signal::AskWithdrawn { ask } => format!("ask withdrawn {ask}"),
        Signal::Permission(request) => format!("permission {request:?}"),
        Signal::BeforeStart(step) => format!("{step:?}"),
        Signal::Alive => "alive".into(),
        Signal::OutputClosed => "output closed".into(),
        Signal::Begun { prompt } => format!("begun {prompt}"),
        Signal::NotTaken { prompt } => format!("not taken {prompt}"),
        Signal::Secret { name, .. } => format!("secret {name}"),
    }
}

mod erased {
    //! Anything that can be written as JSON.
    pub(super) trait Json {
        fn text(&self) -> String;
    }
    impl<T: serde::Serialize> Json for T {
        fn text(&self) -> String {
            let text = serde_json::to_string(self).unwrap();
            if text.len() <= 400 {
                return text;
            }
            let cut = text.floor_char_boundary(400);
            format!("{}… ({} bytes)", &text[..cut], text.len())
        }
    }
}
