//! What a runner does with the output of its agent, in one thread and without processes, so that instructions can be counted.

use std::path::Path;

use anyhow::ensure;
use musher_core::{Event, EventKind, EventScope};
use musher_log::raw::RawWriter;
use musher_log::{Lock, Writer};
use musher_runtime::{Recording, acp, claude_code, codex};

/// How much comes at once, and how many events are written at once.
const PIECE: usize = 32 * 1024;
const BATCH: usize = 256;
/// When everything happened.
const AT: i64 = 1_790_000_000_000;

/// How the agent speaks whose output is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Stream,
    Codex,
    Acp,
}

impl Protocol {
    fn recording(self) -> Recording {
        match self {
            Self::Stream => claude_code::recording(),
            Self::Codex => codex::recording(),
            Self::Acp => acp::recording(),
        }
    }
}

pub(super) fn play(file: &Path, folder: &Path) -> anyhow::Result<()> {
    take_in(file, folder, Protocol::Stream).map(drop)
}

/// Takes in a corpus: every line is translated, every event logged, every byte copied. Tells how many events there were.
pub fn take_in(file: &Path, folder: &Path, protocol: Protocol) -> anyhow::Result<u64> {
    let corpus = std::fs::read(file)?;
    let mut writer = Writer::create(Lock::take(folder)?, "r1")?;
    let mut raw = RawWriter::new(folder);
    let (mut recording, mut said, mut batch) = (protocol.recording(), Vec::new(), Vec::new());
    for piece in corpus.chunks(PIECE) {
        raw.push(piece)?;
        recording.read(piece, &mut said);
        for kind in said.drain(..) {
            ensure!(!matches!(kind, EventKind::Unparsed { .. }), "a line was not understood");
            let seq = writer.next_seq() + batch.len() as u64;
            batch.push(Event { seq, at: AT, kind, turn: None, scope: EventScope::Main, raw: None });
            if batch.len() == BATCH {
                writer.append(&batch)?;
                batch.clear();
            }
        }
    }
    writer.append(&batch)?;
    writer.sync()?;
    raw.flush()?;
    Ok(writer.next_seq())
}
