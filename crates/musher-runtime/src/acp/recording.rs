//! Reads what an ACP agent printed without the agent: for recordings, and to measure what reading costs.

use musher_core::{EventKind, Lineage, SessionInfo};

use super::preset::AcpPreset;
use super::translate::{AcpOpening, AcpTranslator, OpenAs};
use crate::conversation::{Translate, Translation};
use crate::process::Framer;
use crate::session::Signal;

/// Turns recorded output into what was said in it. It asks, answers and decides nothing.
#[derive(Debug)]
pub struct AcpRecording {
    framer: Framer,
    translator: AcpTranslator,
}

impl Default for AcpRecording {
    fn default() -> Self {
        Self { framer: Framer::default(), translator: unopened(AcpPreset::any()) }
    }
}

/// A translator that has not been told what to ask of a session.
pub(super) fn unopened(preset: AcpPreset) -> AcpTranslator {
    let opening = AcpOpening {
        open_as: OpenAs::New,
        cwd: "/".to_owned(),
        servers: Vec::new(),
        model: None,
        mode: None,
        effort: None,
        instructions: None,
        lineage: Lineage::default(),
        info: SessionInfo::default(),
    };
    AcpTranslator::new(preset.into(), opening)
}

impl AcpRecording {
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
