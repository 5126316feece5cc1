//! Reads what an agent printed without the agent: for recordings, and to measure what reading costs.

use musher_core::EventKind;

use super::translate::Translator;
use crate::conversation::{Translate, Translation};
use crate::process::Framer;
use crate::session::Signal;

/// Turns recorded output into what was said in it. It asks, answers and decides nothing.
#[derive(Debug, Default)]
pub struct Recording {
    framer: Framer,
    translator: Translator,
}

impl Recording {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_alike_however_it_is_cut() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/claude/text.jsonl");
        let bytes = std::fs::read(path).unwrap();
        let read = |piece: usize| {
            let (mut recording, mut said) = (Recording::default(), Vec::new());
            bytes.chunks(piece).for_each(|piece| recording.read(piece, &mut said));
            said
        };
        let whole = read(bytes.len());
        assert!(whole.iter().any(|kind| matches!(kind, EventKind::TurnEnded(_))), "{whole:?}");
        assert_eq!(read(7), whole);
    }
}
