//! The translator against every recording of the real program, and against bytes that no program should send.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod calls;
mod frames;
mod long;
mod odd_frames;
mod reasons;
mod recordings;

use musher_core::{Delta, EventKind};

use super::*;
use crate::conversation::feeding::{events, feed, feed_split, in_short, one, signals};

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
    use super::in_short;

    pub(super) trait Json {
        fn text(&self) -> String;
    }
    impl<T: serde::Serialize> Json for T {
        fn text(&self) -> String {
            in_short(serde_json::to_string(self).unwrap())
        }
    }
}
