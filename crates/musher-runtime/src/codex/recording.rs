//! Reads what Codex printed without Codex: for recordings, and to measure what reading costs.

use musher_core::{EventKind, Lineage, SessionInfo};
use serde_json::json;

use super::launch::MODES;
use super::translate::{CodexTranslator, Login, Opening, OpeningKind};
use crate::conversation::{Translate, Translation};
use crate::process::Framer;
use crate::session::Signal;

/// Turns recorded output into what was said in it. It asks, answers and decides nothing.
#[derive(Debug)]
pub struct CodexRecording {
    framer: Framer,
    translator: CodexTranslator,
}

impl Default for CodexRecording {
    fn default() -> Self {
        Self { framer: Framer::default(), translator: unopened() }
    }
}

/// A translator that has not been told what to ask of a thread.
pub(super) fn unopened() -> CodexTranslator {
    CodexTranslator::new(Opening {
        kind: OpeningKind::Start,
        thread: json!({}),
        mode: &MODES[0],
        own_scratch: false,
        plan: false,
        effort: None,
        login: Login::Done,
        lineage: Lineage::default(),
        info: SessionInfo::default(),
    })
}

impl CodexRecording {
    /// Takes the next bytes of the output, and adds what its whole lines say.
    pub fn read(&mut self, bytes: &[u8], said: &mut Vec<EventKind>) {
        self.framer.buffer().extend_from_slice(bytes);
        // Lines that come together are read together, as those of a live agent are.
        let mut step = Translation::default();
        while let Some(line) = self.framer.next_line() {
            step = self.translator.read(&line, step);
        }
        for signal in step.signals {
            if let Signal::Event { kind, .. } = signal {
                said.push(kind);
            }
        }
    }
}
