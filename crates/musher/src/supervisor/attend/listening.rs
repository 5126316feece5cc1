//! Reads a run's log for the pool: where it stands, and what was understood of it.

use musher_core::pool::RunReport;
use musher_core::{Lineage, RunId};
use musher_log::{LogError, LogRead, LogReader, lines};

use crate::runner::RunLogs;
use crate::supervisor::event_listener::EventListener;

/// How much of a log is read at a time.
const PIECE: usize = 256 * 1024;

/// Where the log is read, and what was understood of it.
#[derive(Debug)]
pub(super) struct Listening {
    reader: Option<LogReader>,
    pub(super) ear: EventListener,
}

/// What was read at once.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) heard: Vec<(u64, RunReport)>,
    /// There may be more.
    pub(super) more: bool,
}

impl Listening {
    /// Reads on, up to a bound. This blocks.
    pub(super) fn piece(
        run: RunId,
        listening: Option<Self>,
        logs: &RunLogs,
    ) -> (Self, Result<Piece, LogError>) {
        let begin = || Self { reader: None, ear: EventListener::new(run, lineage(run, logs)) };
        let mut listening = listening.unwrap_or_else(begin);
        let piece = listening.read(run, logs);
        (listening, piece)
    }

    fn read(&mut self, run: RunId, logs: &RunLogs) -> Result<Piece, LogError> {
        let Self { reader, ear } = self;
        let open = match reader {
            Some(open) => open,
            None => match logs.open(run, None) {
                // What the pool knows must still be in the log after a loss of power.
                Ok(open) => reader.insert(open.only_synced()),
                // The runner has not begun yet.
                Err(LogError::Missing { .. }) => {
                    return Ok(Piece { heard: Vec::new(), more: false });
                }
                Err(error) => return Err(error),
            },
        };
        let (mut heard, mut buffer, mut bytes) = (Vec::new(), Vec::new(), 0);
        loop {
            buffer.clear();
            match open.read(&mut buffer, PIECE) {
                Ok(LogRead::Lines(batch)) => {
                    bytes += batch.lines.len();
                    heard.extend(lines(&buffer[batch.lines]).filter_map(|line| ear.hear(line)));
                }
                // What was read and is gone was never acknowledged; the pool keeps what it heard.
                Ok(LogRead::Reset { .. }) => continue,
                Ok(LogRead::End) => return Ok(Piece { heard, more: false }),
                // What was heard before is told first; the same error comes again.
                Err(_) if !heard.is_empty() => return Ok(Piece { heard, more: true }),
                Err(error) => return Err(error),
            }
            if bytes >= PIECE {
                return Ok(Piece { heard, more: true });
            }
        }
    }
}

/// What the session that the run resumed had spent before.
fn lineage(run: RunId, logs: &RunLogs) -> Lineage {
    let spec = logs.spec(run).ok();
    spec.and_then(|spec| spec.resume).map(|resume| resume.lineage).unwrap_or_default()
}
