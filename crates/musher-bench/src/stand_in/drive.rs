//! What a runner does with the output of its agent, in one thread and without processes, so that instructions can be counted.

use std::path::Path;

use anyhow::ensure;
use musher_core::{Event, EventKind, EventScope};
use musher_log::raw::RawWriter;
use musher_log::{Lock, Writer};
use musher_runtime::acp::AcpRecording;
use musher_runtime::claude_code::Recording;
use musher_runtime::codex::CodexRecording;

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

enum Reader {
    Stream(Recording),
    Codex(CodexRecording),
    Acp(AcpRecording),
}

impl Reader {
    fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Stream => Self::Stream(Recording::default()),
            Protocol::Codex => Self::Codex(CodexRecording::default()),
            Protocol::Acp => Self::Acp(AcpRecording::default()),
        }
    }

    fn read(&mut self, bytes: &[u8], said: &mut Vec<EventKind>) {
        match self {
            Self::Stream(recording) => recording.read(bytes, said),
            Self::Codex(recording) => recording.read(bytes, said),
            Self::Acp(recording) => recording.read(bytes, said),
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
    let (mut recording, mut said, mut batch) = (Reader::of(protocol), Vec::new(), Vec::new());
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
