//! The `script` runtime: plays a small TOML script as an agent, really doing the work in its folder.
//!
//! It needs no key and no network. It is the embedded default, the demo, and a dry run for pipelines. See
//! `docs/script.md` for the format.

mod files;
mod format;
mod play;
mod sessions;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use crate::session::{self, BackendProfile};
use crate::{Capabilities, ProjectFile, Runtime, Session, SessionSpec};

const NAME: &str = "script";

/// What is played when no script is given.
const DRY_RUN: &str = include_str!("script/dry-run.toml");

/// Plays scripts. The script is the session's `program`, or the one given here, or a dry run.
#[derive(Debug, Clone, Default)]
pub struct Script {
    text: Option<Arc<str>>,
    sessions: Option<PathBuf>,
}

impl Script {
    /// Plays this text when the session names no file.
    #[must_use]
    pub fn playing(mut self, text: impl Into<Arc<str>>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Keeps sessions in this folder, so that they can be resumed and forked.
    #[must_use]
    pub fn remembering(mut self, folder: impl Into<PathBuf>) -> Self {
        self.sessions = Some(folder.into());
        self
    }
}

impl Runtime for Script {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            set_mode: false,
            effort: false,
            turns: false,
            images: false,
            ..Capabilities::ALL
        }
    }

    /// A script takes nothing from its folder but what it says itself.
    fn project_files(&self) -> &'static [ProjectFile] {
        &[]
    }

    /// Each step counts as a call, so that limits can be tried out, and costs nothing unless it says what.
    fn asks_a_model(&self) -> bool {
        false
    }

    fn start(&self, spec: SessionSpec) -> Session {
        let profile = BackendProfile {
            asks_a_model: self.asks_a_model(),
            ..BackendProfile::new(NAME, self.capabilities())
        };
        let script = self.clone();
        session::start(
            profile,
            spec,
            Arc::new(move |attempt| Box::pin(play::play(script.clone(), attempt))),
        )
    }
}
