//! Reads what an agent printed without the agent: for recordings, and to measure what reading costs.

use musher_core::EventKind;

use super::{Translate, Translation};
use crate::process::Framer;
use crate::session::Signal;

/// Turns recorded output into what was said in it. It asks, answers and decides nothing.
#[derive(Debug)]
pub struct Recording {
    framer: Framer,
    translator: Box<dyn Translate + Send>,
}

impl Recording {
    pub(crate) fn of(translator: impl Translate + Send + 'static) -> Self {
        Self { framer: Framer::default(), translator: Box::new(translator) }
    }

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
